// Syntax: LLVM's "Syntax of AMDGPU Instruction Operands" and "... Modifiers". Numbers of registers: AMD CDNA4 ISA, 5.2
// "Scalar ALU Operands", table 13.
#include "sim/decode/parse.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "sim/decode/hardware_registers.h"

namespace octet::sim {
namespace {

struct NamedScalar {
  std::string_view name;
  std::uint16_t index;
  std::uint8_t dwords;
};
constexpr std::array<NamedScalar, 7> kNamedScalars{{{"vcc", kVccLo, 2},
                                                    {"vcc_lo", kVccLo, 1},
                                                    {"vcc_hi", kVccLo + 1, 1},
                                                    {"exec", kExecLo, 2},
                                                    {"exec_lo", kExecLo, 1},
                                                    {"exec_hi", kExecLo + 1, 1},
                                                    {"m0", kM0, 1}}};

/// How a literal with a point in it is stored.
enum class FloatWidth : std::uint8_t { half, single, twice };

/// The whole of `text` as an integer, decimal or 0x...
std::optional<std::int64_t> integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(negative ? -value : value);
}

/// Bits of the half with the value of an inline constant: 0.5, 1, 2, 4, 1/(2 pi) and their negatives.
std::uint64_t half_bits(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  constexpr std::uint32_t kRebias = (127 - 15) << 23;
  return (bits >> 16 & 0x8000U) | (((bits & 0x7FFF'FFFFU) - kRebias + 0x1000U) >> 13);
}

std::optional<std::uint64_t> float_literal(std::string_view text, FloatWidth width) {
  double value = 0;
  if (text.find('.') == std::string_view::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (width == FloatWidth::half) return half_bits(value);
  if (width == FloatWidth::twice) return std::bit_cast<std::uint64_t>(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// "7", "[4:7]" or "[4]" after the letter of a bank: first register and count.
std::optional<std::pair<int, int>> register_range(std::string_view text) {
  if (!text.starts_with('[')) {
    const auto single = integer(text);
    if (!single || *single < 0) return std::nullopt;
    return std::pair(static_cast<int>(*single), 1);
  }
  if (!text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const std::size_t colon = text.find(':');
  const auto first = integer(text.substr(0, colon));
  const auto last = colon == std::string_view::npos ? first : integer(text.substr(colon + 1));
  if (!first || !last || *first < 0 || *last < *first || *last > 255) return std::nullopt;
  return std::pair(static_cast<int>(*first), static_cast<int>(*last - *first + 1));
}

std::optional<Operand> register_operand(std::string_view text) {
  Operand operand;
  for (const NamedScalar& named : kNamedScalars) {
    if (text != named.name) continue;
    operand.bank = Bank::scalar;
    operand.index = named.index;
    operand.dwords = named.dwords;
    return operand;
  }
  if (text.size() < 2) return std::nullopt;
  const char letter = text.front();
  if (letter != 's' && letter != 'v' && letter != 'a') return std::nullopt;
  const auto range = register_range(text.substr(1));
  if (!range) return std::nullopt;
  const auto [first, count] = *range;
  const int end = first + count;
  if (end > (letter == 's' ? kVccLo - 4 : kFirstAccumulator)) return std::nullopt;
  operand.bank = letter == 's' ? Bank::scalar : Bank::vector;
  operand.index = static_cast<std::uint16_t>(first + (letter == 'a' ? kFirstAccumulator : 0));
  operand.dwords = static_cast<std::uint8_t>(count);
  return operand;
}

/// What stands for a number: hwreg(HW_REG_MODE, 0, 4) for its encoding, and the bounds of apertures, which are 64 bits
/// wide; what 32-bit operands read of them is not modelled.
std::optional<std::uint64_t> named_literal(std::string_view text, bool is_wide) {
  struct Bound {
    std::string_view name;
    std::uint64_t address;
  };
  constexpr std::array<Bound, 4> kBounds{{{"src_shared_base", kSharedBase},
                                          {"src_shared_limit", kSharedBase + kApertureBytes - 1},
                                          {"src_private_base", kPrivateBase},
                                          {"src_private_limit", kPrivateBase + kApertureBytes - 1}}};
  for (const Bound& bound : kBounds) {
    if (is_wide && text == bound.name) return bound.address;
  }
  return parse_hardware_register(text);
}

/// "gpr_idx(SRC0,DST)": a bit for each kind of operand.
std::optional<std::uint64_t> indexed_operands(std::string_view text) {
  constexpr std::array<std::string_view, 4> kKinds{"SRC0", "SRC1", "SRC2", "DST"};
  if (!text.starts_with("gpr_idx(") || !text.ends_with(')')) return std::nullopt;
  text = text.substr(8, text.size() - 9);
  std::uint64_t mask = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto* const kind = std::find(kKinds.begin(), kKinds.end(), text.substr(0, comma));
    if (kind == kKinds.end()) return std::nullopt;
    mask |= std::uint64_t{1} << (kind - kKinds.begin());
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return mask;
}

/// "v1", "-v1", "|v1|", "-|v1|", "sext(v1)", "off", "0x10", "-0.5", "gpr_idx(SRC0)", "lit(0xffffffff)": a literal where
/// an inline constant would do.
std::optional<Operand> parse_operand(std::string_view text, FloatWidth width, std::string_view mnemonic) {
  Operand modified;
  if (text == "off") return modified;
  if (text.starts_with("sext(") && text.ends_with(')')) {
    modified.sign_extended = true;
    text = text.substr(5, text.size() - 6);
  }
  if (text.starts_with("lit(") && text.ends_with(')')) text = text.substr(4, text.size() - 5);
  Operand literal;
  literal.bank = Bank::literal;
  if (const auto value = float_literal(text, width)) {
    literal.literal = *value;
    return literal;
  }
  if (const auto kinds = indexed_operands(text)) {
    literal.literal = *kinds;
    return literal;
  }
  if (const auto value = integer(text)) {
    if (width == FloatWidth::twice && text.starts_with("0x")) {
      literal.literal = static_cast<std::uint64_t>(*value) << 32;  // the upper half of a double
      return literal;
    }
    const bool sign_extends = mnemonic.ends_with("_i64");
    literal.literal = static_cast<std::uint64_t>(sign_extends ? static_cast<std::int32_t>(*value) : *value);
    return literal;
  }
  if (const auto value = named_literal(text, mnemonic.ends_with("64"))) {
    literal.literal = *value;
    return literal;
  }
  if (text.starts_with('-')) {
    modified.negated = true;
    text.remove_prefix(1);
  }
  if (text.size() > 2 && text.starts_with('|') && text.ends_with('|')) {
    modified.absolute = true;
    text = text.substr(1, text.size() - 2);
  }
  auto operand = register_operand(text);
  if (!operand) return std::nullopt;
  operand->negated = modified.negated;
  operand->absolute = modified.absolute;
  operand->sign_extended = modified.sign_extended;
  return operand;
}

/// "1,0,3": at most four numbers below 4.
std::optional<std::vector<std::uint8_t>> small_numbers(std::string_view text) {
  std::vector<std::uint8_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto number = integer(text.substr(0, comma));
    if (!number || *number < 0 || *number > 3 || numbers.size() == 4) return std::nullopt;
    numbers.push_back(static_cast<std::uint8_t>(*number));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

/// "[1,0,3]"
std::optional<std::vector<std::uint8_t>> list(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  return small_numbers(text.substr(1, text.size() - 2));
}

bool set_mask(std::string_view value, std::uint8_t& mask) {
  const auto numbers = list(value);
  if (!numbers) return false;
  mask = 0;
  for (std::size_t k = 0; k < numbers->size(); ++k) {
    mask = static_cast<std::uint8_t>(mask | ((*numbers)[k] & 1U) << k);
  }
  return true;
}

template <typename T>
bool set_number(std::string_view value, T& number) {
  const auto parsed = integer(value);
  if (parsed) number = static_cast<T>(*parsed);
  return parsed.has_value();
}

/// The 16-bit pattern of ds_swizzle_b32 that LLVM prints as a macro.
std::optional<std::int32_t> swizzle(std::string_view macro) {
  if (!macro.starts_with("swizzle(") || !macro.ends_with(')')) return std::nullopt;
  macro = macro.substr(8, macro.size() - 9);
  const std::size_t comma = std::min(macro.find(','), macro.size() - 1);
  const std::string_view kind = macro.substr(0, comma);
  const std::string_view arguments = macro.substr(comma + 1);
  if (kind == "QUAD_PERM") {
    const auto lanes = small_numbers(arguments);
    if (!lanes || lanes->size() != 4) return std::nullopt;
    const std::vector<std::uint8_t>& of = *lanes;
    return 0x8000 | of[0] | of[1] << 2 | of[2] << 4 | of[3] << 6;
  }
  const std::size_t second = arguments.find(',');
  const auto number = integer(arguments.substr(0, second));
  constexpr std::int32_t kKeepAll = 31;
  if (kind == "SWAP" && number) return static_cast<std::int32_t>(*number) << 10 | kKeepAll;
  if (kind == "REVERSE" && number) return (static_cast<std::int32_t>(*number) - 1) << 10 | kKeepAll;
  if (kind == "BROADCAST" && number && second != std::string_view::npos) {
    const auto lane = integer(arguments.substr(second + 1));
    if (lane) return ((32 - static_cast<std::int32_t>(*number)) & 31) | static_cast<std::int32_t>(*lane) << 5;
  }
  if (kind != "BITMASK_PERM" || arguments.size() != 7) return std::nullopt;
  std::int32_t pattern = 0;  // a character a bit, the highest first: 0, 1, preserved, inverted
  for (int bit = 0; bit < 5; ++bit) {
    const char character = arguments[static_cast<std::size_t>(5 - bit)];
    if (character == 'p' || character == 'i') pattern |= 1 << bit;
    if (character == '1') pattern |= 1 << (bit + 5);
    if (character == 'i') pattern |= 1 << (bit + 10);
  }
  return pattern;
}

bool memory_modifier(std::string_view name, std::string_view value, Instruction& instruction) {
  if (name == "offen" || name == "idxen") {
    instruction.used |= modifier::kBuffer;
    (name == "offen" ? instruction.offen : instruction.idxen) = true;
    return value.empty();
  }
  if (name == "sc0" || name == "sc1" || name == "nt") {
    instruction.used |= modifier::kCache;
    instruction.sc0 = instruction.sc0 || name == "sc0";
    return value.empty();
  }
  if (name == "offset" && value.starts_with("swizzle(")) {
    instruction.used |= modifier::kSwizzle;
    const auto pattern = swizzle(value);
    if (pattern) instruction.offset = *pattern;
    return pattern.has_value();
  }
  if (name != "offset" && name != "offset0" && name != "offset1") return false;
  instruction.used |= modifier::kOffset;
  return set_number(value, name == "offset1" ? instruction.offset1 : instruction.offset);
}

bool arithmetic_modifier(std::string_view name, std::string_view value, Instruction& instruction) {
  if (name == "clamp" || name == "mul" || name == "div") {
    instruction.used |= modifier::kOutput;
    if (name == "clamp") instruction.clamp = true;
    return name == "clamp" ? value.empty() : value == "2" || (value == "4" && name == "mul");
  }
  if (name == "op_sel") {
    instruction.used |= modifier::kHalves;
    return set_mask(value, instruction.op_sel);
  }
  if (name == "bitop3") {
    instruction.used |= modifier::kTruthTable;
    return set_number(value, instruction.truth_table);
  }
  if (name == "cbsz" || name == "abid" || name == "blgp") {
    instruction.used |= modifier::kMatrix;
    return set_number(value, name == "cbsz" ? instruction.cbsz : name == "abid" ? instruction.abid : instruction.blgp);
  }
  if (name == "neg") {  // how blgp is printed where it negates A, B and C
    instruction.used |= modifier::kMatrix;
    return set_mask(value, instruction.blgp);
  }
  if (name != "op_sel_hi" && name != "neg_lo" && name != "neg_hi") return false;
  instruction.used |= modifier::kPacked;
  return set_mask(value, name == "op_sel_hi" ? instruction.op_sel_hi
                         : name == "neg_lo"  ? instruction.neg_lo
                                             : instruction.neg_hi);
}

bool dpp_control(std::string_view name, std::string_view value, Dpp& dpp) {
  struct Shift {
    std::string_view name;
    std::uint16_t base;
    std::int64_t least, most;
  };
  constexpr std::array<Shift, 4> kShifts{{{"row_shl", 0x100, 1, 15},
                                          {"row_shr", 0x110, 1, 15},
                                          {"row_ror", 0x120, 1, 15},
                                          {"row_newbcast", 0x150, 0, 15}}};
  struct Whole {
    std::string_view name;
    std::string_view value;
    std::uint16_t control;
  };
  constexpr std::array<Whole, 8> kWhole{{{"wave_shl", "1", 0x130},
                                         {"wave_rol", "1", 0x134},
                                         {"wave_shr", "1", 0x138},
                                         {"wave_ror", "1", 0x13C},
                                         {"row_mirror", "", 0x140},
                                         {"row_half_mirror", "", 0x141},
                                         {"row_bcast", "15", 0x142},
                                         {"row_bcast", "31", 0x143}}};
  for (const Whole& whole : kWhole) {
    if (name != whole.name || value != whole.value) continue;
    dpp.control = whole.control;
    return true;
  }
  if (name == "quad_perm") {
    const auto lanes = list(value);
    if (!lanes || lanes->size() != 4) return false;
    const std::vector<std::uint8_t>& of = *lanes;
    dpp.control = static_cast<std::uint16_t>(of[0] | of[1] << 2 | of[2] << 4 | of[3] << 6);
    return true;
  }
  for (const Shift& shift : kShifts) {
    if (name != shift.name) continue;
    const auto by = integer(value);
    if (!by || *by < shift.least || *by > shift.most) return false;
    dpp.control = static_cast<std::uint16_t>(shift.base + *by);
    return true;
  }
  return false;
}

bool dpp_modifier(std::string_view name, std::string_view value, Dpp& dpp) {
  if (name == "row_mask") return set_number(value, dpp.row_mask);
  if (name == "bank_mask") return set_number(value, dpp.bank_mask);
  if (name == "bound_ctrl") {
    dpp.zero_outside = true;  // printed only when it is set, by its old number or its new one
    return value == "0" || value == "1";
  }
  return dpp_control(name, value, dpp);
}

bool sdwa_modifier(std::string_view name, std::string_view value, Sdwa& sdwa) {
  constexpr std::array<std::string_view, 7> kParts{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  constexpr std::array<std::string_view, 3> kUnused{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  if (name == "dst_unused") {
    for (std::size_t k = 0; k < kUnused.size(); ++k) {
      if (value == kUnused[k]) return sdwa.unused = static_cast<Unused>(k), true;
    }
    return false;
  }
  Part* part = name == "dst_sel"    ? &sdwa.destination
               : name == "src0_sel" ? &sdwa.source[0]
               : name == "src1_sel" ? &sdwa.source[1]
                                    : nullptr;
  for (std::size_t k = 0; part != nullptr && k < kParts.size(); ++k) {
    if (value == kParts[k]) return *part = static_cast<Part>(k), true;
  }
  return false;
}

bool parse_modifier(std::string_view text, Parsed& parsed) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  Instruction& instruction = parsed.instruction;
  if (parsed.form == Form::dpp && dpp_modifier(name, value, instruction.dpp)) return true;
  if (parsed.form == Form::sdwa && sdwa_modifier(name, value, instruction.sdwa)) return true;
  return memory_modifier(name, value, instruction) || arithmetic_modifier(name, value, instruction);
}

/// Cuts at blanks and commas outside of brackets.
std::vector<std::string_view> tokens(std::string_view text) {
  std::vector<std::string_view> found;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char character = at < text.size() ? text[at] : ',';
    if (character == '[' || character == '(') ++depth;
    if (character == ']' || character == ')') --depth;
    if (at < text.size() && (depth > 0 || (character != ' ' && character != ','))) continue;
    if (at > begin) found.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  return found;
}

/// Takes the encoding off the end of a mnemonic.
Form strip_form(std::string_view& mnemonic) {
  constexpr std::array<std::pair<std::string_view, Form>, 4> kEndings{
      {{"_e32", Form::plain}, {"_e64", Form::plain}, {"_dpp", Form::dpp}, {"_sdwa", Form::sdwa}}};
  for (const auto& [ending, form] : kEndings) {
    if (!mnemonic.ends_with(ending)) continue;
    mnemonic.remove_suffix(ending.size());
    return form;
  }
  return Form::plain;
}

FloatWidth width_of_literals(std::string_view mnemonic) {
  if (mnemonic.starts_with("v_mfma_f64_")) return FloatWidth::twice;
  if (mnemonic.starts_with("v_mfma_")) return FloatWidth::single;          // the literal is a summand, not a factor
  if (mnemonic.starts_with("v_cvt_scalef32_")) return FloatWidth::single;  // the literal is the scale
  if (mnemonic.starts_with("v_fma_mix")) return FloatWidth::single;
  if (mnemonic.ends_with("_f16")) return FloatWidth::half;
  if (mnemonic.ends_with("_f64")) return FloatWidth::twice;
  return FloatWidth::single;
}

}  // namespace

Parsed parse(std::string_view text) {
  Parsed parsed;
  const std::size_t blank = std::min(text.find(' '), text.size());
  std::string_view mnemonic = text.substr(0, blank);
  parsed.form = strip_form(mnemonic);
  parsed.mnemonic = std::string(mnemonic);
  const FloatWidth width = width_of_literals(mnemonic);
  Instruction& instruction = parsed.instruction;
  for (const std::string_view token : tokens(text.substr(blank))) {
    if (token == "lds") {
      parsed.mnemonic += "_lds";
      continue;
    }
    if (parse_modifier(token, parsed)) continue;
    const auto operand = parse_operand(token, width, mnemonic);
    if (!operand || instruction.operand_count == instruction.operands.size()) {
      if (parsed.unknown.empty()) parsed.unknown = std::string(token);
      continue;
    }
    if (operand->negated || operand->absolute) instruction.used |= modifier::kSign;
    instruction.operands[instruction.operand_count++] = *operand;
  }
  return parsed;
}

}  // namespace octet::sim
