// Reads and checks the headers of .bin shards.
#include "data/bin_shard.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.h"

namespace octet {
namespace {

struct BinFormat {
  std::int32_t magic;
  std::int32_t version;
  std::uint32_t bytes_per_token;
  std::uint64_t vocab_size;
  std::uint32_t between_documents;
};

constexpr std::array kBinFormats{BinFormat{20240520, 1, 2, 50257, 50256}, BinFormat{20240801, 7, 4, 128256, 128000}};

}  // namespace

std::optional<ShardHeader> read_bin_header(std::span<const std::byte> file, const std::string& path) {
  std::array<std::int32_t, kBinHeaderBytes / sizeof(std::int32_t)> words{};
  if (file.size() < sizeof words[0]) return {};
  std::memcpy(words.data(), file.data(), std::min(file.size(), kBinHeaderBytes));
  const auto* format = std::ranges::find(kBinFormats, words[0], &BinFormat::magic);
  if (format == kBinFormats.end()) return {};
  if (file.size() < kBinHeaderBytes) {
    throw UserError("{}: {} bytes are too few for the {} byte header of a .bin shard: copy or make it again", path,
                    file.size(), kBinHeaderBytes);
  }
  if (words[1] != format->version) {
    throw UserError("{}: version {} of a .bin shard that begins with {} is unknown, there is version {}: make it again",
                    path, words[1], words[0], format->version);
  }
  if (words[2] <= 0) throw UserError("{}: the header counts {} tokens: make it again", path, words[2]);
  if (std::any_of(words.begin() + 3, words.end(), [](std::int32_t word) { return word != 0; })) {
    throw UserError("{}: the header of the .bin shard is damaged, it is not zero after its third number: make it again",
                    path);
  }
  ShardHeader header{};
  header.version = kShardVersion;
  header.bytes_per_token = format->bytes_per_token;
  header.vocab_size = format->vocab_size;
  header.token_count = static_cast<std::uint64_t>(words[2]);
  header.document_end = format->between_documents + 1;
  return header;
}

}  // namespace octet
