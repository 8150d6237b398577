#include "sim/tool/buffer_contents.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numbers>
#include <random>

#include "core/error.h"
#include "sim/semantics/small_floats.h"
#include "sim/tool/numbers.h"

namespace octet::sim {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 34;  // bytes

/// Normal numbers by the method of Box and Muller: what the standard library's distribution gives is its own affair.
class NormalNumbers {
 public:
  explicit NormalNumbers(std::uint64_t seed) : engine_(seed) {}
  float next() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform()));
  }

 private:
  double uniform() { return std::ldexp(static_cast<double>((engine_() >> 11) + 1), -53); }  // above 0, up to 1

  std::mt19937_64 engine_;
};

/// "COUNT" or, where it may have a seed, "COUNT:SEED".
struct Amount {
  std::uint64_t count;
  std::uint64_t seed;
};

Amount parse_amount(const std::string& text, std::size_t bytes_each, bool has_seed, const std::string& word) {
  const std::size_t colon = has_seed ? text.find(':') : std::string::npos;
  const auto count = parse_number<std::uint64_t>(std::string_view(text).substr(0, colon));
  const auto seed = colon == std::string::npos ? std::optional<std::uint64_t>(0)
                                               : parse_number<std::uint64_t>(std::string_view(text).substr(colon + 1));
  if (!count || !seed || *count == 0 || *count > kLargest / bytes_each) {
    throw UserError("argument '{}': '{}' is no size: give 1 to {}{}", word, text, kLargest / bytes_each,
                    has_seed ? ", and after a colon a seed" : "");
  }
  return {*count, *seed};
}

/// `count` values of type T, each as `make()` gives it.
template <typename T, typename Make>
std::vector<std::byte> filled(std::uint64_t count, Make make) {
  std::vector<std::byte> bytes(count * sizeof(T));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<T>(make());
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

}  // namespace

std::optional<std::vector<std::byte>> buffer_contents(std::string_view kind, const std::string& text,
                                                      const std::string& word) {
  if (kind == "file") return read_file(text);
  if (kind == "zeros" || kind == "unwritten") return std::vector<std::byte>(parse_amount(text, 1, false, word).count);
  std::uint32_t next = 0;
  const auto counting = [&next] { return next++; };
  if (kind == "bytes") return filled<std::uint8_t>(parse_amount(text, 1, false, word).count, counting);
  if (kind == "range") return filled<std::uint32_t>(parse_amount(text, 4, false, word).count, counting);
  if (kind == "random") {
    const auto [count, seed] = parse_amount(text, 1, true, word);
    return filled<std::uint8_t>(count, [engine = std::mt19937_64(seed)]() mutable { return engine() >> 56; });
  }
  if (kind == "floats") {
    const auto [count, seed] = parse_amount(text, 4, true, word);
    return filled<float>(count, [numbers = NormalNumbers(seed)]() mutable { return numbers.next(); });
  }
  if (kind == "bf16") {
    const auto [count, seed] = parse_amount(text, 2, true, word);
    return filled<std::uint16_t>(count,
                                 [numbers = NormalNumbers(seed)]() mutable { return encode_bf16(numbers.next()); });
  }
  return std::nullopt;
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
