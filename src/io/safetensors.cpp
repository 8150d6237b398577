// Safetensors files: the header held against the file, checksums, writing.
#include "io/safetensors.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <unordered_set>

#include "core/error.h"
#include "io/safetensors_header.h"
#include "io/text.h"

namespace octet {
namespace {

constexpr std::uint64_t max_header_bytes = 100'000'000;  // the format's own limit
constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::string_view damaged = "the file is damaged or cut short, fetch or write it again";

static_assert(std::endian::native == std::endian::little, "tensors are mapped as they lie in the file");

std::uint64_t header_length(std::span<const std::byte> file, std::string_view name) {
  if (file.size() < length_bytes) throw UserError("{}: {} bytes hold no header; {}", name, file.size(), damaged);
  std::uint64_t length = 0;
  std::copy_n(file.begin(), length_bytes, std::as_writable_bytes(std::span(&length, 1)).begin());
  if (length > max_header_bytes || length > file.size() - length_bytes) {
    throw UserError("{}: a header of {} bytes does not fit a file of {} (limit {}); {}", name, length, file.size(),
                    max_header_bytes, damaged);
  }
  return length;
}

void check_entry(const SafetensorsEntry& entry, std::uint64_t expected_begin, std::uint64_t data_bytes,
                 std::string_view file) {
  const auto reject = [&](const std::string& reason) {
    throw UserError("{}: tensor \"{}\": {}; {}", file, printable(entry.name), reason, damaged);
  };
  if (entry.begin != expected_begin) {
    reject(
        fmt::format("starts at byte {} of the data, but the tensor before it ends at {}", entry.begin, expected_begin));
  }
  if (entry.end < entry.begin || entry.end > data_bytes) {
    reject(fmt::format("bytes {} to {} do not lie in the {} bytes of data", entry.begin, entry.end, data_bytes));
  }
  std::uint64_t bytes = file_dtype_bytes(entry.dtype);
  for (const std::uint64_t extent : entry.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) reject("its shape overflows 64 bits");
  }
  if (bytes != entry.end - entry.begin) {
    reject(fmt::format("its shape and dtype take {} bytes, its offsets span {}", bytes, entry.end - entry.begin));
  }
}

std::string checksum_text(std::span<const std::byte> bytes) {
  return octet::checksum_text(checksum(bytes));
}

bool is_checksum_key(std::string_view key) {
  return key.starts_with(checksum_prefix);
}

std::vector<const FileTensor*> widest_first(std::span<const FileTensor> tensors) {
  std::vector<const FileTensor*> ordered;
  for (const FileTensor& tensor : tensors) ordered.push_back(&tensor);
  std::stable_sort(ordered.begin(), ordered.end(), [](const FileTensor* a, const FileTensor* b) {
    return file_dtype_bytes(a->dtype) > file_dtype_bytes(b->dtype);
  });
  return ordered;
}

void check_writable(std::span<const FileTensor> tensors, const FileMetadata& metadata) {
  std::unordered_set<std::string_view> names;
  for (const FileTensor& tensor : tensors) {
    check(tensor_bytes(tensor.dtype, tensor.shape) == tensor.bytes.size(),
          "a tensor has as many bytes as its shape and dtype say");
    check(names.insert(tensor.name).second && tensor.name != "__metadata__", "tensor names are unique");
  }
  const auto reserved = metadata.lower_bound(checksum_prefix);
  check(reserved == metadata.end() || !is_checksum_key(reserved->first), "checksums are the writer's to add");
}

}  // namespace

std::string_view file_dtype_name(FileDType dtype) {
  static constexpr std::string_view names[] = {"F64", "F32", "BF16", "F16", "I64", "I32", "U8", "F8_E4M3", "F8_E5M2"};
  static_assert(std::size(names) == file_dtypes.size());
  return names[static_cast<std::size_t>(dtype)];
}

std::size_t file_dtype_bytes(FileDType dtype) {
  switch (dtype) {
    case FileDType::f64:
    case FileDType::i64:
      return 8;
    case FileDType::f32:
    case FileDType::i32:
      return 4;
    case FileDType::bf16:
    case FileDType::f16:
      return 2;
    case FileDType::u8:
    case FileDType::f8_e4m3:
    case FileDType::f8_e5m2:
      return 1;
  }
  check(false, "a file dtype is one of its enumerators");
  return 0;
}

std::uint64_t tensor_bytes(FileDType dtype, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = file_dtype_bytes(dtype);
  for (const std::uint64_t extent : shape) bytes *= extent;
  return bytes;
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  return {path, MappedFile(path)};
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path, MappedFile file)
    : path_(std::move(path)), file_(std::move(file)) {
  const std::string name = printable(path_.string());
  const std::uint64_t header_bytes = header_length(file_.bytes(), name);
  const std::span<const std::byte> header = file_.bytes().subspan(length_bytes, header_bytes);
  const std::span<const std::byte> data = file_.bytes().subspan(length_bytes + header_bytes);

  auto [entries, metadata] =
      parse_safetensors_header({reinterpret_cast<const char*>(header.data()), header.size()}, name);
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t filled = 0;
  for (SafetensorsEntry& entry : entries) {
    check_entry(entry, filled, data.size(), name);
    filled = entry.end;
    tensors_.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape),
                        data.subspan(entry.begin, entry.end - entry.begin)});
  }
  if (filled != data.size()) {
    throw UserError("{}: {} bytes of data, but the tensors take {}; {}", name, data.size(), filled, damaged);
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
  metadata_ = std::move(metadata);
}

const FileTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

std::optional<bool> SafetensorsFile::matches_checksum(const FileTensor& tensor) const {
  const auto expected = metadata_.find(checksum_key(tensor.name));
  if (expected == metadata_.end()) return std::nullopt;
  return expected->second == checksum_text(tensor.bytes);
}

bool SafetensorsFile::verify() const {
  const auto checksums =
      std::count_if(metadata_.begin(), metadata_.end(), [](const auto& entry) { return is_checksum_key(entry.first); });
  if (checksums == 0) return false;
  const std::string name = printable(path_.string());
  for (const FileTensor& tensor : tensors_) {
    const std::optional<bool> matches = matches_checksum(tensor);
    if (!matches) {
      throw UserError("{}: tensor \"{}\" has no checksum, others have; {}", name, printable(tensor.name), damaged);
    }
    if (!*matches) {
      throw UserError("{}: tensor \"{}\" does not match its checksum; {}", name, printable(tensor.name), damaged);
    }
  }
  if (static_cast<std::size_t>(checksums) != tensors_.size()) {
    throw UserError("{}: checksums of {} tensors, but the file holds {}; {}", name, checksums, tensors_.size(),
                    damaged);
  }
  return true;
}

void write_safetensors(const std::filesystem::path& path, std::span<const FileTensor> tensors,
                       const FileMetadata& metadata) {
  check_writable(tensors, metadata);
  FileMetadata with_checksums = metadata;
  for (const FileTensor& tensor : tensors) with_checksums[checksum_key(tensor.name)] = checksum_text(tensor.bytes);

  const std::vector<const FileTensor*> ordered = widest_first(tensors);
  const std::string header = safetensors_header(ordered, with_checksums);
  const std::uint64_t length = header.size();
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const FileTensor* tensor : ordered) file.write(tensor->bytes);
  file.commit();
}

}  // namespace octet
