// MessagePack, in which code objects carry their metadata, into JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace octet::sim {

/// nlohmann::json::exception for bytes that are no MessagePack, or that nest deeper than metadata does.
[[nodiscard]] nlohmann::json read_msgpack(std::span<const std::byte> bytes);

}  // namespace octet::sim
