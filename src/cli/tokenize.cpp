// octet tokenize: texts, JSON lines and tables to token shards for training and validation.
#include "data/tokenize.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "core/error.h"
#include "core/timing.h"
#include "data/input_files.h"
#include "data/open_tokenizer.h"
#include "data/tokenize_documents.h"
#include "io/text.h"

namespace octet::cli {
namespace {

using nlohmann::ordered_json;

struct TokenizeOptions {
  std::string tokenizer = "bytes";
  TokenizeJob job;
  std::string format = "auto";
  std::optional<std::string> separator;
  std::filesystem::path train, validation;
  std::optional<double> fraction;
  bool json = false;
};

/// Lines on stderr about how far a job is: one that is rewritten on a terminal, one every ten seconds elsewhere.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (terminal_ && shown_) fmt::print(stderr, "\r\x1b[K");
  }

  void show(const TokenizeStatus& status) {
    const double now = monotonic_seconds();
    if (now - last_ < (terminal_ ? 0.2 : 10.0)) return;
    last_ = now;
    shown_ = true;
    const double seconds = std::max(now - begin_, 1e-9);
    const double share = std::min(1.0, static_cast<double>(status.stored_bytes) /
                                           static_cast<double>(std::max<std::uint64_t>(status.total_stored_bytes, 1)));
    const double left = share > 0 ? seconds * (1 - share) / share : 0;
    fmt::print(stderr, "{}tokenizing {:.1f} %, {:.1f} MB/s, {:.2f} M tokens/s, {:.0f} s left{}", terminal_ ? "\r" : "",
               100 * share, static_cast<double>(status.text_bytes) / seconds / 1e6,
               static_cast<double>(status.tokens) / seconds / 1e6, left, terminal_ ? "\x1b[K" : "\n");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  double begin_ = monotonic_seconds();
  double last_ = begin_;
};

/// What --train would take for a text though its name says that it is none.
void refuse_others_than_texts(std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    const std::filesystem::path path(input);
    std::error_code absent;
    const bool is_text = format_by_name(path).value_or(DocumentFormat::text) == DocumentFormat::text &&
                         path.extension() != ".gz" && path.extension() != ".zst";
    if (!is_text || is_pattern(input) || std::filesystem::is_directory(path, absent)) {
      throw UserError("{}: --train takes texts alone: give --out FOLDER instead", printable(input));
    }
  }
}

