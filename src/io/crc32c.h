// CRC32C, the checksum of TFRecord files.
#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// The CRC of RFC 3720 (polynomial 0x1EDC6F41, bits reflected, all ones before and after) of `bytes`.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace octet
