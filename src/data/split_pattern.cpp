// One pass over an Oniguruma pattern that copies what PCRE2 reads alike and rewrites or refuses the rest.
#include "data/split_pattern.h"

#include <array>
#include <cctype>
#include <string>

#include "core/error.h"
#include "io/text.h"

namespace octet {
namespace {

// Unicode's White_Space. PCRE2's own \s has U+180E too, which lost the property long ago.
constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

constexpr std::array<std::string_view, 7> kGroups = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      switch (pattern_[at_]) {
        case '\\':
          escape(/*in_class=*/false);
          break;
        case '[':
          character_class();
          break;
        case '(':
          group();
          break;
        case '{':
          interval();
          break;
        case '^':
        case '$':
          refuse(pattern_.substr(at_, 1));
        default:
          copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view construct) const {
    throw UserError("the pattern \"{}\" has {}, which Octet does not read in patterns", printable(pattern_),
                    printable(construct));
  }

  void copy(std::size_t bytes) {
    out_ += pattern_.substr(at_, bytes);
    at_ += bytes;
  }

  void replace(std::size_t bytes, std::string_view by) {
    out_ += by;
    at_ += bytes;
  }

  void escape(bool in_class) {
    if (at_ + 1 == pattern_.size()) refuse("a backslash at its end");
    const char c = pattern_[at_ + 1];
    if (c == 's') {
      replace(2, in_class ? std::string(kWhiteSpace) : "[" + std::string(kWhiteSpace) + "]");
    } else if (c == 'S' && !in_class) {
      replace(2, "[^" + std::string(kWhiteSpace) + "]");
    } else if (c == 'd') {
      replace(2, R"(\p{Nd})");
    } else if (c == 'D') {
      replace(2, R"(\P{Nd})");
    } else if (c == 'v') {
      replace(2, R"(\x{b})");
    } else if (c == 'p' || c == 'P' || c == 'x') {
      braced();
    } else if (c == 'u') {
      code_unit();
    } else if (std::string_view("rntfae").find(c) != std::string_view::npos ||
               (static_cast<unsigned char>(c) < 0x80 && std::ispunct(static_cast<unsigned char>(c)) != 0)) {
      copy(2);
    } else {
      refuse(pattern_.substr(at_, 2));
    }
  }

  /// \p{...}, \P{...} and \x{...}
  void braced() {
    const std::size_t close = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || close == std::string_view::npos) refuse(pattern_.substr(at_, 2));
    copy(close + 1 - at_);
  }

  /// \uHHHH
  void code_unit() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      refuse(pattern_.substr(at_, 2));
    }
    replace(6, R"(\x{)" + std::string(digits) + "}");
  }

  void character_class() {
    copy(pattern_.substr(at_, 2) == "[^" ? 2 : 1);
    for (bool first = true;; first = false) {
      if (at_ == pattern_.size()) refuse("a class without its ]");
      const char c = pattern_[at_];
      if (c == ']' && first) refuse("an empty class");
      if (c == '[') refuse("a class within a class");
      if (pattern_.substr(at_, 2) == "&&") refuse("&&");
      if (c == '\\') {
        escape(/*in_class=*/true);
        continue;
      }
      copy(1);
      if (c == ']') return;
    }
  }

  void group() {
    if (pattern_.substr(at_, 2) != "(?") return copy(1);
    for (const std::string_view known : kGroups) {
      if (pattern_.substr(at_, known.size()) == known) return copy(known.size());
    }
    refuse(pattern_.substr(at_, 3));
  }

  /// {n}, {n,} and {n,m}, of which the two libraries read what may follow, + and ?, differently.
  void interval() {
    std::size_t end = at_ + 1;
    const auto digits = [&] {
      const std::size_t from = end;
      while (end < pattern_.size() && is_digit(pattern_[end])) ++end;
      return end > from;
    };
    if (!digits()) refuse("{ without a number");
    if (end < pattern_.size() && pattern_[end] == ',') {
      ++end;
      digits();
    }
    if (end == pattern_.size() || pattern_[end] != '}') refuse("{ that is no repetition");
    copy(end + 1 - at_);
    if (at_ < pattern_.size() && (pattern_[at_] == '+' || pattern_[at_] == '?' || pattern_[at_] == '*')) {
      refuse(std::string("}") + pattern_[at_]);
    }
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string pcre2_pattern(std::string_view pattern) {
  return Translation(pattern).run();
}

}  // namespace octet
