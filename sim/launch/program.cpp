#include "sim/launch/program.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"
#include "sim/decode/disassembler.h"
#include "sim/decode/parse.h"
#include "sim/semantics/register_indexing.h"

namespace octet::sim {
namespace {

void refuse(Wave& /*wave*/, const Instruction& /*instruction*/) {
  throw Failure("the instruction, or a modifier of it, is not implemented");
}

bool can_execute(const Parsed& parsed, const Row& row) {
  if ((row.accepts & kAnyOperands) != 0) return true;
  return parsed.unknown.empty() && (parsed.instruction.used & ~row.accepts) == 0;
}

void stage_dpp(Instruction& inner) {
  inner.operands[1].bank = Bank::vector;
  inner.operands[1].index = kFirstStaging;
}

/// Sources of which a part is read, and a destination of which a part is written, become staging rows.
void stage_sdwa(Instruction& inner) {
  for (std::size_t source = 0; source < 2; ++source) {
    Operand& operand = inner.operands[source + 1];
    if (source + 1 >= inner.operand_count || inner.sdwa.source[source] == Part::dword) continue;
    operand.bank = Bank::vector;
    operand.index = static_cast<std::uint16_t>(kFirstStaging + source);
  }
  Operand& destination = inner.operands[0];
  if (destination.bank == Bank::vector && inner.sdwa.destination != Part::dword) destination.index = kFirstStaging + 2;
}

bool is_branch(std::string_view text) {
  return text.starts_with("s_branch ") || text.starts_with("s_cbranch_");
}

}  // namespace

Instruction bind(Parsed parsed, Generation generation, std::deque<Instruction>& inners) {
  Instruction& instruction = parsed.instruction;
  const std::optional<Found> found = find_row(parsed.mnemonic, generation);
  if (!found || !can_execute(parsed, *found->row)) {
    instruction.execute = refuse;
    return instruction;
  }
  instruction.execute = found->row->execute;
  const bool selects_itself = (found->row->accepts & modifier::kByteSelection) != 0;
  if (parsed.form == Form::plain || (parsed.form == Form::sdwa && selects_itself)) return instruction;
  Instruction& inner = inners.emplace_back(instruction);
  parsed.form == Form::dpp ? stage_dpp(inner) : stage_sdwa(inner);
  instruction.inner = &inner;
  instruction.execute = parsed.form == Form::dpp ? execute_dpp : execute_sdwa;
  return instruction;
}

Program::Program(const CodeObject& object, Memory& memory)
    : object_(object), memory_(memory), image_address_(memory.allocate(object.image.size(), object.name)) {
  memory_.write(image_address_, object_.image);
  for (const ImageRange& range : object_.read_only) {
    memory_.protect(image_address_ + range.begin, range.end - range.begin);
  }
  decode();
  resolve_branches();
}

Program::~Program() {
  memory_.release(image_address_);
}

void Program::decode() {
  const Disassembler disassemble(object_.generation);
  const auto code = std::span<const std::byte>(object_.image).subspan(object_.code_begin);
  const std::uint64_t size = object_.code_end - object_.code_begin;
  code_.address = image_address_ + object_.code_begin;
  code_.number.assign(size / 4, CodeMap::kNoInstruction);
  for (std::uint64_t at = 0; at + 4 <= size;) {
    Disassembled text = disassemble(code.subspan(at, size - at));
    const auto number = static_cast<std::uint32_t>(instructions_.size());
    Parsed parsed = parse(text.text);
    const std::optional<Found> found = find_row(parsed.mnemonic, object_.generation);
    const bool is_atomic = found && found->family == Family::atomic;
    ordered_.push_back(is_atomic && (found->row->order_matters || parsed.instruction.sc0));
    families_.push_back(found ? found->family : Family::control);
    Instruction instruction = bind(std::move(parsed), object_.generation, inners_);
    instruction.number = number;
    known_.push_back(instruction.execute != refuse);
    instructions_.push_back(instruction);
    texts_.push_back(std::move(text.text));
    code_.number[at / 4] = number;
    code_.dword.push_back(static_cast<std::uint32_t>(at / 4));
    at += std::max<std::size_t>(text.bytes, 4);
  }
  code_.dword.push_back(static_cast<std::uint32_t>(size / 4));
  obey_register_indexing();
}

/// Programs that never turn the mode on do not pay for it.
void Program::obey_register_indexing() {
  const bool is_used = std::any_of(texts_.begin(), texts_.end(),
                                   [](const std::string& text) { return text.starts_with("s_set_gpr_idx_on"); });
  for (Instruction& instruction : instructions_) {
    const Family family = families_[instruction.number];
    if (!is_used || (family != Family::vector && family != Family::matrix)) continue;
    instruction = with_register_indexing(instruction, parse(texts_[instruction.number]).mnemonic, inners_);
  }
}

void Program::resolve_branches() {
  for (Instruction& instruction : instructions_) {
    if (!is_branch(texts_[instruction.number])) continue;
    const auto displacement = static_cast<std::int16_t>(instruction.operands[0].literal);
    const std::int64_t dword = std::int64_t{code_.dword[instruction.number + 1]} + displacement;
    const bool inside = dword >= 0 && dword < static_cast<std::int64_t>(code_.number.size());
    const std::uint32_t target = inside ? code_.number[static_cast<std::size_t>(dword)] : CodeMap::kNoInstruction;
    instruction.target = target;
    if (target != CodeMap::kNoInstruction) continue;
    instruction.execute = refuse;
    known_[instruction.number] = false;
  }
}

std::uint64_t Program::address(std::uint32_t number) const {
  return object_.code_begin + std::uint64_t{4} * code_.dword[number];
}

std::string Program::place(std::uint32_t number) const {
  const std::string line = object_.lines.at(address(number));
  return fmt::format("{}{}{:#x}: {}", line, line.empty() ? "" : ": ", address(number), text(number));
}

std::uint32_t Program::entry(const Kernel& kernel) const {
  // Firmware that preloads arguments skips what would do so instead: LLVM, "Preloaded Kernel Arguments".
  const std::uint64_t skipped = kernel.initial.preloaded_dwords > 0 ? 256 : 0;
  const std::uint64_t dword = (kernel.entry + skipped - object_.code_begin) / 4;
  const std::uint32_t number = dword < code_.number.size() ? code_.number[dword] : CodeMap::kNoInstruction;
  if (number == CodeMap::kNoInstruction) throw Failure("kernel {} begins where no instruction does", kernel.name);
  return number;
}

std::uint32_t Program::end(const Kernel& kernel) const {
  std::uint32_t number = entry(kernel);
  while (number < instructions_.size() && address(number) < kernel.entry + kernel.code_bytes) ++number;
  return number;
}

std::optional<std::uint32_t> Program::branch_target(std::uint32_t number) const {
  const std::uint32_t target = instructions_[number].target;
  if (!is_branch(texts_[number]) || target == CodeMap::kNoInstruction) return std::nullopt;
  return target;
}

bool Program::order_matters(const Kernel& kernel) const {
  const auto first = ordered_.begin() + entry(kernel);
  const auto last = ordered_.begin() + end(kernel);
  if (std::find(first, last, true) != last) return true;
  const bool any = std::find(ordered_.begin(), ordered_.end(), true) != ordered_.end();
  const auto calls = [](const std::string& text) { return text.starts_with("s_swappc_b64"); };  // what may have them
  return any && std::any_of(texts_.begin() + entry(kernel), texts_.begin() + end(kernel), calls);
}

}  // namespace octet::sim
