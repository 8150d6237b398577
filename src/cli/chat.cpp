// octet chat: conversations to a shard for fine-tuning.
#include "data/chat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/error.h"
#include "data/chat_reader.h"
#include "data/open_tokenizer.h"
#include "data/shard_format.h"

namespace octet::cli {
namespace {

constexpr const char* kFromModel = "auto";

struct ChatCommand {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;
  std::string tokenizer;
  std::string chat_template = kFromModel;
  ChatOptions options;
  bool json = false;
};

ChatTemplate template_of(const ChatCommand& command) {
  if (command.chat_template != kFromModel) return find_chat_template(command.chat_template);
  const std::filesystem::path path = command.tokenizer;
  return chat_template_of_model(std::filesystem::is_directory(path) ? path : path.parent_path());
}

void print(const ChatCommand& command, const ChatResult& result) {
  const ChatOptions& options = command.options;
  const std::uint64_t tokens = result.rows * (options.seq_len + std::uint64_t{1});
  if (command.json) {
    const nlohmann::ordered_json json = {{"template", chat_template_name(options.chat_template)},
                                         {"seq_len", options.seq_len},
                                         {"conversations", result.conversations},
                                         {"truncated", result.truncated},
                                         {"dropped_too_long", result.dropped_long},
                                         {"dropped_without_target", result.dropped_empty},
                                         {"sequences", result.rows},
                                         {"tokens", tokens},
                                         {"target_tokens", result.targets},
                                         {"padding_tokens", result.padding}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  const auto share = [tokens](std::uint64_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(tokens);
  };
  fmt::print("{} conversations of template {} in {}\n", result.conversations, chat_template_name(options.chat_template),
             command.output.string());
  fmt::print("{} sequences of seq_len {}: {} tokens, {:.1f} % targets, {:.1f} % padding\n", result.rows,
             options.seq_len, tokens, share(result.targets), share(result.padding));
  if (result.truncated > 0) fmt::print("{} conversations were too long and lost their ends\n", result.truncated);
  if (result.dropped_long > 0) fmt::print("{} conversations were too long and left out\n", result.dropped_long);
  if (result.dropped_empty > 0) fmt::print("{} conversations had no target and were left out\n", result.dropped_empty);
}

void run(ChatCommand& command) {
  const auto tokenizer = open_tokenizer(command.tokenizer);
  command.options.chat_template = template_of(command);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto progress = [terminal](std::uint64_t done, std::uint64_t total) {
    if (terminal && (done % 64 == 0 || done == total)) {
      fmt::print(stderr, "\rtokenizing {:.0f} %\x1b[K", 100.0 * static_cast<double>(done) / static_cast<double>(total));
    }
  };
  const ChatResult result = tokenize_chats(*tokenizer, command.inputs, command.output, command.options, progress);
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  print(command, result);
}

}  // namespace

void add_chat(CLI::App& app) {
  auto command = std::make_shared<ChatCommand>();
  CLI::App* chat = app.add_subcommand("chat", "Make a token shard for fine-tuning from conversations");
  chat->add_option("inputs", command->inputs, "JSONL files: a conversation a line")->required();
  chat->add_option("--train", command->output, "Shard to write")->required();
  chat->add_option("--tokenizer", command->tokenizer, "The model's: its directory, or what octet tokenize takes")
      ->required();
  chat->add_option("--seq-len", command->options.seq_len, "training.seq_len of the run")
      ->required()
      ->check(CLI::Range(std::uint32_t{1}, kMaxRowTokens - 1));
  chat->add_option("--template", command->chat_template,
                   "auto (that of the tokenizer's directory), llama3, llama3.1, chatml, qwen2.5, qwen3, deepseek-v3");
  const auto set_loss = [command](const std::string& name) {
    command->options.loss = name == "all"          ? ChatLoss::all
                            : name == "last-reply" ? ChatLoss::last_reply
                                                   : ChatLoss::replies;
  };
  chat->add_option_function<std::string>("--loss", set_loss, "Targets: replies, last-reply or all (default replies)")
      ->check(CLI::IsMember({"replies", "last-reply", "all"}));
  const auto set_too_long = [command](const std::string& name) {
    command->options.too_long = name == "drop" ? TooLong::drop : TooLong::truncate;
  };
  chat->add_option_function<std::string>("--too-long", set_too_long,
                                         "Conversations beyond seq_len + 1 tokens: truncate or drop (default truncate)")
      ->check(CLI::IsMember({"truncate", "drop"}));
  chat->add_flag("--json", command->json, "Print JSON");
  chat->callback([command] { run(*command); });
}

}  // namespace octet::cli
