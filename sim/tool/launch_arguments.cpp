#include "sim/tool/launch_arguments.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "core/error.h"

namespace octet::sim {
namespace {

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
std::vector<std::byte> value_bytes(std::string_view text, const std::string& word) {
  const std::optional<T> value = number<T>(text);
  if (!value) throw UserError("argument '{}': '{}' is no such value: give one like f32=0.5 or u32=7", word, text);
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &*value, sizeof(T));
  return bytes;
}

/// The contents of a buffer that a word asks for; nothing when it asks for none.
std::optional<std::vector<std::byte>> buffer_contents(std::string_view kind, const std::string& text,
                                                      const std::string& word) {
  if (kind == "file") return read_file(text);
  if (kind != "zeros" && kind != "bytes" && kind != "unwritten") return std::nullopt;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 34;
  const std::optional<std::uint64_t> size = number<std::uint64_t>(text);
  if (!size || *size == 0 || *size > kLargest) {
    throw UserError("argument '{}': '{}' is no size: give bytes, 1 to {}", word, text, kLargest);
  }
  std::vector<std::byte> bytes(*size);
  for (std::size_t i = 0; kind == "bytes" && i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

std::vector<std::byte> plain_value(std::string_view kind, std::string_view text, const std::string& word) {
  if (kind == "i32") return value_bytes<std::int32_t>(text, word);
  if (kind == "u32") return value_bytes<std::uint32_t>(text, word);
  if (kind == "i64") return value_bytes<std::int64_t>(text, word);
  if (kind == "u64") return value_bytes<std::uint64_t>(text, word);
  if (kind == "f32") return value_bytes<float>(text, word);
  throw UserError(
      "argument '{}' is not understood: give i32=, u32=, i64=, u64=, f32=, zeros=, bytes=, unwritten= or file=", word);
}

std::vector<std::byte> argument_bytes(const std::string& word, const std::string& name, Memory& memory,
                                      std::vector<ArgumentBuffer>& buffers) {
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
  buffers.push_back({address, contents->size(), std::move(output)});
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
    const std::vector<std::byte> bytes = argument_bytes(words[i], name, memory, arguments.buffers);
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
    const std::optional<std::uint32_t> size = number<std::uint32_t>(rest.substr(0, comma));
    if (!size || *size == 0) break;
    sizes[i] = *size;
    if (comma == std::string_view::npos) return {sizes[0], sizes[1], sizes[2]};
    rest.remove_prefix(comma + 1);
  }
  throw UserError("{} '{}' is no extent: give x, x,y or x,y,z, each at least 1", what, text);
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string characters{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw UserError("{}: cannot be read: give a file that exists", path.string());
  std::vector<std::byte> bytes(characters.size());
  std::memcpy(bytes.data(), characters.data(), bytes.size());
  return bytes;
}

}  // namespace octet::sim
