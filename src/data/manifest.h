// manifest.json: what lies in a folder of token shards, and what it was made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace octet {

inline constexpr int kManifestVersion = 1;
inline constexpr const char* kManifestName = "manifest.json";

/// What a set of documents is for.
enum class DataSplit : std::uint8_t { train, validation };

/// "train", "validation".
[[nodiscard]] std::string_view to_string(DataSplit split);

struct ManifestShard {
  std::string file;            ///< beside the manifest: a name without folders
  std::uint64_t tokens = 0;    ///< at least 1
  std::uint64_t checksum = 0;  ///< XXH3-64 of the token bytes

  bool operator==(const ManifestShard&) const = default;
};

/// What became of the documents of a split.
struct SplitCounts {
  std::uint64_t documents = 0;
  std::uint64_t skipped = 0;     ///< lines and rows without a text, with --skip-bad
  std::uint64_t empty = 0;       ///< documents without a byte, which are left out
  std::uint64_t text_bytes = 0;  ///< of the documents

  SplitCounts& operator+=(const SplitCounts& more);
  bool operator==(const SplitCounts&) const = default;
};

struct ManifestSplit {
  SplitCounts counts;
  std::vector<ManifestShard> shards;

  [[nodiscard]] std::uint64_t tokens() const;
  bool operator==(const ManifestSplit&) const = default;
};

struct ManifestInput {
  std::string path;  ///< as it was named or found
  std::string format;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  ///< XXH3-64 of the file as stored

  bool operator==(const ManifestInput&) const = default;
};

struct Manifest {
  std::string tokenizer;
  std::uint64_t fingerprint = 0;  ///< of the tokenizer
  std::uint64_t vocab_size = 0;
  std::optional<std::int32_t> document_end;
  ManifestSplit train, validation;
  std::vector<ManifestInput> inputs;
  nlohmann::ordered_json options;  ///< what was asked for, for people to read

  [[nodiscard]] const ManifestSplit& split(DataSplit which) const {
    return which == DataSplit::train ? train : validation;
  }
};

void write_manifest(const std::filesystem::path& path, const Manifest& manifest);

/// Throws UserError, naming the file, for one that is damaged or of another version, and for names of shards that lead
/// out of the manifest's folder.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& path);

/// A split as JSON and back; reading throws UserError without the name of the file.
[[nodiscard]] nlohmann::ordered_json split_json(const ManifestSplit& split);
[[nodiscard]] ManifestSplit read_split(const nlohmann::ordered_json& json);

}  // namespace octet
