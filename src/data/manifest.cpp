// Writes and reads manifest.json.
#include "data/manifest.h"

#include <numeric>

#include "core/error.h"
#include "data/sealed_json.h"
#include "data/shard_format.h"
#include "io/text.h"

namespace octet {
namespace {

using nlohmann::ordered_json;

ManifestShard read_shard_entry(const ordered_json& root) {
  ManifestShard shard{text_field(root, "file"), unsigned_field(root, "tokens"), hex_field(root, "checksum")};
  const bool is_plain = !shard.file.empty() && shard.file != "." && shard.file != ".." &&
                        shard.file.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (!is_plain) throw UserError("the shard \"{}\" is not a file beside the manifest", printable(shard.file));
  if (shard.tokens == 0) throw UserError("the shard {} has no tokens", printable(shard.file));
  return shard;
}

Manifest parse(const ordered_json& root) {
  Manifest manifest;
  const ordered_json& tokenizer = object_field(root, "tokenizer");
  manifest.tokenizer = text_field(tokenizer, "name");
  manifest.fingerprint = hex_field(tokenizer, "fingerprint");
  manifest.vocab_size = unsigned_field(tokenizer, "vocab_size");
  if (manifest.vocab_size == 0 || manifest.vocab_size > kMaxVocabSize) {
    throw UserError("a vocabulary of {} does not exist", manifest.vocab_size);
  }
  if (const auto end = root.find("document_end"); end != root.end() && !end->is_null()) {
    const std::uint64_t token = unsigned_field(root, "document_end");
    if (token >= manifest.vocab_size) throw UserError("document_end {} is outside the vocabulary", token);
    manifest.document_end = static_cast<std::int32_t>(token);
  }
  const ordered_json& splits = object_field(root, "splits");
  manifest.train = read_split(object_field(splits, "train"));
  manifest.validation = read_split(object_field(splits, "validation"));
  for (const ordered_json& input : array_field(root, "inputs")) {
    manifest.inputs.push_back({text_field(input, "path"), text_field(input, "format"), unsigned_field(input, "bytes"),
                               hex_field(input, "checksum")});
  }
  manifest.options = object_field(root, "options");
  return manifest;
}

}  // namespace

std::string_view to_string(DataSplit split) {
  return split == DataSplit::train ? "train" : "validation";
}

SplitCounts& SplitCounts::operator+=(const SplitCounts& more) {
  documents += more.documents;
  skipped += more.skipped;
  empty += more.empty;
  text_bytes += more.text_bytes;
  return *this;
}

std::uint64_t ManifestSplit::tokens() const {
  return std::accumulate(shards.begin(), shards.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ManifestShard& shard) { return sum + shard.tokens; });
}

ordered_json split_json(const ManifestSplit& split) {
  ordered_json shards = ordered_json::array();
  for (const ManifestShard& shard : split.shards) {
    shards.push_back({{"file", shard.file}, {"tokens", shard.tokens}, {"checksum", hex_text(shard.checksum)}});
  }
  return {{"documents", split.counts.documents},   {"skipped", split.counts.skipped}, {"empty", split.counts.empty},
          {"text_bytes", split.counts.text_bytes}, {"tokens", split.tokens()},        {"shards", shards}};
}

ManifestSplit read_split(const ordered_json& root) {
  ManifestSplit split;
  split.counts.documents = unsigned_field(root, "documents");
  split.counts.skipped = unsigned_field(root, "skipped");
  split.counts.empty = unsigned_field(root, "empty");
  split.counts.text_bytes = unsigned_field(root, "text_bytes");
  for (const ordered_json& shard : array_field(root, "shards")) split.shards.push_back(read_shard_entry(shard));
  return split;
}

void write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  ordered_json inputs = ordered_json::array();
  for (const ManifestInput& input : manifest.inputs) {
    inputs.push_back({{"path", input.path},
                      {"format", input.format},
                      {"bytes", input.bytes},
                      {"checksum", hex_text(input.checksum)}});
  }
  write_sealed_json(
      path, kManifestVersion,
      {{"tokenizer",
        {{"name", manifest.tokenizer},
         {"fingerprint", hex_text(manifest.fingerprint)},
         {"vocab_size", manifest.vocab_size}}},
       {"document_end", manifest.document_end ? ordered_json(*manifest.document_end) : ordered_json()},
       {"splits", {{"train", split_json(manifest.train)}, {"validation", split_json(manifest.validation)}}},
       {"inputs", inputs},
       {"options", manifest.options}});
}

Manifest read_manifest(const std::filesystem::path& path) {
  const ordered_json root = read_sealed_json(path, kManifestVersion);
  try {
    return parse(root);
  } catch (const UserError& error) {
    throw UserError("{}: {}: tokenize the text again", path.string(), error.what());
  }
}

}  // namespace octet
