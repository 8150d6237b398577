#include "sim/counters/mnemonics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace octet::sim {
namespace {

struct Width {
  std::string_view word;
  std::uint32_t bytes;
};
constexpr std::array<Width, 22> kWidths{
    {{"byte", 1},  {"ubyte", 1},   {"sbyte", 1},    {"short", 2},    {"ushort", 2},   {"sshort", 2},
     {"dword", 4}, {"dwordx2", 8}, {"dwordx3", 12}, {"dwordx4", 16}, {"dwordx8", 32}, {"dwordx16", 64},
     {"u8", 1},    {"i8", 1},      {"b8", 1},       {"u16", 2},      {"i16", 2},      {"b16", 2},
     {"b32", 4},   {"b64", 8},     {"b96", 12},     {"b128", 16}}};

/// The word up to the next underscore, which is taken off with it.
std::string_view take_word(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find('_'));
  rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  return word;
}

std::uint32_t width(std::string_view word) {
  const auto* const found =
      std::find_if(kWidths.begin(), kWidths.end(), [&](const Width& candidate) { return candidate.word == word; });
  return found == kWidths.end() ? 0 : found->bytes;
}

/// `rest` is what follows "global_" and the like.
std::optional<MemoryInstruction> vector_memory(MemorySpace space, std::string_view rest) {
  const std::string_view use = take_word(rest);
  if (use == "atomic") {
    const bool is_wide = rest.ends_with("_x2") || rest.ends_with("_f64");
    return MemoryInstruction{space, MemoryUse::atomic, is_wide ? 8U : 4U};
  }
  if (use != "load" && use != "store") return std::nullopt;
  if (rest.starts_with("lds_")) take_word(rest);  // straight into LDS
  return MemoryInstruction{space, use == "load" ? MemoryUse::load : MemoryUse::store, width(take_word(rest))};
}

/// `rest` is what follows "ds_".
std::optional<MemoryInstruction> lds_memory(std::string_view rest) {
  constexpr std::array<std::string_view, 5> kNoMemory{"permute", "bpermute", "swizzle", "nop", "gws"};
  const bool is_wide = rest.find("64") != std::string_view::npos;
  const std::string_view use = take_word(rest);
  if (std::find(kNoMemory.begin(), kNoMemory.end(), use) != kNoMemory.end()) return std::nullopt;
  if (!use.starts_with("read") && !use.starts_with("write")) {
    return MemoryInstruction{MemorySpace::lds, MemoryUse::atomic, is_wide ? 8U : 4U};
  }
  if (rest.starts_with("addtid_")) take_word(rest);
  const MemoryUse kind = use.starts_with("read") ? MemoryUse::load : MemoryUse::store;
  return MemoryInstruction{MemorySpace::lds, kind, width(take_word(rest))};
}

/// The digits at the front of `text`, which are taken off; 0 where there are none.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string_view mnemonic(std::string_view text) {
  return text.substr(0, text.find(' '));
}

std::optional<MemoryInstruction> memory_instruction(std::string_view mnemonic) {
  constexpr std::array<std::pair<std::string_view, MemorySpace>, 4> kSpaces{{{"global", MemorySpace::global},
                                                                             {"buffer", MemorySpace::global},
                                                                             {"flat", MemorySpace::global},
                                                                             {"scratch", MemorySpace::scratch}}};
  const std::string_view first = take_word(mnemonic);
  if (first == "ds") return lds_memory(mnemonic);
  for (const auto& [word, space] : kSpaces) {
    if (first == word) return vector_memory(space, mnemonic);
  }
  return std::nullopt;
}

std::uint32_t scalar_load_bytes(std::string_view mnemonic) {
  if (mnemonic.starts_with("s_buffer_load_")) return width(mnemonic.substr(14));
  return mnemonic.starts_with("s_load_") ? width(mnemonic.substr(7)) : 0;
}

/// "v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_4x4x4_16b_f16": the shape, then the number of blocks unless it is one.
std::optional<std::uint64_t> matrix_operations(std::string_view mnemonic) {
  const bool is_sparse = mnemonic.starts_with("v_smfmac_");
  if (!is_sparse && !mnemonic.starts_with("v_mfma_")) return std::nullopt;
  for (std::string_view rest = mnemonic; !rest.empty();) {
    std::string_view word = take_word(rest);
    std::uint64_t products = take_number(word);
    if (products == 0) continue;
    while (word.starts_with('x')) {
      word.remove_prefix(1);
      products *= take_number(word);
    }
    const std::uint64_t blocks = std::max<std::uint64_t>(take_number(rest), 1);
    return 2 * products * blocks / (is_sparse ? 2 : 1);
  }
  return std::nullopt;
}

bool is_barrier(std::string_view mnemonic) {
  return mnemonic == "s_barrier";
}

bool is_branch(std::string_view mnemonic) {
  return mnemonic == "s_branch" || mnemonic.starts_with("s_cbranch_");
}

bool is_wait(std::string_view mnemonic) {
  return mnemonic.starts_with("s_waitcnt");
}

bool is_cache_maintenance(std::string_view mnemonic) {
  constexpr std::array<std::string_view, 6> kNames{"buffer_wbl2",  "buffer_inv",  "buffer_wbinvl1",
                                                   "s_dcache_inv", "s_dcache_wb", "s_icache_inv"};
  return std::find(kNames.begin(), kNames.end(), mnemonic) != kNames.end();
}

}  // namespace octet::sim
