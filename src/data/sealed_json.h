// JSON files that carry a version and a checksum of themselves, and strict access to their fields.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace octet {

/// Writes `content`, an object, with "version" before and "checksum" behind it, atomically (io/files.h). The checksum
/// is XXH3-64 of the compact text of all other fields.
void write_sealed_json(const std::filesystem::path& path, int version, const nlohmann::ordered_json& content);

/// Reads what write_sealed_json() wrote. Throws UserError, naming the file, for one that is missing, of more than 64
/// MiB, no JSON object, of another version, or does not match its checksum.
[[nodiscard]] nlohmann::ordered_json read_sealed_json(const std::filesystem::path& path, int version);

/// A field of `object` that must be there and of that type: unsigned, a text, sixteen hexadecimal digits, an array.
/// Throw UserError that says which is not; whoever knows the file names it.
[[nodiscard]] std::uint64_t unsigned_field(const nlohmann::ordered_json& object, const char* name);
[[nodiscard]] std::string text_field(const nlohmann::ordered_json& object, const char* name);
[[nodiscard]] std::uint64_t hex_field(const nlohmann::ordered_json& object, const char* name);
[[nodiscard]] const nlohmann::ordered_json& object_field(const nlohmann::ordered_json& object, const char* name);
[[nodiscard]] const nlohmann::ordered_json& array_field(const nlohmann::ordered_json& object, const char* name);

/// The sixteen digits that hex_field() reads.
[[nodiscard]] std::string hex_text(std::uint64_t value);

}  // namespace octet