/// Texts to one shard each for training and validation.
void tokenize_texts(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  refuse_others_than_texts(options.job.inputs);
  ProgressLine line;
  const auto progress = [&line](std::uint64_t done, std::uint64_t total) { line.show({done, total, done, done}); };
  const std::vector<std::filesystem::path> inputs(options.job.inputs.begin(), options.job.inputs.end());
  const double fraction = options.validation.empty() ? 0 : options.fraction.value_or(0.05);
  const TokenizeResult result =
      tokenize_text_files(tokenizer, inputs, options.train, options.validation, fraction, progress);
  if (options.json) {
    const ordered_json json = {{"tokenizer", tokenizer.name()},
                               {"vocab_size", tokenizer.vocab_size()},
                               {"train_tokens", result.train_tokens},
                               {"validation_tokens", result.validation_tokens}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{} tokens for training in {}\n", result.train_tokens, options.train.string());
  if (result.validation_tokens > 0) {
    fmt::print("{} tokens for validation in {}\n", result.validation_tokens, options.validation.string());
  }
}

void print_summary(const Manifest& manifest, const std::filesystem::path& folder, const TokenizeStatus& status,
                   double seconds) {
  for (const DataSplit which : {DataSplit::train, DataSplit::validation}) {
    const ManifestSplit& split = manifest.split(which);
    if (split.shards.empty() && which == DataSplit::validation) continue;
    fmt::print("{} tokens of {} documents for {} in {} shards\n", split.tokens(), split.counts.documents,
               which == DataSplit::train ? "training" : "validation", split.shards.size());
  }
  const auto sum = [&manifest](auto count) { return manifest.train.counts.*count + manifest.validation.counts.*count; };
  if (const auto skipped = sum(&SplitCounts::skipped); skipped > 0) {
    fmt::print("{} lines or rows without a text were left out\n", skipped);
  }
  if (const auto empty = sum(&SplitCounts::empty); empty > 0) fmt::print("{} empty documents were left out\n", empty);
  fmt::print("{:.1f} MB/s, {:.2f} M tokens/s in {:.1f} s\n", static_cast<double>(status.text_bytes) / seconds / 1e6,
             static_cast<double>(status.tokens) / seconds / 1e6, seconds);
  fmt::print("train on {}\n", (folder / kManifestName).string());
}

ordered_json summary_json(const Manifest& manifest, const std::filesystem::path& folder, const TokenizeStatus& status,
                          double seconds) {
  ordered_json json = {{"tokenizer", manifest.tokenizer},
                       {"vocab_size", manifest.vocab_size},
                       {"train_tokens", manifest.train.tokens()},
                       {"validation_tokens", manifest.validation.tokens()},
                       {"manifest", (folder / kManifestName).string()},
                       {"train", split_json(manifest.train)},
                       {"validation", split_json(manifest.validation)},
                       {"seconds", seconds},
                       {"text_bytes", status.text_bytes},
                       {"tokens", status.tokens}};
  return json;
}

/// Documents to a folder of shards.
void tokenize_to_folder(const TokenizeOptions& options, const Tokenizer& tokenizer) {
  const double begin = monotonic_seconds();
  TokenizeStatus last;
  DocumentsResult result;
  {
    ProgressLine line;
    TokenizeListener listener;
    listener.on_resume = [](std::size_t shards) { fmt::print(stderr, "going on behind {} whole shards\n", shards); };
    listener.on_progress = [&](const TokenizeStatus& status) {
      last = status;
      line.show(status);
    };
    result = tokenize_documents(tokenizer, options.job, listener);
  }
  const double seconds = std::max(monotonic_seconds() - begin, 1e-9);
  if (!result.left_out.empty()) {
    fmt::print(stderr, "left out {} files of other kinds, {} for one; --format takes them\n", result.left_out.size(),
               printable(result.left_out.front().string()));
  }
  if (options.json) {
    fmt::print("{}\n", summary_json(result.manifest, options.job.folder, last, seconds).dump(2));
  } else {
    print_summary(result.manifest, options.job.folder, last, seconds);
  }
}

std::optional<DocumentFormat> chosen_format(const std::string& name) {
  for (const auto format : {DocumentFormat::text, DocumentFormat::jsonl, DocumentFormat::parquet}) {
    if (name == to_string(format)) return format;
  }
  return {};
}

void run(TokenizeOptions& options) {
  if (options.train.empty() == options.job.folder.empty()) {
    throw UserError("give --out FOLDER for shards with a manifest, or --train SHARD for one shard of texts");
  }
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(options.tokenizer);
  if (options.job.folder.empty()) return tokenize_texts(options, *tokenizer);
  options.job.format = chosen_format(options.format);
  options.job.source.separator = options.separator;
  options.job.validation_fraction = options.fraction.value_or(0);
  tokenize_to_folder(options, *tokenizer);
}

void add_folder_options(CLI::App& command, TokenizeOptions& options) {
  TokenizeJob& job = options.job;
  const auto out = command.add_option("--out", job.folder, "Folder for shards and manifest.json");
  const auto only_with_out = [out](CLI::Option* option) { option->needs(out); };
  only_with_out(command.add_option("--format", options.format, "auto (by name), text, jsonl or parquet")
                    ->check(CLI::IsMember({"auto", "text", "jsonl", "parquet"})));
  only_with_out(command.add_option("--field", job.source.field,
                                   "Field or column with the text; dots lead into objects (default text)"));
  only_with_out(command.add_flag("--skip-bad", job.skip_bad, "Leave out and count lines and rows without a text"));
  only_with_out(command.add_option("--document-separator", options.separator,
                                   "Line between documents of a text; empty: a blank line"));
  only_with_out(command.add_option("--max-document-bytes", job.source.max_document_bytes,
                                   "Longest line or separated document (default 64 MiB)"));
  only_with_out(command.add_option("--shard-tokens", job.shard_tokens, "Tokens in a shard (default 100000000)"));
  only_with_out(command.add_option("--seed", job.seed, "Of the choice of documents for validation (default 1)"));
  only_with_out(command.add_option("--threads", job.threads, "Threads that encode (default: one a core)"));
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  options->job.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  CLI::App* command = app.add_subcommand("tokenize", "Make token shards from texts, JSON lines and tables");
  command->add_option("inputs", options->job.inputs, "Files; with --out folders and patterns too, in order")
      ->required();
  command->add_option("--tokenizer", options->tokenizer, "Tokenizer (default bytes)");
  CLI::Option* train = command->add_option("--train", options->train, "Shard to write for training, of texts");
  command->add_option("--validation", options->validation, "Shard to write for validation, of texts")->needs(train);
  command->add_option("--validation-fraction", options->fraction,
                      "Share held out: with --validation of the bytes, from the end (default 0.05); with --out of the "
                      "documents (default 0)");
  add_folder_options(*command, *options);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace octet::cli
