#include "sim/tool/buffer_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "sim/semantics/small_floats.h"
#include "sim/tool/numbers.h"

namespace octet::sim {
namespace {

struct Bf16 {
  std::uint16_t bits;
};

template <typename T>
nlohmann::ordered_json read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  if constexpr (std::is_same_v<T, Bf16>) {
    return decode_bf16(value.bits);
  } else {
    return value;
  }
}

struct ValueType {
  std::string_view name;
  std::size_t bytes;
  nlohmann::ordered_json (*read)(std::span<const std::byte>);
};
template <typename T>
constexpr ValueType value_type(std::string_view name) {
  return {name, sizeof(T), read<T>};
}
constexpr std::array<ValueType, 11> kTypes{
    value_type<std::uint8_t>("u8"),   value_type<std::int8_t>("i8"),    value_type<std::uint16_t>("u16"),
    value_type<std::int16_t>("i16"),  value_type<std::uint32_t>("u32"), value_type<std::int32_t>("i32"),
    value_type<std::uint64_t>("u64"), value_type<std::int64_t>("i64"),  value_type<Bf16>("bf16"),
    value_type<float>("f32"),         value_type<double>("f64")};

const ValueType* find_type(std::string_view name) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const ValueType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

}  // namespace

ValueRequest parse_value_request(const std::string& word, const LaunchArguments& arguments) {
  const std::size_t first = std::min(word.find(':'), word.size());
  const std::size_t second = std::min(word.find(':', first + 1), word.size());
  const auto argument = parse_number<std::size_t>(std::string_view(word).substr(0, first));
  std::string type = first < word.size() ? word.substr(first + 1, second - first - 1) : std::string();
  const auto count = second == word.size() ? std::optional<std::uint64_t>(8)
                                           : parse_number<std::uint64_t>(std::string_view(word).substr(second + 1));
  if (!argument || !count || find_type(type) == nullptr) {
    throw UserError("--print '{}' is not understood: give ARGUMENT:TYPE:COUNT, such as 2:f32:8", word);
  }
  const auto buffer = std::find_if(arguments.buffers.begin(), arguments.buffers.end(),
                                   [&](const ArgumentBuffer& candidate) { return candidate.argument == *argument; });
  if (buffer == arguments.buffers.end()) {
    throw UserError("--print '{}': argument {} is no buffer: give the number of one, counting from 0", word, *argument);
  }
  return {&*buffer, std::move(type), *count};
}

nlohmann::ordered_json buffer_values(const ValueRequest& request, const Memory& memory) {
  const ValueType& type = *find_type(request.type);
  std::vector<std::byte> bytes(type.bytes);
  nlohmann::ordered_json values = nlohmann::json::array();
  const std::uint64_t count = std::min(request.count, request.buffer->size / type.bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    memory.read(request.buffer->address + i * type.bytes, bytes);
    values.push_back(type.read(bytes));
  }
  return values;
}

std::string values_text(const ValueRequest& request, const nlohmann::ordered_json& values) {
  const std::string& name = request.buffer->name;
  const std::string number = fmt::format("argument {}", request.buffer->argument);
  std::string text = name == number ? number + ":" : fmt::format("{} ({}):", number, name);
  for (const nlohmann::ordered_json& value : values) {
    const bool is_narrow = value.is_number_float() && request.type != "f64";  // as short as its type allows
    text += ' ';
    text += is_narrow ? fmt::format("{}", value.get<float>()) : value.dump();
  }
  return text + '\n';
}

}  // namespace octet::sim
