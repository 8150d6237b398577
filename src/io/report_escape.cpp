// The five characters with a meaning in HTML, and those that have no place in it.
#include "io/report_escape.h"

namespace octet::io {

std::string escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '&') {
      safe += "&amp;";
    } else if (byte == '<') {
      safe += "&lt;";
    } else if (byte == '>') {
      safe += "&gt;";
    } else if (byte == '"') {
      safe += "&quot;";
    } else if (byte == '\'') {
      safe += "&#39;";
    } else if ((code < 0x20 && byte != '\t' && byte != '\n') || code == 0x7F) {
      safe += "\xEF\xBF\xBD";
    } else {
      safe += byte;
    }
  }
  return safe;
}

}  // namespace octet::io
