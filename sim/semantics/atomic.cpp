// Atomic instructions on global memory: by global, flat and buffer addresses. AMD CDNA4 ISA, 9.1 "Vector Memory Buffer
// Instructions", 9.2 "Float Memory Atomics", 10.3.1 "Atomics"; 12.13 MUBUF, 12.15 FLAT, Scratch and Global. With SC0
// the old value is returned.
#include <array>
#include <cstdint>

#include "sim/semantics/atomic_operations.h"
#include "sim/semantics/buffer_space.h"
#include "sim/semantics/flat_space.h"
#include "sim/semantics/global_space.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Where the operands stand. The old value is always the first; a buffer's takes the place of the data.
struct Places {
  std::size_t address, data, scalar_address;
};

template <typename AnySpace>
Places places(const Instruction& instruction) {
  if constexpr (AnySpace::kStoreAddress == 1) return {1, 0, 2};
  const std::size_t first = instruction.sc0 ? 1 : 0;
  return {first, first + 1, first + 2};
}

/// memory = F(memory, data)
template <typename AnySpace, typename T, auto F>
void update(Wave& wave, const Instruction& instruction) {
  const Places at = places<AnySpace>(instruction);
  const AnySpace space(wave, instruction, at.address, at.scalar_address);
  const Operand& data = instruction.operands[at.data];
  update_words<T>(wave, instruction, space, instruction.sc0 ? &instruction.operands[0] : nullptr,
                  [&](T old, std::size_t lane) { return F(old, read_word<T>(wave, data, lane)); });
}

/// memory = data where it equals the value behind data.
template <typename AnySpace, typename T>
void compare_swap(Wave& wave, const Instruction& instruction) {
  const Places at = places<AnySpace>(instruction);
  const AnySpace space(wave, instruction, at.address, at.scalar_address);
  const Operand& data = instruction.operands[at.data];
  update_words<T>(wave, instruction, space, instruction.sc0 ? &instruction.operands[0] : nullptr,
                  [&](T old, std::size_t lane) {
                    const T compared = read_word<T>(wave, data, lane, sizeof(T) / 4);
                    return old == compared ? read_word<T>(wave, data, lane) : old;
                  });
}

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr u32 kBuffer = kAccepts | modifier::kBuffer;

