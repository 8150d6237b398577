// Safetensors files put together by hand, so that reader tests do not rest on the writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace octet {

/// Length, header, data: `header` as it stands, right or wrong.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string file;
  for (std::uint64_t length = header.size(), i = 0; i < 8; ++i) {
    file += static_cast<char>(length & 0xFFU);
    length >>= 8U;
  }
  return file.append(header).append(data);
}

/// Two tensors and a line of metadata; 12 bytes of data.
inline constexpr std::string_view valid_header =
    R"({"__metadata__":{"note":"x"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}})";
inline constexpr std::string_view valid_data = "ABCDEFGHijkl";

}  // namespace octet
