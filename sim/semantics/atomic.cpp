// Atomic instructions on global memory. AMD CDNA4 ISA, 9.2 "Float Memory Atomics", 10.3.1 "Atomics"; 12.15 FLAT,
// Scratch and Global. Operands: [old value,] address, data, scalar address.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/global_space.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/small_floats.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// The aligned word of a lane.
template <typename T>
std::atomic_ref<T> word_at(const GlobalSpace& space, std::size_t lane) {
  if (space.address(lane) % sizeof(T) != 0) {
    throw Failure("lane {} updates {} bytes at {:#x}, which is not aligned", lane, sizeof(T), space.address(lane));
  }
  return std::atomic_ref<T>(*reinterpret_cast<T*>(space.at(lane, sizeof(T))));
}

template <typename T>
T row_value(const Wave& wave, const Operand& operand, std::size_t first, std::size_t lane) {
  const u64 low = wave.vector[operand.index + first][lane];
  if constexpr (sizeof(T) == 4) return static_cast<T>(low);
  return static_cast<T>(low | u64{wave.vector[operand.index + first + 1][lane]} << 32);
}

template <typename T>
void write_old(Wave& wave, const Operand& operand, std::size_t lane, T old) {
  wave.vector[operand.index][lane] = static_cast<u32>(old);
  if constexpr (sizeof(T) == 8) wave.vector[operand.index + 1U][lane] = static_cast<u32>(u64{old} >> 32);
}

/// memory = F(memory, data), lane after lane.
template <typename T, auto F>
void update(Wave& wave, const Instruction& instruction) {
  const std::size_t first = instruction.operand_count == 4 ? 1 : 0;
  const GlobalSpace space(wave, instruction, first, first + 2);
  announce(wave, instruction, space, AccessKind::update, sizeof(T));
  for_active_lanes(wave, [&](std::size_t lane) {
    const std::atomic_ref<T> word = word_at<T>(space, lane);
    const auto data = row_value<T>(wave, instruction.operands[first + 1], 0, lane);
    T old = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(old, F(old, data), std::memory_order_relaxed)) {
    }
    if (first == 1) write_old(wave, instruction.operands[0], lane, old);
  });
}

/// memory = data where it equals the value behind data.
template <typename T>
void compare_swap(Wave& wave, const Instruction& instruction) {
  const std::size_t first = instruction.operand_count == 4 ? 1 : 0;
  const GlobalSpace space(wave, instruction, first, first + 2);
  announce(wave, instruction, space, AccessKind::update, sizeof(T));
  constexpr std::size_t kRowsOfValue = sizeof(T) / 4;
  for_active_lanes(wave, [&](std::size_t lane) {
    const std::atomic_ref<T> word = word_at<T>(space, lane);
    const Operand& operand = instruction.operands[first + 1];
    auto old = row_value<T>(wave, operand, kRowsOfValue, lane);
    word.compare_exchange_strong(old, row_value<T>(wave, operand, 0, lane), std::memory_order_relaxed);
    if (first == 1) write_old(wave, instruction.operands[0], lane, old);
  });
}

constexpr u32 add_floats(u32 a, u32 b) {
  return as_bits(as_float(a) + as_float(b));
}
constexpr u32 add_bf16_pairs(u32 a, u32 b) {
  const u32 low = encode_bf16(decode_bf16(a & 0xFFFFU) + decode_bf16(b & 0xFFFFU));
  return low | encode_bf16(decode_bf16(a >> 16) + decode_bf16(b >> 16)) << 16;
}
constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSubtract = [](u32 a, u32 b) { return a - b; };
constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
constexpr auto kLargest = [](auto a, auto b) { return std::max(a, b); };
constexpr auto kSmallest = [](auto a, auto b) { return std::min(a, b); };
constexpr auto kSwap = [](auto /*a*/, auto b) { return b; };

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr std::array kRows = std::to_array<Row>({
    {"global_atomic_add", update<u32, kAdd>, kAccepts},
    {"global_atomic_sub", update<u32, kSubtract>, kAccepts},
    {"global_atomic_umax", update<u32, kLargest>, kAccepts},
    {"global_atomic_umin", update<u32, kSmallest>, kAccepts},
    {"global_atomic_smax", update<i32, kLargest>, kAccepts},
    {"global_atomic_smin", update<i32, kSmallest>, kAccepts},
    {"global_atomic_and", update<u32, kAnd>, kAccepts},
    {"global_atomic_or", update<u32, kOr>, kAccepts},
    {"global_atomic_xor", update<u32, kXor>, kAccepts},
    {"global_atomic_add_x2", update<u64, kAdd>, kAccepts},
    {"global_atomic_umax_x2", update<u64, kLargest>, kAccepts},
    {"global_atomic_umin_x2", update<u64, kSmallest>, kAccepts},
    {"global_atomic_or_x2", update<u64, kOr>, kAccepts},
    {"global_atomic_swap", update<u32, kSwap>, kAccepts, {}, true},
    {"global_atomic_swap_x2", update<u64, kSwap>, kAccepts, {}, true},
    {"global_atomic_cmpswap", compare_swap<u32>, kAccepts, {}, true},
    {"global_atomic_cmpswap_x2", compare_swap<u64>, kAccepts, {}, true},
    {"global_atomic_add_f32", update<u32, add_floats>, kAccepts, {}, true},
    {"global_atomic_pk_add_bf16", update<u32, add_bf16_pairs>, kAccepts, {}, true},
});

}  // namespace

Table atomic_table() {
  return kRows;
}

}  // namespace octet::sim
