// Finds paragraph, line and character ends.
#include "data/text_boundary.h"

#include <algorithm>

#include "core/error.h"

namespace octet {

std::size_t text_boundary(std::string_view text, std::size_t target) {
  check(target >= 1 && target <= text.size(), "a cut lies inside its text");
  if (target == text.size()) return target;

  constexpr std::size_t kLookBack = std::size_t{1} << 16;
  const std::size_t start = target - std::min(target, kLookBack);
  const std::string_view near = text.substr(start, target - start);
  for (const std::string_view end : {"\n\n", "\n"}) {
    if (const auto at = near.rfind(end); at != std::string_view::npos) return start + at + end.size();
  }
  // A UTF-8 character has at most three continuation bytes (10xxxxxx); more of them means that this is no UTF-8.
  for (std::size_t cut = target; cut >= 1 && cut + 3 >= target; --cut) {
    if ((static_cast<unsigned char>(text[cut]) & 0xC0U) != 0x80U) return cut;
  }
  return target;
}

}  // namespace octet
