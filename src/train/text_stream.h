// Generated text on its way to whoever reads it: nothing is shown that a stop text may take back, and no half of a
// character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

class TextStream {
 public:
  /// `stops`: texts, none of them empty, before which the text ends.
  explicit TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds what a token stands for. Returns what may be shown now: all but an end that begins a stop text or a UTF-8
  /// character. What is no UTF-8 is shown as it is. After a stop text nothing more comes.
  [[nodiscard]] std::string push(std::string_view piece);
  /// What was held back, where no stop text has come of it.
  [[nodiscard]] std::string finish();

  [[nodiscard]] bool stopped() const { return !stop_.empty(); }
  /// The stop text that was whole first, the longest where several end at one place; empty before.
  [[nodiscard]] const std::string& stop() const { return stop_; }

 private:
  /// Bytes at the end of held_ that must not be shown yet.
  [[nodiscard]] std::size_t undecided() const;

  std::vector<std::string> stops_;
  std::string held_;
  std::string stop_;
};

}  // namespace octet
