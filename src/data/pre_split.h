// Splits text into the words that byte-level BPE merges within, by regular expressions, one stage after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

/// What becomes of a match; the names are those of tokenizer.json.
enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

/// One stage. It sees each piece that the stage before it made as a text of its own.
struct SplitStage {
  std::string pattern;  ///< as tokenizer.json has it; empty: the stage only puts a space before a piece without one
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  ///< what lies between matches counts as match, and the other way round
};

/// The stages, compiled. Shared by threads, of which each has a Scratch of its own.
class PreSplit {
 public:
  /// Throws UserError for a pattern that is not understood or that matches nothing at all.
  explicit PreSplit(std::vector<SplitStage> stages);
  ~PreSplit();

  /// What matching writes to.
  class Scratch {
   public:
    explicit Scratch(const PreSplit& split);
    Scratch(Scratch&&) noexcept;
    ~Scratch();

   private:
    friend class PreSplit;
    struct Stage;
    std::vector<Stage> stages_;
  };

  /// Calls `emit(word)` for each word of `text`, valid UTF-8, in order. A word may lie in `scratch`: it lasts for the
  /// call. Throws UserError where a pattern exceeds its match limit.
  template <typename Emit>
  void split(std::string_view text, Scratch& scratch, Emit&& emit) const {
    if (!text.empty()) split_from(0, text, scratch, emit);
  }

  [[nodiscard]] const std::vector<SplitStage>& stages() const { return stages_; }

 private:
  struct Compiled;
  struct Range {
    std::size_t begin, end;
    bool match;
  };

  template <typename Emit>
  void split_from(std::size_t stage, std::string_view text, Scratch& scratch, Emit& emit) const {
    if (stage == stages_.size()) return emit(text);
    if (stages_[stage].pattern.empty()) {
      return split_from(stage + 1, with_space(stage, text, scratch), scratch, emit);
    }
    const SplitBehavior behavior = stages_[stage].behavior;
    if (behavior == SplitBehavior::isolated || behavior == SplitBehavior::removed) {
      std::size_t at = 0;
      for (Range range{}; next(stage, text, at, scratch, range); at = range.end) {
        if (behavior == SplitBehavior::removed && range.match) continue;
        split_from(stage + 1, text.substr(range.begin, range.end - range.begin), scratch, emit);
      }
      return;
    }
    for (const auto& [begin, end] : merged(stage, text, scratch)) {
      split_from(stage + 1, text.substr(begin, end - begin), scratch, emit);
    }
  }

  /// The match at or after `at`, or what lies before it; false at the end of the text.
  bool next(std::size_t stage, std::string_view text, std::size_t at, Scratch& scratch, Range& range) const;
  /// The pieces of the behaviours that join a match with what is beside it.
  std::vector<std::pair<std::size_t, std::size_t>> merged(std::size_t stage, std::string_view text,
                                                          Scratch& scratch) const;
  static std::string_view with_space(std::size_t stage, std::string_view text, Scratch& scratch);

  std::vector<SplitStage> stages_;
  std::vector<std::unique_ptr<Compiled>> compiled_;
};

}  // namespace octet
