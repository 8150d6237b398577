// The JSON header of a safetensors file.
#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "core/error.h"
#include "io/text.h"

namespace octet {
namespace {

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::size_t header_alignment = 8;

/// Receives the parser's events. The format has a fixed depth (object, entry, list), so a hostile nesting ends at its
/// first bracket too many and nothing recurses.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(std::string_view file) : file_(file) {}

  [[nodiscard]] SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::root;
    } else if (place_ == Place::root_value) {
      place_ = key_ == metadata_key ? Place::metadata : Place::entry;
      entry_ = {};
    } else {
      reject("an object stands where the format has none");
    }
    return true;
  }

  bool key(std::string& name) override {
    if (place_ == Place::root) {
      if (!names_.insert(name).second) reject("the name occurs twice", name);
      place_ = Place::root_value;
      key_ = name;
    } else {
      field_ = name;
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry) finish_entry();
    place_ = place_ == Place::root ? Place::outside : Place::root;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry) reject("a list stands where the format has none");
    if (field_ == "shape") {
      start_list(entry_.shape);
    } else if (field_ == "data_offsets") {
      start_list(entry_.offsets);
    } else {
      reject(fmt::format("unexpected list \"{}\"", printable(field_)));
    }
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::list) reject("a number stands where the format has none");
    list_->push_back(value);
    return true;
  }

  bool end_array() override {
    place_ = Place::entry;
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      if (!header_.metadata.emplace(field_, text).second) {
        reject(fmt::format("the key \"{}\" occurs twice", printable(field_)));
      }
    } else if (place_ == Place::entry && field_ == "dtype" && !entry_.dtype) {
      entry_.dtype = dtype_named(text);
    } else {
      reject(fmt::format("unexpected or repeated string \"{}\"", printable(text)));
    }
    return true;
  }

  bool null() override { reject("a null stands where the format has none"); }
  bool boolean(bool) override { reject("true or false stands where the format has none"); }
  bool number_integer(std::int64_t value) override { reject(fmt::format("a negative number {}", value)); }
  bool number_float(double, const std::string& text) override {
    reject(fmt::format("{} is not a 64-bit whole number", printable(text)));
  }
  bool binary(nlohmann::json::binary_t&) override { reject("binary data stands where the format has none"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw UserError("{}: the header is not valid JSON at its byte {}; the file is damaged, fetch or write it again",
                    file_, position);
  }

 private:
  enum class Place { outside, root, root_value, metadata, entry, list };

  struct Entry {
    std::optional<FileDType> dtype;
    std::optional<std::vector<std::uint64_t>> shape;
    std::optional<std::vector<std::uint64_t>> offsets;
  };

  void start_list(std::optional<std::vector<std::uint64_t>>& list) {
    if (list) reject(fmt::format("\"{}\" occurs twice", field_));
    list_ = &list.emplace();
    place_ = Place::list;
  }

  void finish_entry() {
    if (!entry_.dtype || !entry_.shape || !entry_.offsets) reject("dtype, shape or data_offsets is missing");
    if (entry_.offsets->size() != 2) reject("data_offsets is not a pair");
    header_.entries.push_back(
        {key_, *entry_.dtype, std::move(*entry_.shape), entry_.offsets->front(), entry_.offsets->back()});
  }

  [[nodiscard]] FileDType dtype_named(std::string_view text) const {
    const auto* found = std::find_if(file_dtypes.begin(), file_dtypes.end(),
                                     [&](FileDType dtype) { return file_dtype_name(dtype) == text; });
    if (found == file_dtypes.end()) {
      reject(fmt::format("dtype \"{}\" is not one Octet reads; convert it to BF16 or F32", printable(text)));
    }
    return *found;
  }

  [[noreturn]] void reject(std::string_view reason) const { reject(reason, key_); }
  [[noreturn]] void reject(std::string_view reason, std::string_view tensor) const {
    throw UserError("{}: tensor \"{}\": {}; not a safetensors header that Octet can read", file_, printable(tensor),
                    reason);
  }

  std::string_view file_;
  SafetensorsHeader header_;
  std::unordered_set<std::string> names_;
  Place place_ = Place::outside;
  std::string key_;    // of the entry being read
  std::string field_;  // within the entry
  Entry entry_;
  std::vector<std::uint64_t>* list_ = nullptr;  // the one being read, in entry_
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::string_view file) {
  // Whitespace or a byte order mark in front is not the format's, and a NUL would end the text for the parser.
  if (!json.starts_with('{') || json.find('\0') != std::string_view::npos) {
    throw UserError("{}: the header does not start with a brace, or holds a NUL; not a safetensors file", file);
  }
  HeaderEvents events(file);
  static_cast<void>(nlohmann::json::sax_parse(json, &events));  // every failure throws
  return events.take();
}

std::string checksum_key(std::string_view tensor) {
  return fmt::format("{}{}", checksum_prefix, tensor);
}

std::string checksum_text(std::uint64_t checksum) {
  return fmt::format("{:016x}", checksum);
}

std::string safetensors_header(std::span<const FileTensor* const> tensors, const FileMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  std::uint64_t offset = 0;
  for (const FileTensor* tensor : tensors) {
    const std::uint64_t end = offset + tensor_bytes(tensor->dtype, tensor->shape);
    header[tensor->name] = {
        {"dtype", file_dtype_name(tensor->dtype)}, {"shape", tensor->shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + header_alignment - 1) / header_alignment * header_alignment, ' ');
  return text;
}

}  // namespace octet
