// octet tokenizer info|encode|decode|train|bench: what a tokenizer is and does, and new ones.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/error.h"
#include "data/bpe_tokenizer.h"
#include "data/bpe_trainer.h"
#include "data/open_tokenizer.h"
#include "data/split_presets.h"
#include "data/tokenizer_json.h"
#include "io/files.h"

namespace octet::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kTokenizerHelp = "bytes, a tokenizer.json or its directory, or ENCODING:FILE for a tiktoken file";

std::string json_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);  // tokens may be no UTF-8
}

struct InfoOptions {
  std::string tokenizer;
  bool json = false;
};

void print_info(const InfoOptions& options) {
  const auto tokenizer = open_tokenizer(options.tokenizer);
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(tokenizer.get());
  const auto token = [&](std::optional<std::int32_t> id) {
    return id ? ordered_json{{"id", *id}, {"text", tokenizer->decode({&*id, 1})}} : ordered_json();
  };
  ordered_json json = {{"tokenizer", tokenizer->name()},
                       {"vocab_size", tokenizer->vocab_size()},
                       {"fingerprint", fmt::format("{:016x}", tokenizer->fingerprint())},
                       {"end_of_document", token(tokenizer->end_of_document())}};
  if (bpe != nullptr) {
    const TokenizerDefinition& definition = bpe->definition();
    json["begin_of_text"] = token(bpe->bos());
    json["eos_token"] = token(bpe->eos());
    json["merges"] = definition.merges.size();
    json["normalizer"] = definition.nfc ? ordered_json("NFC") : ordered_json();
    json["patterns"] = ordered_json::array();
    for (const SplitStage& stage : definition.stages) json["patterns"].push_back(stage.pattern);
    json["added_tokens"] = definition.added.size();
  }
  if (options.json) return fmt::print("{}\n", json_text(json));
  for (const auto& [name, value] : json.items()) {
    if (value.is_array()) {
      for (const ordered_json& line : value) fmt::print("{:<16} {}\n", name, line.get<std::string>());
    } else if (value.is_object()) {
      fmt::print("{:<16} {} {}\n", name, value["id"].dump(), value["text"].get<std::string>());
    } else {
      fmt::print("{:<16} {}\n", name,
                 value.is_string() ? value.get<std::string>()
                 : value.is_null() ? "none"
                                   : value.dump());
    }
  }
}

void add_info_of_tokenizer(CLI::App& parent) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = parent.add_subcommand("info", "What a tokenizer is made of");
  command->add_option("tokenizer", options->tokenizer, kTokenizerHelp)->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { print_info(*options); });
}

struct EncodeOptions {
  std::string tokenizer, file, text;
  bool markup = false, json = false;
};

void print_tokens(const EncodeOptions& options) {
  if (options.file.empty() == options.text.empty()) {
    throw UserError("tokenizer encode: name a file or give --text, one of the two");
  }
  const auto tokenizer = open_tokenizer(options.tokenizer);
  const std::string text = options.file.empty() ? options.text : read_file(options.file);
  std::vector<std::int32_t> tokens;
  options.markup ? tokenizer->encode_markup(text, tokens) : tokenizer->encode(text, tokens);
  if (!options.json) return fmt::print("{}\n", fmt::join(tokens, " "));
  ordered_json pieces = ordered_json::array();
  for (const std::int32_t token : tokens) pieces.push_back(tokenizer->decode({&token, 1}));
  fmt::print("{}\n", json_text({{"ids", tokens}, {"pieces", pieces}}));
}

void add_encode(CLI::App& parent) {
  auto options = std::make_shared<EncodeOptions>();
  CLI::App* command = parent.add_subcommand("encode", "Print the tokens of a text");
  command->add_option("tokenizer", options->tokenizer, kTokenizerHelp)->required();
  command->add_option("file", options->file, "File with the text");
  command->add_option("--text", options->text, "The text itself");
  command->add_flag("--markup", options->markup, "Names of added tokens in the text become those tokens");
  command->add_flag("--json", options->json, "Print JSON, with the piece of each token");
  command->callback([options] { print_tokens(*options); });
}

struct DecodeOptions {
  std::string tokenizer;
  std::vector<std::int32_t> tokens;
  bool json = false;
};

void print_text(const DecodeOptions& options) {
  const std::string text = open_tokenizer(options.tokenizer)->decode(options.tokens);
  if (options.json) return fmt::print("{}\n", json_text({{"text", text}}));
  std::fwrite(text.data(), 1, text.size(), stdout);  // as it is, without a line's end of ours
}

void add_decode(CLI::App& parent) {
  auto options = std::make_shared<DecodeOptions>();
  CLI::App* command = parent.add_subcommand("decode", "Print the text of tokens");
  command->add_option("tokenizer", options->tokenizer, kTokenizerHelp)->required();
  command->add_option("tokens", options->tokens, "Token ids")->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { print_text(*options); });
}

