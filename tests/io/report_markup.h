// A small strict reader of markup, to prove that the report is well formed and holds no element it should not.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace octet::io::testing {

struct Markup {
  std::string fault;  // the first breach of well-formedness, empty when there is none
  std::set<std::string> elements;
  std::set<std::string> attributes;
};

/// Wants every element closed in order (void elements apart), attributes in double quotes and once per element, and no
/// bare <, > or &. The content of <style> is skipped.
[[nodiscard]] Markup read_markup(std::string_view html);

}  // namespace octet::io::testing
