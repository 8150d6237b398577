// What device code is written in: names for what CUDA and HIP spell differently. Nothing outside the preludes and the
// vendor files knows which of the two compiles it.
//
// kWarpSize                      threads that exchange registers: 32 or 64
// kSharedBytes                   of memory that a block may have
// OCTET_KERNEL(threads)          marks a kernel of at most `threads` threads a block
// OCTET_DENSE_KERNEL(threads, blocks)  the same, with registers for `blocks` blocks a multiprocessor
// OCTET_ARGUMENTS(Struct)        the type of a kernel's one parameter
// in_place(arguments)            the same where the launch has put it, whose parts may be pointed to without a copy
// OCTET_SHARED                   memory of a block
// OCTET_E4M3, OCTET_E5M2         names of the two FP8 formats that the device multiplies, for kernels' names and
// templates dynamic_shared()               as much of it as the launch asked for, at a multiple of 16 bytes
// thread_index(), block_index(), block_index_y(), thread_count(), block_count(), block_count_y()
// thread_index_y(), thread_count_y()  rows of threads that a block works with side by side: warps lie in one of them
// await_previous_kernels()       first of all in each kernel: lets the kernel after this one take its place on the
// device
//                                early, and waits until those before are done and what they wrote can be read
// sync_block()                   a barrier of the block's threads, ordering shared memory
// sync_row()                     the same of the threads that share thread_index_y()
// block_any(x)                   a barrier of the block's threads, and whether x is true in any
// shuffle_xor(x, mask)           x of the thread of this warp whose index differs by `mask`
// warp_mask(x)                   a bit for each thread of this warp: where x is true
// count_bits(mask)               how many bits of a warp's mask are set
// add_atomically(to, x)          for counts, whose order does not matter
// max_u16x2(a, b)                the larger of each half of two words
// anew(x)                        x, of which the compiler shall know nothing: what it made of x before it makes again,
//                                for fewer registers in between; just x where registers suffice
// anew_after(x, y)               the same once y is known: what is made of x waits for what y is made of
// uniform_anew(x)                the same as anew(x) of a number that all threads of a warp share
// one_by_one()                   what stands before is done before what stands behind, for fewer registers as well
// load_16_bytes, store_16_bytes  streaming: what is read or written once should not displace what is read again
// load_16_bytes_again            of what is read more than once
// fast_exp(x)                    e^x within some units of 2^-22 and |x| 2^-24; subnormal results too
// fast_reciprocal(x)             1 / x within 1 ulp for normal x up to 2^126; of less it is infinite, of more zero
// fast_sqrt(x)                   within 1 ulp; of subnormal numbers it is zero
// to_bf16x2(low, high)           two floats rounded to nearest even, packed; a NaN stays one
// encode_pair<F>(low, high)      two saturating FP8 codes, packed, as fp8::encode makes them
// exp2_fast(x)                   2^x to two ulps; below the smallest normal float it is zero
// begin_copy<bytes>(shared, from, there)  4 or 16 bytes from device memory, or zeros; done after finish_copies() for
//                                this thread, and after a barrier that follows it for all
// end_copy_group()               copies that this thread began since the last one are a group
// finish_older_copies<groups>()  the same as finish_copies() of all but the last `groups` groups
// kCopiesRunBeside               whether the threads go on meanwhile
// Copies<bytes, count>           of a thread, begun early and ended late, wherever they run meanwhile: begin(i, shared,
//                                from, there), and end(i, shared) before finish_copies(). Rows of shared memory lie as
//                                the matrix unit wants them, on CDNA at multiples of 8 bytes
// load_shared_row<V>(shared)     16 bytes of such a row
// LeftFactor, RightFactor, Tile  a warp's share of 16 x 16 factors and results: multiply_add, load_left, load_right,
//                                as_left; Tile says which element is where
// load_transposed_right(factors, shared, pitch)  of a few tiles side by side, kTransposedTiles or some of them. Columns
//                                may be shared out among these tiles in any way: store_tiles(shared, pitch, tiles) puts
//                                them back in order
#pragma once

#include <cstdint>

#include "fp8/bf16.h"
#include "fp8/scale.h"

#if defined(__CUDACC__)
#include "kernels/prelude_cuda.h"
#elif defined(__HIP__)
#include "kernels/prelude_hip.h"
#else
#error "kernels are compiled for CUDA or HIP"
#endif

namespace octet::kernels {

using Index = std::int64_t;

/// Sixteen bytes: eight bf16, or sixteen codes.
struct alignas(16) Vector {
  std::uint32_t words[4];
};

/// The low and the high bf16 of a word.
OCTET_DEVICE float low_half(std::uint32_t word) {
  return fp8::float_of(word << 16);
}
OCTET_DEVICE float high_half(std::uint32_t word) {
  return fp8::float_of(word & 0xFFFF'0000U);
}

/// Four codes, from eight bits each.
template <fp8::Format F>
OCTET_DEVICE std::uint32_t encode_four(float a, float b, float c, float d) {
  return encode_pair<F>(a, b) | (static_cast<std::uint32_t>(encode_pair<F>(c, d)) << 16);
}

}  // namespace octet::kernels

// A kernel of one instance: the last argument is a device function of octet::kernels that takes the arguments.
#define OCTET_SIMPLE_KERNEL(threads, name, Arguments, ...)                           \
  OCTET_KERNEL(threads) name(OCTET_ARGUMENTS(octet::kernels::Arguments) arguments) { \
    octet::kernels::await_previous_kernels();                                        \
    octet::kernels::__VA_ARGS__(octet::kernels::in_place(arguments));                \
  }
#define OCTET_DENSE_SIMPLE_KERNEL(threads, blocks, name, Arguments, ...)                           \
  OCTET_DENSE_KERNEL(threads, blocks) name(OCTET_ARGUMENTS(octet::kernels::Arguments) arguments) { \
    octet::kernels::await_previous_kernels();                                                      \
    octet::kernels::__VA_ARGS__(octet::kernels::in_place(arguments));                              \
  }

// Its instances for the two formats of the device, <name>_<format>: `bound` is OCTET_KERNEL or OCTET_DENSE_KERNEL, and
// `body` takes the format as template argument. A name is pasted together once the format's macro has been replaced.
#define OCTET_FORMAT_KERNEL_NAMED(bound, name, Arguments, body, F)                    \
  bound name##_##F(OCTET_ARGUMENTS(octet::kernels::Arguments) arguments) {            \
    octet::kernels::await_previous_kernels();                                         \
    octet::kernels::body<octet::fp8::Format::F>(octet::kernels::in_place(arguments)); \
  }
#define OCTET_FORMAT_KERNEL(bound, name, Arguments, body, F) OCTET_FORMAT_KERNEL_NAMED(bound, name, Arguments, body, F)
#define OCTET_FORMAT_KERNELS(bound, name, Arguments, body)      \
  OCTET_FORMAT_KERNEL(bound, name, Arguments, body, OCTET_E4M3) \
  OCTET_FORMAT_KERNEL(bound, name, Arguments, body, OCTET_E5M2)
