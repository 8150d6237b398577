// Files of documents to a folder of token shards with a manifest: in parallel, with the same bytes for any number of
// threads, and going on where a killed run stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/document_source.h"
#include "data/manifest.h"
#include "data/tokenizer.h"

namespace octet {

struct TokenizeJob {
  std::vector<std::string> inputs;  ///< files, folders, patterns (input_files.h)
  std::filesystem::path folder;
  std::optional<DocumentFormat> format;  ///< none: as the files' names say
  SourceOptions source;
  bool skip_bad = false;           ///< lines and rows without a text are counted, not errors
  double validation_fraction = 0;  ///< of the documents, in [0, 1)
  std::uint64_t seed = 1;          ///< of the choice of those
  std::uint64_t shard_tokens = 100'000'000;
  int threads = 1;  ///< that parse and encode; one more reads, one more writes
};

struct TokenizeStatus {
  std::uint64_t stored_bytes = 0;        ///< of the inputs as stored, done
  std::uint64_t total_stored_bytes = 0;  ///< of all inputs
  std::uint64_t text_bytes = 0;          ///< encoded in this run
  std::uint64_t tokens = 0;              ///< written in this run
};

struct TokenizeListener {
  std::function<void(std::size_t shards)> on_resume = [](std::size_t) {};  ///< whole shards of an earlier run
  std::function<void(const TokenizeStatus&)> on_progress = [](const TokenizeStatus&) {};
};

struct DocumentsResult {
  Manifest manifest;
  std::vector<std::filesystem::path> left_out;  ///< files of unknown formats in folders and patterns
};

/// The split of a document, which its number among all documents and the seed decide, and nothing else.
[[nodiscard]] DataSplit split_of(std::uint64_t document, std::uint64_t seed, double validation_fraction);

/// Writes shards (split_writer.h) and manifest.json into `job.folder`. Whatever ends a run before, the next one with
/// the same inputs and options goes on behind the last whole shard of each split. Every document is followed by the
/// tokenizer's end of document, where it has one.
/// Throws UserError for inputs that are wrong, with file and line; for a folder that holds other shards, a finished
/// manifest, or the beginning of another job; for a split without a document; and for a disk that refuses.
[[nodiscard]] DocumentsResult tokenize_documents(const Tokenizer& tokenizer, const TokenizeJob& job,
                                                 const TokenizeListener& listener = {});

}  // namespace octet
