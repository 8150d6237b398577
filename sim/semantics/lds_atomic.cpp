// Atomic instructions on the workgroup's shared memory. AMD CDNA4 ISA, 11.3.1 "Data Share Indexed and Atomic
// Access"; instructions: 12.12 LDS. Those with "rtn" in their name return the old value.
#include <array>
#include <bit>
#include <cstdint>

#include "sim/semantics/atomic_operations.h"
#include "sim/semantics/lds_space.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// memory = Next(memory, data, second data), for instructions whose `Returns` says whether the old value comes first
/// among the operands: [old value,] address, data [, second data].
template <typename T, bool Returns, typename Next>
void update_lds(Wave& wave, const Instruction& instruction, const Next& next) {
  constexpr std::size_t kAddress = Returns ? 1 : 0;
  const LdsSpace space(wave, instruction, kAddress, 0);
  const Operand& data = instruction.operands[kAddress + 1];
  const Operand& second = instruction.operands[kAddress + 2];
  update_words<T>(wave, instruction, space, Returns ? &instruction.operands[0] : nullptr, [&](T old, std::size_t lane) {
    return next(old, read_word<T>(wave, data, lane), [&] { return read_word<T>(wave, second, lane); });
  });
}

/// memory = F(memory, data)
template <typename T, auto F, bool Returns>
void update(Wave& wave, const Instruction& instruction) {
  update_lds<T, Returns>(wave, instruction, [](T old, T data, const auto& /*second*/) { return F(old, data); });
}

/// memory = second data where it equals data, both taken for numbers of the type `Compared`.
template <typename T, bool Returns, typename Compared = T>
void compare_store(Wave& wave, const Instruction& instruction) {
  update_lds<T, Returns>(wave, instruction, [](T old, T data, const auto& second) {
    return std::bit_cast<Compared>(old) == std::bit_cast<Compared>(data) ? second() : old;
  });
}

/// memory = memory without the bits of data, with those of the second data.
template <typename T, bool Returns>
void mask_or(Wave& wave, const Instruction& instruction) {
  update_lds<T, Returns>(wave, instruction, [](T old, T data, const auto& second) { return (old & ~data) | second(); });
}

/// Two exchanges, at offsets that count in units of the word times `Stride`. Operands: old values, address, data, data;
/// the old values may take the place of any of them.
template <typename T, u32 Stride>
void exchange_two(Wave& wave, const Instruction& instruction) {
  const Lanes addresses = vector_row(wave, instruction.operands[1]);
  std::array<std::array<T, kLanes>, 2> data;
  for_active_lanes(wave, [&](std::size_t lane) {
    for (std::size_t k = 0; k < 2; ++k) data[k][lane] = read_word<T>(wave, instruction.operands[2 + k], lane);
  });
  for (std::size_t k = 0; k < 2; ++k) {
    const auto offset = static_cast<u32>(k == 0 ? instruction.offset : instruction.offset1);
    const LdsSpace space(wave, addresses, offset * static_cast<u32>(sizeof(T)) * Stride);
    Operand old_value = instruction.operands[0];
    old_value.index = static_cast<std::uint16_t>(old_value.index + k * sizeof(T) / 4);
    update_words<T>(wave, instruction, space, &old_value, [&](T /*old*/, std::size_t lane) { return data[k][lane]; });
  }
}

/// The number of lanes that EXEC names is added to a word, or taken from it, once; all of them get the old value. AMD's
/// document takes the word's address from the offset alone, LLVM puts it into M0: both agree while M0 is 0.
template <bool Append>
void count_lanes(Wave& wave, const Instruction& instruction) {
  if (wave.scalar[kM0] != 0) {
    throw Failure("M0 is {:#x}: whether it takes part in the address is not known; only 0 is implemented",
                  wave.scalar[kM0]);
  }
  const std::uint64_t exec = wave.exec();
  if (exec == 0) return;
  Lanes addresses;
  addresses.fill(0);
  const LdsSpace space(wave, addresses, static_cast<u32>(instruction.offset));
  Access access{instruction, Space::lds, AccessKind::update, sizeof(u32), wave.number, exec & -exec};
  const auto first = static_cast<std::size_t>(std::countr_zero(exec));
  access.addresses[first] = space.address(first);
  if (wave.listener != nullptr) wave.listener->on_access(access);
  const std::atomic_ref<u32> word = word_at<u32>(space, first);
  const auto count = static_cast<u32>(std::popcount(exec));
  Lanes old;
  old.fill(Append ? word.fetch_add(count) : word.fetch_sub(count));
  write_lanes(wave, instruction.operands[0], 0, old);
}

