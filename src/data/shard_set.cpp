// Finds and opens shards, and compares their tokenizers.
#include "data/shard_set.h"

#include <algorithm>
#include <memory>
#include <system_error>

#include "core/error.h"
#include "data/input_files.h"
#include "data/open_tokenizer.h"
#include "data/sealed_json.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

void open_manifest(const fs::path& path, DataSplit split, std::uint64_t vocab, const std::string& key, ShardScan scan,
                   std::vector<Shard>& shards) {
  const Manifest manifest = read_manifest(path);
  if (manifest.split(split).shards.empty()) {
    throw UserError("{}: {} has no shards for {}: tokenize with --validation-fraction, or name other data", key,
                    path.string(), to_string(split));
  }
  for (const ManifestShard& entry : manifest.split(split).shards) {
    const fs::path file = path.parent_path() / entry.file;
    if (!fs::exists(file)) {
      throw UserError("{}: there is no {}, of which {} speaks: copy it there, or tokenize the text again", key,
                      file.string(), path.string());
    }
    const Shard& shard = shards.emplace_back(file, vocab, scan);
    if (shard.token_count() != entry.tokens || shard.token_checksum() != entry.checksum) {
      throw UserError(
          "{}: is not the shard of which {} speaks ({} tokens with checksum {}, not {} with {}): copy the "
          "right one there, or tokenize the text again",
          file.string(), path.string(), shard.token_count(), hex_text(shard.token_checksum()), entry.tokens,
          hex_text(entry.checksum));
    }
    if (shard.tokenizer() != manifest.fingerprint) {
      throw UserError("{}: is of the tokenizer {}, but {} speaks of {} ({}): tokenize the text again", file.string(),
                      hex_text(shard.tokenizer()), path.string(), hex_text(manifest.fingerprint),
                      printable(manifest.tokenizer));
    }
  }
}

std::vector<fs::path> shards_in(const fs::path& folder, const std::string& key) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto suffix = entry.path().extension();
    if (suffix == ".tok" || suffix == ".bin") found.push_back(entry.path());
  }
  if (error) throw UserError("{}: {}: cannot be read ({}): check the folder", key, folder.string(), error.message());
  if (found.empty()) {
    throw UserError("{}: {} holds neither a {} nor shards (.tok, .bin): make them with octet tokenize", key,
                    folder.string(), kManifestName);
  }
  std::ranges::sort(found, {}, [](const fs::path& path) { return path.string(); });
  return found;
}

/// The shards themselves that `name` means, where it is no manifest.
std::vector<fs::path> shard_paths(const std::string& name, const std::string& key) {
  std::error_code absent;
  if (is_pattern(name)) return matching_files(name);
  if (fs::is_directory(name, absent)) return shards_in(name, key);
  if (fs::exists(name, absent)) return {name};
  throw UserError("{}: there is no {}: make it with octet tokenize, or correct the path", key, name);
}

std::string describe_tokenizer(const Shard& shard) {
  return shard.tokenizer() != 0 ? fmt::format("of the tokenizer {}", hex_text(shard.tokenizer()))
                                : fmt::format("of a vocabulary of {}", shard.vocab_size());
}

bool go_together(const Shard& a, const Shard& b) {
  if (a.tokenizer() != 0 && b.tokenizer() != 0) return a.tokenizer() == b.tokenizer();
  return a.vocab_size() == b.vocab_size();
}

}  // namespace

std::vector<Shard> open_shards(std::span<const std::string> names, DataSplit split, std::uint64_t model_vocab_size,
                               const std::string& key, ShardScan scan) {
  std::vector<Shard> shards;
  for (const std::string& name : names) {
    std::error_code absent;
    if (fs::path(name).extension() == ".json" && fs::exists(name, absent)) {
      open_manifest(name, split, model_vocab_size, key, scan, shards);
    } else if (fs::exists(fs::path(name) / kManifestName, absent)) {
      open_manifest(fs::path(name) / kManifestName, split, model_vocab_size, key, scan, shards);
    } else {
      for (const fs::path& path : shard_paths(name, key)) shards.emplace_back(path, model_vocab_size, scan);
    }
  }
  return shards;
}

std::uint64_t common_tokenizer(std::span<const Shard> shards, const std::string& tokenizer) {
  check(!shards.empty(), "there are shards to compare");
  const auto known = std::ranges::find_if(shards, [](const Shard& shard) { return shard.tokenizer() != 0; });
  const Shard& first = known != shards.end() ? *known : shards.front();
  for (const Shard& shard : shards) {
    if (go_together(first, shard)) continue;
    throw UserError("{} is {}, but {} is {}: train on shards of one tokenizer", first.path().string(),
                    describe_tokenizer(first), shard.path().string(), describe_tokenizer(shard));
  }
  if (tokenizer.empty()) return first.tokenizer();
  const std::unique_ptr<Tokenizer> wanted = open_tokenizer(tokenizer);
  const bool same =
      first.tokenizer() != 0 ? first.tokenizer() == wanted->fingerprint() : first.vocab_size() == wanted->vocab_size();
  if (!same) {
    throw UserError(
        "data.tokenizer {} has the fingerprint {} and {} tokens, but {} is {}: tokenize the text with it, "
        "or correct data.tokenizer",
        printable(tokenizer), hex_text(wanted->fingerprint()), wanted->vocab_size(), first.path().string(),
        describe_tokenizer(first));
  }
  return wanted->fingerprint();
}

}  // namespace octet