constexpr std::array kRows = std::to_array<Row>({
    {"global_atomic_add", update<GlobalSpace, u32, atomic::kAdd>, kAccepts},
    {"global_atomic_sub", update<GlobalSpace, u32, atomic::kSubtract>, kAccepts},
    {"global_atomic_umax", update<GlobalSpace, u32, atomic::kLargest>, kAccepts},
    {"global_atomic_umin", update<GlobalSpace, u32, atomic::kSmallest>, kAccepts},
    {"global_atomic_smax", update<GlobalSpace, i32, atomic::kLargest>, kAccepts},
    {"global_atomic_smin", update<GlobalSpace, i32, atomic::kSmallest>, kAccepts},
    {"global_atomic_and", update<GlobalSpace, u32, atomic::kAnd>, kAccepts},
    {"global_atomic_or", update<GlobalSpace, u32, atomic::kOr>, kAccepts},
    {"global_atomic_xor", update<GlobalSpace, u32, atomic::kXor>, kAccepts},
    {"global_atomic_add_x2", update<GlobalSpace, u64, atomic::kAdd>, kAccepts},
    {"global_atomic_sub_x2", update<GlobalSpace, u64, atomic::kSubtract>, kAccepts},
    {"global_atomic_umax_x2", update<GlobalSpace, u64, atomic::kLargest>, kAccepts},
    {"global_atomic_umin_x2", update<GlobalSpace, u64, atomic::kSmallest>, kAccepts},
    {"global_atomic_smax_x2", update<GlobalSpace, i64, atomic::kLargest>, kAccepts},
    {"global_atomic_smin_x2", update<GlobalSpace, i64, atomic::kSmallest>, kAccepts},
    {"global_atomic_and_x2", update<GlobalSpace, u64, atomic::kAnd>, kAccepts},
    {"global_atomic_or_x2", update<GlobalSpace, u64, atomic::kOr>, kAccepts},
    {"global_atomic_xor_x2", update<GlobalSpace, u64, atomic::kXor>, kAccepts},
    {"global_atomic_inc", update<GlobalSpace, u32, atomic::kIncrement>, kAccepts, {}, true},
    {"global_atomic_dec", update<GlobalSpace, u32, atomic::kDecrement>, kAccepts, {}, true},
    {"global_atomic_swap", update<GlobalSpace, u32, atomic::kExchange>, kAccepts, {}, true},
    {"global_atomic_inc_x2", update<GlobalSpace, u64, atomic::kIncrement>, kAccepts, {}, true},
    {"global_atomic_dec_x2", update<GlobalSpace, u64, atomic::kDecrement>, kAccepts, {}, true},
    {"global_atomic_swap_x2", update<GlobalSpace, u64, atomic::kExchange>, kAccepts, {}, true},
    {"global_atomic_cmpswap", compare_swap<GlobalSpace, u32>, kAccepts, {}, true},
    {"global_atomic_cmpswap_x2", compare_swap<GlobalSpace, u64>, kAccepts, {}, true},
    {"global_atomic_add_f32", update<GlobalSpace, u32, atomic::kAddFloats>, kAccepts, {}, true},
    {"global_atomic_add_f64", update<GlobalSpace, u64, atomic::kAddFloats>, kAccepts, {}, true},
    {"global_atomic_min_f64", update<GlobalSpace, u64, atomic::kSmallestFloat>, kAccepts, {}, true},
    {"global_atomic_max_f64", update<GlobalSpace, u64, atomic::kLargestFloat>, kAccepts, {}, true},
    {"global_atomic_pk_add_f16", update<GlobalSpace, u32, atomic::kAddHalves>, kAccepts, {}, true},
    {"global_atomic_pk_add_bf16", update<GlobalSpace, u32, atomic::kAddBf16>, kAccepts, {}, true},

    {"flat_atomic_add", update<FlatSpace, u32, atomic::kAdd>, kAccepts},
    {"flat_atomic_sub", update<FlatSpace, u32, atomic::kSubtract>, kAccepts},
    {"flat_atomic_umax", update<FlatSpace, u32, atomic::kLargest>, kAccepts},
    {"flat_atomic_umin", update<FlatSpace, u32, atomic::kSmallest>, kAccepts},
    {"flat_atomic_smax", update<FlatSpace, i32, atomic::kLargest>, kAccepts},
    {"flat_atomic_smin", update<FlatSpace, i32, atomic::kSmallest>, kAccepts},
    {"flat_atomic_and", update<FlatSpace, u32, atomic::kAnd>, kAccepts},
    {"flat_atomic_or", update<FlatSpace, u32, atomic::kOr>, kAccepts},
    {"flat_atomic_xor", update<FlatSpace, u32, atomic::kXor>, kAccepts},
    {"flat_atomic_add_x2", update<FlatSpace, u64, atomic::kAdd>, kAccepts},
    {"flat_atomic_sub_x2", update<FlatSpace, u64, atomic::kSubtract>, kAccepts},
    {"flat_atomic_umax_x2", update<FlatSpace, u64, atomic::kLargest>, kAccepts},
    {"flat_atomic_umin_x2", update<FlatSpace, u64, atomic::kSmallest>, kAccepts},
    {"flat_atomic_smax_x2", update<FlatSpace, i64, atomic::kLargest>, kAccepts},
    {"flat_atomic_smin_x2", update<FlatSpace, i64, atomic::kSmallest>, kAccepts},
    {"flat_atomic_and_x2", update<FlatSpace, u64, atomic::kAnd>, kAccepts},
    {"flat_atomic_or_x2", update<FlatSpace, u64, atomic::kOr>, kAccepts},
    {"flat_atomic_xor_x2", update<FlatSpace, u64, atomic::kXor>, kAccepts},
    {"flat_atomic_inc", update<FlatSpace, u32, atomic::kIncrement>, kAccepts, {}, true},
    {"flat_atomic_dec", update<FlatSpace, u32, atomic::kDecrement>, kAccepts, {}, true},
    {"flat_atomic_swap", update<FlatSpace, u32, atomic::kExchange>, kAccepts, {}, true},
    {"flat_atomic_inc_x2", update<FlatSpace, u64, atomic::kIncrement>, kAccepts, {}, true},
    {"flat_atomic_dec_x2", update<FlatSpace, u64, atomic::kDecrement>, kAccepts, {}, true},
    {"flat_atomic_swap_x2", update<FlatSpace, u64, atomic::kExchange>, kAccepts, {}, true},
    {"flat_atomic_cmpswap", compare_swap<FlatSpace, u32>, kAccepts, {}, true},
    {"flat_atomic_cmpswap_x2", compare_swap<FlatSpace, u64>, kAccepts, {}, true},
    {"flat_atomic_add_f32", update<FlatSpace, u32, atomic::kAddFloats>, kAccepts, {}, true},
    {"flat_atomic_add_f64", update<FlatSpace, u64, atomic::kAddFloats>, kAccepts, {}, true},
    {"flat_atomic_min_f64", update<FlatSpace, u64, atomic::kSmallestFloat>, kAccepts, {}, true},
    {"flat_atomic_max_f64", update<FlatSpace, u64, atomic::kLargestFloat>, kAccepts, {}, true},
    {"flat_atomic_pk_add_f16", update<FlatSpace, u32, atomic::kAddHalves>, kAccepts, {}, true},
    {"flat_atomic_pk_add_bf16", update<FlatSpace, u32, atomic::kAddBf16>, kAccepts, {}, true},

    {"buffer_atomic_add", update<BufferSpace, u32, atomic::kAdd>, kBuffer},
    {"buffer_atomic_sub", update<BufferSpace, u32, atomic::kSubtract>, kBuffer},
    {"buffer_atomic_umax", update<BufferSpace, u32, atomic::kLargest>, kBuffer},
    {"buffer_atomic_umin", update<BufferSpace, u32, atomic::kSmallest>, kBuffer},
    {"buffer_atomic_smax", update<BufferSpace, i32, atomic::kLargest>, kBuffer},
    {"buffer_atomic_smin", update<BufferSpace, i32, atomic::kSmallest>, kBuffer},
    {"buffer_atomic_and", update<BufferSpace, u32, atomic::kAnd>, kBuffer},
    {"buffer_atomic_or", update<BufferSpace, u32, atomic::kOr>, kBuffer},
    {"buffer_atomic_xor", update<BufferSpace, u32, atomic::kXor>, kBuffer},
    {"buffer_atomic_add_x2", update<BufferSpace, u64, atomic::kAdd>, kBuffer},
    {"buffer_atomic_sub_x2", update<BufferSpace, u64, atomic::kSubtract>, kBuffer},
    {"buffer_atomic_umax_x2", update<BufferSpace, u64, atomic::kLargest>, kBuffer},
    {"buffer_atomic_umin_x2", update<BufferSpace, u64, atomic::kSmallest>, kBuffer},
    {"buffer_atomic_smax_x2", update<BufferSpace, i64, atomic::kLargest>, kBuffer},
    {"buffer_atomic_smin_x2", update<BufferSpace, i64, atomic::kSmallest>, kBuffer},
    {"buffer_atomic_and_x2", update<BufferSpace, u64, atomic::kAnd>, kBuffer},
    {"buffer_atomic_or_x2", update<BufferSpace, u64, atomic::kOr>, kBuffer},
    {"buffer_atomic_xor_x2", update<BufferSpace, u64, atomic::kXor>, kBuffer},
    {"buffer_atomic_inc", update<BufferSpace, u32, atomic::kIncrement>, kBuffer, {}, true},
    {"buffer_atomic_dec", update<BufferSpace, u32, atomic::kDecrement>, kBuffer, {}, true},
    {"buffer_atomic_swap", update<BufferSpace, u32, atomic::kExchange>, kBuffer, {}, true},
    {"buffer_atomic_inc_x2", update<BufferSpace, u64, atomic::kIncrement>, kBuffer, {}, true},
    {"buffer_atomic_dec_x2", update<BufferSpace, u64, atomic::kDecrement>, kBuffer, {}, true},
    {"buffer_atomic_swap_x2", update<BufferSpace, u64, atomic::kExchange>, kBuffer, {}, true},
    {"buffer_atomic_cmpswap", compare_swap<BufferSpace, u32>, kBuffer, {}, true},
    {"buffer_atomic_cmpswap_x2", compare_swap<BufferSpace, u64>, kBuffer, {}, true},
    {"buffer_atomic_add_f32", update<BufferSpace, u32, atomic::kAddFloats>, kBuffer, {}, true},
    {"buffer_atomic_add_f64", update<BufferSpace, u64, atomic::kAddFloats>, kBuffer, {}, true},
    {"buffer_atomic_min_f64", update<BufferSpace, u64, atomic::kSmallestFloat>, kBuffer, {}, true},
    {"buffer_atomic_max_f64", update<BufferSpace, u64, atomic::kLargestFloat>, kBuffer, {}, true},
    {"buffer_atomic_pk_add_f16", update<BufferSpace, u32, atomic::kAddHalves>, kBuffer, {}, true},
    {"buffer_atomic_pk_add_bf16", update<BufferSpace, u32, atomic::kAddBf16>, kBuffer, kCdna4, true},
});

}  // namespace

Table atomic_table() {
  return kRows;
}

}  // namespace octet::sim
