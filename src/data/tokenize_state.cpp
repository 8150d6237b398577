// Keeps and compares the state of a job.
#include "data/tokenize_state.h"

#include <system_error>

#include "core/error.h"
#include "data/sealed_json.h"
#include "data/shard.h"
#include "io/files.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kStateVersion = 1;
constexpr const char* kStateName = "tokenize.state.json";

/// "options.field is "text" there and "body" here", of the first value in which two jobs differ.
std::string first_difference(const ordered_json& there, const ordered_json& here) {
  const ordered_json a = there.flatten();
  const ordered_json b = here.flatten();
  const auto value = [](const ordered_json& flat, const std::string& key) {
    return printable(flat.contains(key) ? flat.at(key).dump(-1, ' ', false, ordered_json::error_handler_t::replace)
                                        : "absent");
  };
  for (const ordered_json* side : {&b, &a}) {
    for (const auto& [key, unused] : side->items()) {
      if (value(a, key) == value(b, key)) continue;
      std::string name = key.substr(1);
      for (char& c : name) c = c == '/' ? '.' : c;
      return fmt::format("{} is {} there and {} here", printable(name), value(a, key), value(b, key));
    }
  }
  return "their inputs differ";
}

ordered_json progress_json(const SplitProgress& progress) {
  ordered_json described = split_json(progress.written);
  described["next_piece"] = progress.next_piece;
  return described;
}

void check_shards(const fs::path& folder, const ManifestSplit& split, const Tokenizer& tokenizer) {
  for (const ManifestShard& entry : split.shards) {
    const Shard shard(folder / entry.file, tokenizer.vocab_size());
    if (shard.token_count() != entry.tokens || shard.token_checksum() != entry.checksum ||
        shard.tokenizer() != tokenizer.fingerprint()) {
      throw UserError("{}: is not the shard that {} knows: remove the folder and begin again", shard.path().string(),
                      kStateName);
    }
  }
}

void refuse_other_shards(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".tok") {
      throw UserError("{}: holds {}, which is not of this job: name another folder", folder.string(),
                      printable(entry.path().filename().string()));
    }
  }
  if (error) throw UserError("{}: cannot be read ({}): check the folder", folder.string(), error.message());
}

BothSplits read_progress(const fs::path& path, const ordered_json& job) {
  const ordered_json state = read_sealed_json(path, kStateVersion);
  BothSplits done;
  try {
    const ordered_json& there = object_field(state, "job");
    if (there != job) {
      throw UserError("a run of another job was begun here ({}): name another folder, or remove this one",
                      first_difference(there, job));
    }
    const ordered_json& splits = object_field(state, "splits");
    const auto read = [&splits](const char* name) {
      const ordered_json& split = object_field(splits, name);
      return SplitProgress{read_split(split), unsigned_field(split, "next_piece")};
    };
    done = {read("train"), read("validation")};
  } catch (const UserError& error) {
    throw UserError("{}: {}", path.string(), error.what());
  }
  return done;
}

}  // namespace

ordered_json options_json(const TokenizeJob& job) {
  const auto& separator = job.source.separator;
  const auto format = job.format ? to_string(*job.format) : "auto";
  return {{"format", format},
          {"field", job.source.field},
          {"document_separator", separator ? ordered_json(*separator) : ordered_json()},
          {"max_document_bytes", job.source.max_document_bytes},
          {"skip_bad", job.skip_bad},
          {"validation_fraction", job.validation_fraction},
          {"seed", job.seed},
          {"shard_tokens", job.shard_tokens}};
}

ordered_json job_json(const Tokenizer& tokenizer, const TokenizeJob& job, std::span<const DocumentFile> files) {
  ordered_json inputs = ordered_json::array();
  for (const DocumentFile& file : files) {
    inputs.push_back({{"path", file.path.string()},
                      {"format", to_string(file.format)},
                      {"bytes", file.bytes},
                      {"modified", file.modified}});
  }
  return {{"tokenizer", {{"name", tokenizer.name()}, {"fingerprint", hex_text(tokenizer.fingerprint())}}},
          {"options", options_json(job)},
          {"inputs", inputs}};
}

BothSplits begin_or_go_on(const Tokenizer& tokenizer, const fs::path& folder, const ordered_json& job) {
  make_directory(folder);
  if (fs::exists(folder / kManifestName)) {
    throw UserError("{}: holds a finished data set: name another folder, or remove this one", folder.string());
  }
  if (!fs::exists(folder / kStateName)) {
    refuse_other_shards(folder);
    return {};
  }
  BothSplits done = read_progress(folder / kStateName, job);
  check_shards(folder, done.train.written, tokenizer);
  check_shards(folder, done.validation.written, tokenizer);
  return done;
}

void save_state(const fs::path& folder, const ordered_json& job, const SplitProgress& train,
                const SplitProgress& validation) {
  write_sealed_json(
      folder / kStateName, kStateVersion,
      {{"job", job}, {"splits", {{"train", progress_json(train)}, {"validation", progress_json(validation)}}}});
}

void remove_state(const fs::path& folder) {
  std::error_code error;
  fs::remove(folder / kStateName, error);
  if (error) throw UserError("{}: cannot be removed ({}): remove it", (folder / kStateName).string(), error.message());
}

}  // namespace octet
