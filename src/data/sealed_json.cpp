// Seals JSON with a checksum, and reads it back without trusting it.
#include "data/sealed_json.h"

#include <xxhash.h>

#include <charconv>
#include <system_error>

#include "core/error.h"
#include "io/files.h"

namespace octet {
namespace {

using nlohmann::ordered_json;

std::string seal_of(const ordered_json& content) {
  const std::string text = content.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return hex_text(XXH3_64bits(text.data(), text.size()));
}

const ordered_json& field_of(const ordered_json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) throw UserError("there is no field {}", name);
  return *found;
}

}  // namespace

void write_sealed_json(const std::filesystem::path& path, int version, const ordered_json& content) {
  ordered_json sealed = {{"version", version}};
  sealed.update(content);
  sealed["checksum"] = seal_of(sealed);
  write_file_atomically(path, sealed.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

ordered_json read_sealed_json(const std::filesystem::path& path, int version) {
  constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;
  std::error_code unknown;  // reading says what is wrong
  if (const auto bytes = std::filesystem::file_size(path, unknown); !unknown && bytes > kMaxBytes) {
    throw UserError("{}: {} bytes are more than the {} that it may have: name another file", path.string(), bytes,
                    kMaxBytes);
  }
  constexpr bool kThrows = false;
  ordered_json content = ordered_json::parse(read_file(path), nullptr, kThrows);
  if (!content.is_object()) throw UserError("{}: is damaged: it is no JSON object", path.string());
  try {
    if (const std::uint64_t found = unsigned_field(content, "version"); found != static_cast<std::uint64_t>(version)) {
      throw UserError("version {} is unknown, this octet reads {}", found, version);
    }
    const std::string seal = text_field(content, "checksum");
    content.erase("checksum");
    if (seal != seal_of(content)) throw UserError("is damaged or was edited: its checksum does not match");
  } catch (const UserError& error) {
    throw UserError("{}: {}", path.string(), error.what());
  }
  return content;
}

std::uint64_t unsigned_field(const ordered_json& object, const char* name) {
  const ordered_json& field = field_of(object, name);
  if (!field.is_number_unsigned()) throw UserError("{} is not a count", name);
  return field.get<std::uint64_t>();
}

std::string text_field(const ordered_json& object, const char* name) {
  const ordered_json& field = field_of(object, name);
  if (!field.is_string()) throw UserError("{} is not a text", name);
  return field.get<std::string>();
}

std::uint64_t hex_field(const ordered_json& object, const char* name) {
  const std::string text = text_field(object, name);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || text != hex_text(value)) throw UserError("{} is not sixteen hexadecimal digits", name);
  return value;
}

const ordered_json& object_field(const ordered_json& object, const char* name) {
  const ordered_json& field = field_of(object, name);
  if (!field.is_object()) throw UserError("{} is not an object", name);
  return field;
}

const ordered_json& array_field(const ordered_json& object, const char* name) {
  const ordered_json& field = field_of(object, name);
  if (!field.is_array()) throw UserError("{} is not a list", name);
  return field;
}

std::string hex_text(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace octet
