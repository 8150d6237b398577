// What Hopper's multiprocessors (sm_90a) have beyond the prelude: copies of whole boxes of a tensor to the shared
// memory of one block or of a cluster, barriers in shared memory that count the bytes of such copies, and matrix
// products of a warpgroup (128 threads) whose operands lie in shared memory. For vendor files; the instructions are
// those of NVIDIA's PTX ISA 8.x under the same names.
#pragma once

#include "kernels/grouped_arguments.h"
#include "kernels/prelude.h"

// A kernel whose blocks come in clusters of two on neighbouring multiprocessors, one block to each of these.
#define OCTET_CLUSTER_KERNEL(threads) extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(threads, 1)

namespace octet::kernels {

inline constexpr int kWarpgroup = 128;
inline constexpr int kClusterBlocks = 2;

/// This block's place in its cluster: 0 or 1.
OCTET_DEVICE int cluster_rank() {
  std::uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

/// A barrier of all threads of both blocks, ordering shared memory.
OCTET_DEVICE void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}

/// A barrier of `threads` threads among a block's sixteen; the first is sync_block()'s.
template <int Threads>
OCTET_DEVICE void sync_threads_of(int barrier) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}
/// Counts as having come to the barrier, without waiting there.
template <int Threads>
OCTET_DEVICE void arrive_among(int barrier) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}

/// All lanes of a warp have come here.
OCTET_DEVICE void sync_warp() {
  __syncwarp();
}

/// Gives registers back, or takes them, so that each thread of this warpgroup may have so many.
template <int Registers>
OCTET_DEVICE void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
OCTET_DEVICE void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// Orders this thread's ordinary stores to shared memory before what the copy engine and the matrix unit do next.
OCTET_DEVICE void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// x of the thread `distance` lanes below; its own where there is none.
OCTET_DEVICE int shuffle_up(int x, int distance) {
  return __shfl_up_sync(0xFFFF'FFFFU, x, static_cast<unsigned>(distance));
}

/// x, of which the compiler knows nothing from here on: what is made of it is not kept ready in registers.
OCTET_DEVICE std::uint32_t forget_origin(std::uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

/// x of the thread of that lane of this warp.
OCTET_DEVICE int shuffle_from(int x, int lane) {
  return __shfl_sync(0xFFFF'FFFFU, x, lane);
}

// ---- barriers in shared memory --------------------------------------------------------------------------------------

/// Completes a phase when `arrivals` have come and all bytes that they announced have been copied. Phases alternate
/// between the parities 0 and 1.
struct alignas(8) PhaseBarrier {
  std::uint64_t state;

  OCTET_DEVICE void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(this)), "r"(arrivals) : "memory");
  }
  /// Once after init and before sync_cluster(), by the thread that did it: copies and the other block see the barrier.
  static OCTET_DEVICE void publish() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

  OCTET_DEVICE void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(this)) : "memory");
  }
  /// Arrives, and announces bytes that copies will bring in this phase.
  OCTET_DEVICE void arrive_expecting(std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(this)), "r"(bytes)
                 : "memory");
  }
  /// Arrives at the same barrier of block `rank` of the cluster. Of the block's scope, which is all that reads need:
  /// ordered for the cluster, it would wait for every store to device memory that is under way.
  OCTET_DEVICE void arrive_in(int rank) {
    asm volatile(
        "{\n .reg .b32 remote;\n mapa.shared::cluster.u32 remote, %0, %1;\n"
        " mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(this)),
        "r"(rank)
        : "memory");
  }
  /// Until the phase of that parity is complete; at once where it is the one before the present one.
  OCTET_DEVICE void wait(int parity) {
    asm volatile(
        "{\n .reg .pred done;\nagain:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @!done bra "
        "again;\n}" ::"r"(shared_address(this)),
        "r"(parity)
        : "memory");
  }
};

// ---- copies of boxes ------------------------------------------------------------------------------------------------

/// Fetches the description of a tensor ahead of its first use.
OCTET_DEVICE void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Where a box begins, in elements, the fastest-running axis first.
struct BoxPlace {
  int inner, outer, matrix;
};

/// Begins to copy the box to shared memory; `barrier` hears of its bytes. What lies outside the tensor becomes zero.
OCTET_DEVICE void begin_box(void* shared, const TensorMap& map, const BoxPlace& at, PhaseBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(shared_address(shared)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(at.inner), "r"(at.outer), "r"(at.matrix)
      : "memory");
}
/// The same to the same place in both blocks of the cluster, whose barriers each hear of it.
OCTET_DEVICE void begin_box_for_both(void* shared, const TensorMap& map, const BoxPlace& at, PhaseBarrier& barrier) {
  constexpr std::uint16_t kBoth = 3;
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5, %6}], [%2], %3;" ::"r"(shared_address(shared)),
      "l"(&map), "r"(shared_address(&barrier)), "h"(kBoth), "r"(at.inner), "r"(at.outer), "r"(at.matrix)
      : "memory");
}

