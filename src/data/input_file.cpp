// Reads text files through their decoders, and sums up what it reads.
#include "data/input_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "data/decoder.h"

namespace octet {
namespace {

/// What is decoded at once: small enough that positions in messages and progress are close.
constexpr std::size_t kStepBytes = std::size_t{1} << 18;

void check_suffix(const std::filesystem::path& path, const Decoder* decoder) {
  for (const auto& [suffix, name] : {std::pair{".gz", "gzip"}, std::pair{".zst", "zstd"}}) {
    if (path.extension() == suffix && (decoder == nullptr || decoder->name() != name)) {
      throw UserError("{}: is named {} but does not begin like {}: rename it, or make it again", path.string(), suffix,
                      name);
    }
  }
}

}  // namespace

InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)),
      file_(path_),
      rest_(file_.bytes()),
      hash_(XXH3_createState()),
      decoder_(make_decoder(rest_)) {
  check(hash_ != nullptr && XXH3_64bits_reset(hash_.get()) == XXH_OK, "a hash state can be made");
  check_suffix(path_, decoder_.get());
}

InputFile::~InputFile() = default;

std::size_t InputFile::read(std::span<char> out) {
  check(!out.empty(), "a read has room");
  if (decoder_ == nullptr) return read_plain(out);
  while (true) {
    const auto [consumed, produced, reason] = decoder_->step(rest_.first(std::min(rest_.size(), kStepBytes)), out);
    consume(consumed);
    if (!reason.empty()) {
      throw UserError("{}: the {} data are damaged near byte {} ({}): copy or make the file again", path_.string(),
                      decoder_->name(), bytes_read(), reason);
    }
    if (produced > 0) return produced;
    if (consumed > 0) continue;
    if (rest_.empty() && decoder_->may_end()) return 0;
    check(rest_.empty(), "a decoder goes on while there are data");
    throw UserError("{}: is truncated: its {} data break off at byte {}: copy or make the file again", path_.string(),
                    decoder_->name(), bytes_read());
  }
}

std::size_t InputFile::read_plain(std::span<char> out) {
  const std::size_t count = std::min(out.size(), rest_.size());
  if (count > 0) std::memcpy(out.data(), rest_.data(), count);
  consume(count);
  return count;
}

void InputFile::consume(std::size_t count) {
  XXH3_64bits_update(hash_.get(), rest_.data(), count);
  rest_ = rest_.subspan(count);
}

}  // namespace octet
