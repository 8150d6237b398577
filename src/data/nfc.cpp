// Normalization Form C through utf8proc, and the ranges of characters for which it need not be asked.
#include "data/nfc.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "data/utf8.h"

namespace octet {
namespace {

/// Characters that are their own form, whose combining class is 0 and that are the second half of no composition
/// (Unicode's quick check says Yes for them). The ranges that most texts are written in, not all there are.
bool never_changes(char32_t c) {
  return c < 0x300 || (c >= 0x400 && c <= 0x482) || (c >= 0x2002 && c <= 0x20CF) || (c >= 0x3001 && c <= 0x3029) ||
         (c >= 0x3030 && c <= 0x3098) || (c >= 0x30A0 && c <= 0x30FF) || (c >= 0x3400 && c <= 0xA48F) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xFF00 && c <= 0xFFEF) || (c >= 0x1F300 && c <= 0x1FAFF);
}

}  // namespace

bool plainly_nfc(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (static_cast<unsigned char>(text[i]) < 0xCC) {  // a first byte of something below U+0300, or a second one
      ++i;
      continue;
    }
    std::size_t size = 0;
    if (!never_changes(first_character(text.substr(i), size))) return false;
    i += size;
  }
  return true;
}

std::string to_nfc(std::string_view text) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &bytes, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(bytes, &std::free);
  if (size < 0) throw Failure("Unicode normalisation of {} bytes: {}", text.size(), utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

}  // namespace octet
