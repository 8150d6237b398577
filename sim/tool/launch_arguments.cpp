#include "sim/tool/launch_arguments.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "sim/tool/buffer_contents.h"
#include "sim/tool/numbers.h"

namespace octet::sim {
namespace {

/// The bytes of a value; nothing where the text is none of its type.
template <typename T>
std::optional<std::vector<std::byte>> value_bytes(std::string_view text) {
  const std::optional<T> value = parse_number<T>(text);
  if (!value) return std::nullopt;
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &*value, sizeof(T));
  return bytes;
}

struct ValueKind {
  std::string_view name;
  std::optional<std::vector<std::byte>> (*bytes)(std::string_view);
};
constexpr std::array<ValueKind, 10> kValueKinds{{{"u8", value_bytes<std::uint8_t>},
                                                 {"i8", value_bytes<std::int8_t>},
                                                 {"u16", value_bytes<std::uint16_t>},
                                                 {"i16", value_bytes<std::int16_t>},
                                                 {"u32", value_bytes<std::uint32_t>},
                                                 {"i32", value_bytes<std::int32_t>},
                                                 {"u64", value_bytes<std::uint64_t>},
                                                 {"i64", value_bytes<std::int64_t>},
                                                 {"f32", value_bytes<float>},
                                                 {"f64", value_bytes<double>}}};

std::vector<std::byte> plain_value(std::string_view kind, std::string_view text, const std::string& word) {
  const auto* const found = std::find_if(kValueKinds.begin(), kValueKinds.end(),
                                         [&](const ValueKind& candidate) { return candidate.name == kind; });
  if (found == kValueKinds.end()) {
    throw UserError(
        "argument '{}' is not understood: give a value (u8= to u64=, i8= to i64=, f32=, f64=) or a buffer (zeros=, "
        "bytes=, range=, random=, floats=, bf16=, file=, unwritten=)",
        word);
  }
  std::optional<std::vector<std::byte>> bytes = found->bytes(text);
  if (!bytes) throw UserError("argument '{}': '{}' is no such value: give one like f32=0.5 or u32=7", word, text);
  return std::move(*bytes);
}

std::vector<std::byte> argument_bytes(const std::string& word, std::size_t argument, const std::string& name,
                                      Memory& memory, std::vector<ArgumentBuffer>& buffers) {
  const std::size_t equals = word.find('=');
  const std::size_t arrow = word.find('>');
  if (equals == std::string::npos) return plain_value("", "", word);
  const std::string kind = word.substr(0, equals);
  const std::string text = word.substr(equals + 1, arrow == std::string::npos ? arrow : arrow - equals - 1);
  const auto contents = buffer_contents(kind, text, word);
  if (!contents) return plain_value(kind, std::string_view(word).substr(equals + 1), word);
  const std::uint64_t address = memory.allocate(contents->size(), name);
  if (kind != "unwritten") memory.write(address, *contents);
  std::optional<std::filesystem::path> output;
  if (arrow != std::string::npos) output = word.substr(arrow + 1);
  buffers.push_back({argument, name, address, contents->size(), std::move(output)});
  std::vector<std::byte> bytes(sizeof(address));
  std::memcpy(bytes.data(), &address, sizeof(address));
  return bytes;
}

}  // namespace

LaunchArguments parse_arguments(const Kernel& kernel, const std::vector<std::string>& words, Memory& memory) {
  std::vector<const Argument*> wanted;
  for (const Argument& argument : kernel.arguments) {
    if (!argument.kind.starts_with("hidden_")) wanted.push_back(&argument);
  }
  if (words.size() != wanted.size()) {
    throw UserError("kernel {} takes {} arguments, not {}: give --arg for each", kernel.name, wanted.size(),
                    words.size());
  }
  LaunchArguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Argument& argument = *wanted[i];
    const std::string name = argument.name.empty() ? fmt::format("argument {}", i) : argument.name;
    const std::vector<std::byte> bytes = argument_bytes(words[i], i, name, memory, arguments.buffers);
    if (bytes.size() != argument.size) {
      throw UserError("argument '{}': kernel {} takes {} bytes here, not {}: give another kind of value", words[i],
                      kernel.name, argument.size, bytes.size());
    }
    arguments.packed.resize(argument.offset);
    arguments.packed.insert(arguments.packed.end(), bytes.begin(), bytes.end());
  }
  return arguments;
}

Extent parse_extent(const std::string& text, const char* what) {
  std::array<std::uint32_t, 3> sizes{1, 1, 1};
  std::string_view rest = text;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t comma = rest.find(',');
    const std::optional<std::uint32_t> size = parse_number<std::uint32_t>(rest.substr(0, comma));
    if (!size || *size == 0) break;
    sizes[i] = *size;
    if (comma == std::string_view::npos) return {sizes[0], sizes[1], sizes[2]};
    rest.remove_prefix(comma + 1);
  }
  throw UserError("{} '{}' is no extent: give x, x,y or x,y,z, each at least 1", what, text);
}

}  // namespace octet::sim
