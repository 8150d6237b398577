// octet tokenize: text files to token shards for training and validation.
#include "data/tokenize.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "data/byte_tokenizer.h"

namespace octet::cli {
namespace {

struct TokenizeOptions {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path train, validation;
  double fraction = 0.05;
  bool json = false;
};

void run(const TokenizeOptions& options) {
  const ByteTokenizer tokenizer;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto progress = [terminal](std::uint64_t done, std::uint64_t total) {
    if (terminal)
      fmt::print(stderr, "\rtokenizing {:.0f} %\x1b[K", 100.0 * static_cast<double>(done) / static_cast<double>(total));
  };
  const TokenizeResult result =
      tokenize_text_files(tokenizer, options.inputs, options.train, options.validation, options.fraction, progress);
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  if (options.json) {
    const nlohmann::ordered_json json = {{"tokenizer", tokenizer.name()},
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

}  // namespace

void add_tokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand("tokenize", "Make token shards from text files (byte vocabulary)");
  command->add_option("inputs", options->inputs, "Text files, in order")->required();
  command->add_option("--train", options->train, "Shard to write for training")->required();
  command->add_option("--validation", options->validation, "Shard to write for validation");
  command->add_option("--validation-fraction", options->fraction,
                      "Share of the bytes, from the end, held out (default 0.05)");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    if (options->validation.empty()) options->fraction = 0;
    run(*options);
  });
}

}  // namespace octet::cli