/// Begins to copy a box from shared memory to its place, without what lies outside the tensor. One of the thread's
/// group of stores.
OCTET_DEVICE void begin_box_store(const TensorMap& map, const BoxPlace& at, const void* shared) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(shared_address(shared)), "r"(at.inner), "r"(at.outer), "r"(at.matrix)
               : "memory");
}
/// The stores begun since the last one are a group.
OCTET_DEVICE void end_store_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Until all stores that this thread began have read shared memory.
OCTET_DEVICE void finish_store_reads() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
/// Until they are done.
OCTET_DEVICE void finish_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Stores four blocks of 8 x 8 halves, spread over a warp as Sums are: threads 8 i to 8 i + 7 give the addresses of the
/// rows of the i-th in shared memory.
OCTET_DEVICE void store_matrices(std::uint32_t row, const std::uint32_t (&words)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

// ---- matrix products of a warpgroup ---------------------------------------------------------------------------------

/// Says where a factor lies in shared memory: in boxes of 128 bytes by 64, one after another, in the order that the
/// copy engine's 128-byte swizzle gives them; a box begins at a multiple of 1024 bytes. The contraction runs along the
/// 128 bytes, or, of bf16 alone, along the 64.
template <bool AlongRows>
OCTET_DEVICE std::uint64_t describe_factor(const void* shared) {
  constexpr std::uint64_t kEightRows = 1024;                 // bytes from eight rows of 128 bytes to the next eight
  constexpr std::uint64_t kBox = AlongRows ? 64 * 128 : 16;  // from box to box; unused where rows go on
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  const std::uint64_t begin = shared_address(shared) & 0x3FFFFU;
  return (begin >> 4) | (kBox >> 4 << 16) | (kEightRows >> 4 << 32) | kSwizzle128;
}

/// Before the first product after results or factors were touched by ordinary instructions.
OCTET_DEVICE void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// The products begun since the last one are a group.
OCTET_DEVICE void end_product_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Until all but the last `Groups` groups are done.
template <int Groups>
OCTET_DEVICE void finish_older_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

/// A warpgroup's 64 by N sums, spread over its threads. Of warp w, lane l: rows 16 w + l / 4 and eight below; of each
/// eight columns, 2 (l % 4) and the next. x[4 j + 2 h + i] is row h of the two, column i of those of the j-th eight.
template <int N>
struct Sums {
  float x[N / 2];

  /// Keeps the compiler from moving what touches the sums across products under way.
  OCTET_DEVICE void pin() {
#pragma unroll
    for (float& each : x) asm volatile("" : "+f"(each)::"memory");
  }
};

#define OCTET_SLOTS_64                                                               \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define OCTET_SLOTS_128                                                                          \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define OCTET_SUMS_64                                                                                         \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
      "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),  \
      "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), \
      "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), \
      "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
      "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), \
      "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), \
      "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define OCTET_SUMS_128                                                                                                \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),         \
      "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),          \
      "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),         \
      "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),         \
      "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),         \
      "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),         \
      "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),         \
      "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),         \
      "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),         \
      "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),         \
      "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),         \
      "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),         \
      "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),    \
      "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), \
      "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), \
      "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

// One product of 64 rows and 128 or 256 columns over 32 bytes of the contraction. `add` false replaces the sums.
#define OCTET_MULTIPLY_128(shape_and_types, tail)                                                                  \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %66, 0;\n wgmma.mma_async.sync.aligned.m64n128" shape_and_types \
               " {" OCTET_SLOTS_64 "}, %64, %65, p, 1, 1" tail ";\n}"                                              \
               : OCTET_SUMS_64                                                                                     \
               : "l"(a), "l"(b), "r"(add ? 1 : 0))
#define OCTET_MULTIPLY_256(shape_and_types, tail)                                                                   \
  asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %130, 0;\n wgmma.mma_async.sync.aligned.m64n256" shape_and_types \
               " {" OCTET_SLOTS_128 "}, %128, %129, p, 1, 1" tail ";\n}"                                            \
               : OCTET_SUMS_128                                                                                     \
               : "l"(a), "l"(b), "r"(add ? 1 : 0))

// The factors of products: how many bytes an element takes, which contract along rows, and the instruction.
#define OCTET_CODE_FACTORS(Name, types)                                                              \
  struct Name {                                                                                      \
    static constexpr int kBytes = 1;                                                                 \
    static constexpr bool kRowsA = false;                                                            \
    static constexpr bool kRowsB = false;                                                            \
    static OCTET_DEVICE void multiply(Sums<128>& sums, std::uint64_t a, std::uint64_t b, bool add) { \
      float(&d)[64] = sums.x;                                                                        \
      OCTET_MULTIPLY_128("k32.f32." types, "");                                                      \
    }                                                                                                \
    static OCTET_DEVICE void multiply(Sums<256>& sums, std::uint64_t a, std::uint64_t b, bool add) { \
      float(&d)[128] = sums.x;                                                                       \
      OCTET_MULTIPLY_256("k32.f32." types, "");                                                      \
    }                                                                                                \
  };
OCTET_CODE_FACTORS(E4m3ByE4m3, "e4m3.e4m3")
OCTET_CODE_FACTORS(E4m3ByE5m2, "e4m3.e5m2")
OCTET_CODE_FACTORS(E5m2ByE4m3, "e5m2.e4m3")

template <bool RowsA, bool RowsB>
struct Bf16Factors {
  static constexpr int kBytes = 2;
  static constexpr bool kRowsA = RowsA;
  static constexpr bool kRowsB = RowsB;
  static OCTET_DEVICE void multiply(Sums<256>& sums, std::uint64_t a, std::uint64_t b, bool add) {
    float(&d)[128] = sums.x;
    if constexpr (RowsA) {
      static_assert(RowsB);
      OCTET_MULTIPLY_256("k16.f32.bf16.bf16", ", 1, 1");
    } else if constexpr (RowsB) {
      OCTET_MULTIPLY_256("k16.f32.bf16.bf16", ", 0, 1");
    } else {
      OCTET_MULTIPLY_256("k16.f32.bf16.bf16", ", 0, 0");
    }
  }
};

}  // namespace octet::kernels