constexpr std::array kRows = std::to_array<Row>({
    {"ds_add_u32", update<u32, atomic::kAdd, false>, modifier::kOffset},
    {"ds_sub_u32", update<u32, atomic::kSubtract, false>, modifier::kOffset},
    {"ds_rsub_u32", update<u32, atomic::kSubtractReversed, false>, modifier::kOffset},
    {"ds_inc_u32", update<u32, atomic::kIncrement, false>, modifier::kOffset},
    {"ds_dec_u32", update<u32, atomic::kDecrement, false>, modifier::kOffset},
    {"ds_min_i32", update<i32, atomic::kSmallest, false>, modifier::kOffset},
    {"ds_max_i32", update<i32, atomic::kLargest, false>, modifier::kOffset},
    {"ds_min_u32", update<u32, atomic::kSmallest, false>, modifier::kOffset},
    {"ds_max_u32", update<u32, atomic::kLargest, false>, modifier::kOffset},
    {"ds_and_b32", update<u32, atomic::kAnd, false>, modifier::kOffset},
    {"ds_or_b32", update<u32, atomic::kOr, false>, modifier::kOffset},
    {"ds_xor_b32", update<u32, atomic::kXor, false>, modifier::kOffset},
    {"ds_add_f32", update<u32, atomic::kAddFloats, false>, modifier::kOffset},
    {"ds_min_f32", update<u32, atomic::kSmallestFloat, false>, modifier::kOffset},
    {"ds_max_f32", update<u32, atomic::kLargestFloat, false>, modifier::kOffset},
    {"ds_pk_add_f16", update<u32, atomic::kAddHalves, false>, modifier::kOffset},
    {"ds_pk_add_bf16", update<u32, atomic::kAddBf16, false>, modifier::kOffset},
    {"ds_mskor_b32", mask_or<u32, false>, modifier::kOffset},
    {"ds_cmpst_b32", compare_store<u32, false>, modifier::kOffset},
    {"ds_cmpst_f32", compare_store<u32, false, float>, modifier::kOffset},
    {"ds_add_rtn_u32", update<u32, atomic::kAdd, true>, modifier::kOffset},
    {"ds_sub_rtn_u32", update<u32, atomic::kSubtract, true>, modifier::kOffset},
    {"ds_rsub_rtn_u32", update<u32, atomic::kSubtractReversed, true>, modifier::kOffset},
    {"ds_inc_rtn_u32", update<u32, atomic::kIncrement, true>, modifier::kOffset},
    {"ds_dec_rtn_u32", update<u32, atomic::kDecrement, true>, modifier::kOffset},
    {"ds_min_rtn_i32", update<i32, atomic::kSmallest, true>, modifier::kOffset},
    {"ds_max_rtn_i32", update<i32, atomic::kLargest, true>, modifier::kOffset},
    {"ds_min_rtn_u32", update<u32, atomic::kSmallest, true>, modifier::kOffset},
    {"ds_max_rtn_u32", update<u32, atomic::kLargest, true>, modifier::kOffset},
    {"ds_and_rtn_b32", update<u32, atomic::kAnd, true>, modifier::kOffset},
    {"ds_or_rtn_b32", update<u32, atomic::kOr, true>, modifier::kOffset},
    {"ds_xor_rtn_b32", update<u32, atomic::kXor, true>, modifier::kOffset},
    {"ds_add_rtn_f32", update<u32, atomic::kAddFloats, true>, modifier::kOffset},
    {"ds_min_rtn_f32", update<u32, atomic::kSmallestFloat, true>, modifier::kOffset},
    {"ds_max_rtn_f32", update<u32, atomic::kLargestFloat, true>, modifier::kOffset},
    {"ds_pk_add_rtn_f16", update<u32, atomic::kAddHalves, true>, modifier::kOffset},
    {"ds_pk_add_rtn_bf16", update<u32, atomic::kAddBf16, true>, modifier::kOffset},
    {"ds_wrxchg_rtn_b32", update<u32, atomic::kExchange, true>, modifier::kOffset},
    {"ds_mskor_rtn_b32", mask_or<u32, true>, modifier::kOffset},
    {"ds_cmpst_rtn_b32", compare_store<u32, true>, modifier::kOffset},
    {"ds_cmpst_rtn_f32", compare_store<u32, true, float>, modifier::kOffset},
    {"ds_wrxchg2_rtn_b32", exchange_two<u32, 1>, modifier::kOffset},
    {"ds_wrxchg2st64_rtn_b32", exchange_two<u32, 64>, modifier::kOffset},

    {"ds_add_u64", update<u64, atomic::kAdd, false>, modifier::kOffset},
    {"ds_sub_u64", update<u64, atomic::kSubtract, false>, modifier::kOffset},
    {"ds_rsub_u64", update<u64, atomic::kSubtractReversed, false>, modifier::kOffset},
    {"ds_inc_u64", update<u64, atomic::kIncrement, false>, modifier::kOffset},
    {"ds_dec_u64", update<u64, atomic::kDecrement, false>, modifier::kOffset},
    {"ds_min_i64", update<i64, atomic::kSmallest, false>, modifier::kOffset},
    {"ds_max_i64", update<i64, atomic::kLargest, false>, modifier::kOffset},
    {"ds_min_u64", update<u64, atomic::kSmallest, false>, modifier::kOffset},
    {"ds_max_u64", update<u64, atomic::kLargest, false>, modifier::kOffset},
    {"ds_and_b64", update<u64, atomic::kAnd, false>, modifier::kOffset},
    {"ds_or_b64", update<u64, atomic::kOr, false>, modifier::kOffset},
    {"ds_xor_b64", update<u64, atomic::kXor, false>, modifier::kOffset},
    {"ds_add_f64", update<u64, atomic::kAddFloats, false>, modifier::kOffset},
    {"ds_min_f64", update<u64, atomic::kSmallestFloat, false>, modifier::kOffset},
    {"ds_max_f64", update<u64, atomic::kLargestFloat, false>, modifier::kOffset},
    {"ds_mskor_b64", mask_or<u64, false>, modifier::kOffset},
    {"ds_cmpst_b64", compare_store<u64, false>, modifier::kOffset},
    {"ds_cmpst_f64", compare_store<u64, false, double>, modifier::kOffset},
    {"ds_add_rtn_u64", update<u64, atomic::kAdd, true>, modifier::kOffset},
    {"ds_sub_rtn_u64", update<u64, atomic::kSubtract, true>, modifier::kOffset},
    {"ds_rsub_rtn_u64", update<u64, atomic::kSubtractReversed, true>, modifier::kOffset},
    {"ds_inc_rtn_u64", update<u64, atomic::kIncrement, true>, modifier::kOffset},
    {"ds_dec_rtn_u64", update<u64, atomic::kDecrement, true>, modifier::kOffset},
    {"ds_min_rtn_i64", update<i64, atomic::kSmallest, true>, modifier::kOffset},
    {"ds_max_rtn_i64", update<i64, atomic::kLargest, true>, modifier::kOffset},
    {"ds_min_rtn_u64", update<u64, atomic::kSmallest, true>, modifier::kOffset},
    {"ds_max_rtn_u64", update<u64, atomic::kLargest, true>, modifier::kOffset},
    {"ds_and_rtn_b64", update<u64, atomic::kAnd, true>, modifier::kOffset},
    {"ds_or_rtn_b64", update<u64, atomic::kOr, true>, modifier::kOffset},
    {"ds_xor_rtn_b64", update<u64, atomic::kXor, true>, modifier::kOffset},
    {"ds_add_rtn_f64", update<u64, atomic::kAddFloats, true>, modifier::kOffset},
    {"ds_min_rtn_f64", update<u64, atomic::kSmallestFloat, true>, modifier::kOffset},
    {"ds_max_rtn_f64", update<u64, atomic::kLargestFloat, true>, modifier::kOffset},
    {"ds_wrxchg_rtn_b64", update<u64, atomic::kExchange, true>, modifier::kOffset},
    {"ds_mskor_rtn_b64", mask_or<u64, true>, modifier::kOffset},
    {"ds_cmpst_rtn_b64", compare_store<u64, true>, modifier::kOffset},
    {"ds_cmpst_rtn_f64", compare_store<u64, true, double>, modifier::kOffset},
    {"ds_wrxchg2_rtn_b64", exchange_two<u64, 1>, modifier::kOffset},
    {"ds_wrxchg2st64_rtn_b64", exchange_two<u64, 64>, modifier::kOffset},

    {"ds_append", count_lanes<true>, modifier::kOffset},
    {"ds_consume", count_lanes<false>, modifier::kOffset},
});

}  // namespace

Table lds_atomic_table() {
  return kRows;
}

}  // namespace octet::sim
