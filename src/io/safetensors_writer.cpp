#include "io/safetensors_writer.h"

#include <xxhash.h>

#include <utility>

#include "core/error.h"
#include "io/safetensors_header.h"

namespace octet {

/// XXH3 of bytes that come in pieces: the same as checksum() of all of them.
class SafetensorsWriter::Hash {
 public:
  Hash() : state_(XXH3_createState()) {
    check(state_ != nullptr, "a checksum's state can be allocated");
    reset();
  }
  ~Hash() { XXH3_freeState(state_); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  void reset() { check(XXH3_64bits_reset(state_) == XXH_OK, "a checksum can begin"); }
  void add(std::span<const std::byte> bytes) {
    check(XXH3_64bits_update(state_, bytes.data(), bytes.size()) == XXH_OK, "bytes can be added to a checksum");
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(state_); }

 private:
  XXH3_state_t* state_;
};

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::span<const FileTensor> tensors,
                                     FileMetadata metadata)
    : tensors_(tensors.begin(), tensors.end()),
      metadata_(std::move(metadata)),
      file_(path),
      hash_(std::make_unique<Hash>()) {
  for (const FileTensor& tensor : tensors_) {
    check(metadata_.emplace(checksum_key(tensor.name), checksum_text(0)).second, "tensor names are unique");
  }
  const std::string text = header();
  const std::uint64_t length = text.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(std::as_bytes(std::span(text)));
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  hash_->add(bytes);
  written_ += bytes.size();
}

void SafetensorsWriter::end_tensor() {
  check(current_ < tensors_.size(), "a tensor is being written");
  const FileTensor& tensor = tensors_[current_++];
  check(written_ == tensor_bytes(tensor.dtype, tensor.shape), "a tensor is written whole");
  metadata_[checksum_key(tensor.name)] = checksum_text(hash_->value());
  hash_->reset();
  written_ = 0;
}

void SafetensorsWriter::commit() {
  check(current_ == tensors_.size() && written_ == 0, "all tensors are written");
  const std::string text = header();
  file_.overwrite(sizeof(std::uint64_t), std::as_bytes(std::span(text)));
  file_.commit();
}

std::string SafetensorsWriter::header() const {
  std::vector<const FileTensor*> listed;
  for (const FileTensor& tensor : tensors_) listed.push_back(&tensor);
  return safetensors_header(listed, metadata_);
}

}  // namespace octet