struct TokenizerTrainOptions {
  BpeTrainerOptions trainer;
  std::vector<std::string> inputs, special;
  std::string out;
  bool json = false;
};

void train_tokenizer(TokenizerTrainOptions options) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  options.trainer.special_tokens =
      options.special.empty() ? std::vector<std::string>{"<|endoftext|>"} : options.special;
  BpeTrainer trainer(options.trainer);
  for (const std::string& input : options.inputs) {
    const MappedFile file(input);
    trainer.add({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
    if (terminal) fmt::print(stderr, "\r{} different words\x1b[K", trainer.words());
  }
  const auto progress = [terminal](std::int64_t done, std::int64_t total) {
    if (terminal && done % 256 == 0) fmt::print(stderr, "\r{} of {} tokens\x1b[K", done, total);
  };
  const TokenizerDefinition definition = trainer.train(progress);
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  write_file_atomically(options.out, tokenizer_json_text(definition));
  if (options.json) {
    return fmt::print("{}\n", json_text({{"tokenizer", options.out},
                                         {"vocab_size", definition.pieces.size()},
                                         {"merges", definition.merges.size()},
                                         {"words", trainer.words()}}));
  }
  fmt::print("{} tokens in {}\n", definition.pieces.size(), options.out);
  if (static_cast<std::int64_t>(definition.pieces.size()) < options.trainer.vocab_size) {
    fmt::print("fewer than the {} asked for: no other pair occurs {} times\n", options.trainer.vocab_size,
               std::max<std::int64_t>(options.trainer.min_frequency, 1));
  }
}

void add_train_tokenizer(CLI::App& parent) {
  auto options = std::make_shared<TokenizerTrainOptions>();
  CLI::App* command = parent.add_subcommand("train", "Learn a byte-level BPE vocabulary from text files");
  command->add_option("inputs", options->inputs, "Text files")->required();
  command->add_option("--out", options->out, "tokenizer.json to write")->required();
  command->add_option("--vocab-size", options->trainer.vocab_size,
                      "Tokens, bytes and special ones among them (default 32768)");
  command->add_option(
      "--split", options->trainer.split,
      fmt::format("How text is split into words: {} (default llama3)", fmt::join(split_preset_names(), ", ")));
  command
      ->add_option("--special", options->special,
                   "Special token, in the order of ids (repeatable; default <|endoftext|>)")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--min-frequency", options->trainer.min_frequency, "Rarer pairs are not merged (default 2)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { train_tokenizer(*options); });
}

struct TokenizerBenchOptions {
  std::string tokenizer;
  std::vector<std::string> files;
  int repeats = 3;
  bool json = false;
};

/// Seconds to encode all texts with one thread.
double seconds_to_encode(const Tokenizer& tokenizer, const std::vector<std::string>& texts, std::size_t& count) {
  std::vector<std::int32_t> tokens;
  count = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& text : texts) {
    tokens.clear();
    tokenizer.encode(text, tokens);
    count += tokens.size();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void bench_tokenizer(const TokenizerBenchOptions& options) {
  std::vector<std::string> texts;
  std::size_t bytes = 0, tokens = 0;
  for (const std::string& file : options.files) bytes += texts.emplace_back(read_file(file)).size();
  std::vector<double> seconds;
  std::string name;
  for (int i = 0; i < options.repeats; ++i) {
    const auto tokenizer = open_tokenizer(options.tokenizer);  // anew, so that no repeat knows the words of another
    name = tokenizer->name();
    seconds.push_back(seconds_to_encode(*tokenizer, texts, tokens));
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const double rate = static_cast<double>(bytes) / median / 1e6;
  if (options.json) {
    return fmt::print("{}\n", json_text({{"tokenizer", name},
                                         {"bytes", bytes},
                                         {"tokens", tokens},
                                         {"seconds", seconds},
                                         {"megabytes_per_second", rate}}));
  }
  fmt::print("{}: {:.1f} MB/s, {} bytes in {} tokens, one thread, median of {}\n", name, rate, bytes, tokens,
             options.repeats);
}

void add_bench_of_tokenizer(CLI::App& parent) {
  auto options = std::make_shared<TokenizerBenchOptions>();
  CLI::App* command = parent.add_subcommand("bench", "Time the encoding of files with one thread");
  command->add_option("tokenizer", options->tokenizer, kTokenizerHelp)->required();
  command->add_option("files", options->files, "Texts, each encoded by itself")->required();
  command->add_option("--repeats", options->repeats, "How often (default 3)")->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { bench_tokenizer(*options); });
}

}  // namespace

void add_tokenizer(CLI::App& app) {
  CLI::App* tokenizer = app.add_subcommand("tokenizer", "Show, try, train or time a tokenizer");
  tokenizer->require_subcommand(1);
  add_info_of_tokenizer(*tokenizer);
  add_encode(*tokenizer);
  add_decode(*tokenizer);
  add_train_tokenizer(*tokenizer);
  add_bench_of_tokenizer(*tokenizer);
}

}  // namespace octet::cli
