// Stages of splitting through PCRE2: 8-bit units, UTF-8, Unicode's properties, compiled to machine code where it can.
#include "data/pre_split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"
#include "data/split_pattern.h"
#include "io/text.h"

namespace octet {

// Owners of PCRE2's objects.
namespace pcre2 {

template <auto Free>
struct Freeing {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Freeing<Free>>;

using Code = Owned<pcre2_code, pcre2_code_free>;
using MatchData = Owned<pcre2_match_data, pcre2_match_data_free>;
using MatchContext = Owned<pcre2_match_context, pcre2_match_context_free>;
using JitStack = Owned<pcre2_jit_stack, pcre2_jit_stack_free>;

}  // namespace pcre2

namespace {

constexpr std::uint32_t kMatchLimit = 50'000'000;  // backtracking points of one match: about a second
constexpr std::size_t kJitStackStart = std::size_t{32} << 10, kJitStackLimit = std::size_t{4} << 20;

std::string pcre2_message(int code) {
  std::array<unsigned char, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

pcre2::Code compile(const std::string& pattern) {
  const std::string translated = pcre2_pattern(pattern);
  int error = 0;
  std::size_t at = 0;
  pcre2::Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                 PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
  if (!code) throw UserError("the pattern \"{}\" does not compile: {}", printable(pattern), pcre2_message(error));
  std::uint32_t matches_nothing = 0;
  pcre2_pattern_info(code.get(), PCRE2_INFO_MATCHEMPTY, &matches_nothing);
  if (matches_nothing != 0) {
    throw UserError("the pattern \"{}\" matches the empty text, which splits nothing", printable(pattern));
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // where the processor has no JIT, matching interprets the pattern
  return code;
}

}  // namespace

struct PreSplit::Compiled {
  pcre2::Code code;  // none for a stage without a pattern
};

struct PreSplit::Scratch::Stage {
  pcre2::MatchData match;
  pcre2::MatchContext context;
  pcre2::JitStack stack;
  std::size_t begin = 0, end = 0;  // the match that was found while something before it was returned
  std::string spaced;
};

PreSplit::PreSplit(std::vector<SplitStage> stages) : stages_(std::move(stages)) {
  for (const SplitStage& stage : stages_) {
    compiled_.push_back(std::make_unique<Compiled>(Compiled{stage.pattern.empty() ? nullptr : compile(stage.pattern)}));
  }
}
PreSplit::~PreSplit() = default;

PreSplit::Scratch::Scratch(const PreSplit& split) {
  for (const auto& compiled : split.compiled_) {
    Stage& stage = stages_.emplace_back();
    if (!compiled->code) continue;
    stage.match.reset(pcre2_match_data_create_from_pattern(compiled->code.get(), nullptr));
    stage.context.reset(pcre2_match_context_create(nullptr));
    stage.stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr));
    if (!stage.match || !stage.context || !stage.stack) throw std::bad_alloc();
    pcre2_set_match_limit(stage.context.get(), kMatchLimit);
    pcre2_jit_stack_assign(stage.context.get(), nullptr, stage.stack.get());
  }
}
PreSplit::Scratch::Scratch(Scratch&&) noexcept = default;
PreSplit::Scratch::~Scratch() = default;

bool PreSplit::next(std::size_t stage, std::string_view text, std::size_t at, Scratch& scratch, Range& range) const {
  if (at == text.size()) return false;
  Scratch::Stage& state = scratch.stages_[stage];
  const bool inverted = stages_[stage].invert;
  if (at == 0) state.begin = 0;       // a text before this one may have ended early
  if (at > 0 && at == state.begin) {  // found by the call before
    range = {state.begin, state.end, !inverted};
    state.begin = 0;
    return true;
  }
  const int found = pcre2_match(compiled_[stage]->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                at, PCRE2_NO_UTF_CHECK, state.match.get(), state.context.get());
  if (found == PCRE2_ERROR_NOMATCH) {
    range = {at, text.size(), inverted};
    return true;
  }
  if (found < 0) {
    throw UserError("the pattern \"{}\" cannot split a text of {} bytes beyond byte {}: {}",
                    printable(stages_[stage].pattern), text.size(), at, pcre2_message(found));
  }
  const std::size_t* bounds = pcre2_get_ovector_pointer(state.match.get());
  state.begin = bounds[0];
  state.end = bounds[1];
  check(state.end > state.begin && state.begin >= at, "a match is not empty and not before its beginning");
  if (state.begin > at) {
    range = {at, state.begin, inverted};
  } else {
    range = {at, state.end, !inverted};
    state.begin = 0;
  }
  return true;
}

std::vector<std::pair<std::size_t, std::size_t>> PreSplit::merged(std::size_t stage, std::string_view text,
                                                                  Scratch& scratch) const {
  std::vector<Range> ranges;
  std::size_t at = 0;
  for (Range range{}; next(stage, text, at, scratch, range); at = range.end) ranges.push_back(range);
  const SplitBehavior behavior = stages_[stage].behavior;
  const bool backwards = behavior == SplitBehavior::merged_with_next;
  if (backwards) std::reverse(ranges.begin(), ranges.end());

  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  bool match_before = false;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Range& range = ranges[i];
    const bool joins =
        behavior == SplitBehavior::contiguous ? range.match == match_before : range.match && !match_before;
    if (i > 0 && joins) {
      pieces.back().first = std::min(pieces.back().first, range.begin);
      pieces.back().second = std::max(pieces.back().second, range.end);
    } else {
      pieces.emplace_back(range.begin, range.end);
    }
    match_before = range.match;
  }
  if (backwards) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::string_view PreSplit::with_space(std::size_t stage, std::string_view text, Scratch& scratch) {
  if (text.front() == ' ') return text;
  std::string& spaced = scratch.stages_[stage].spaced;
  spaced.assign(1, ' ').append(text);
  return spaced;
}

}  // namespace octet
