#include "data/chat.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/chat_reader.h"
#include "data/row_packer.h"
#include "data/shard_writer.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPackedTokens = std::size_t{1} << 24;  // at a time

/// The ids of the template's special tokens.
std::map<std::string, std::int32_t, std::less<>> find_special_tokens(const Tokenizer& tokenizer, ChatTemplate which) {
  std::map<std::string, std::int32_t, std::less<>> ids;
  std::vector<std::string_view> missing;
  for (const std::string_view name : special_tokens_of(which)) {
    if (const auto id = tokenizer.special_token(name)) {
      ids.emplace(name, *id);
    } else {
      missing.push_back(name);
    }
  }
  if (missing.empty()) return ids;
  throw UserError(
      "the tokenizer {} has no special tokens {}, which the chat template {} needs: use the tokenizer of a model that "
      "was trained on it, or another --template",
      tokenizer.name(), fmt::join(missing, " "), chat_template_name(which));
}

void check_paths(std::span<const fs::path> inputs, const fs::path& output) {
  if (inputs.empty()) throw UserError("no conversations: name at least one file");
  for (const fs::path& input : inputs) {
    std::error_code absent;  // an output that does not exist yet is no input
    if (fs::equivalent(input, output, absent)) {
      throw UserError("{}: is both an input and the output: name another output", output.string());
    }
  }
}

/// Conversations to tokens with marks.
class ChatEncoder {
 public:
  ChatEncoder(const Tokenizer& tokenizer, const ChatOptions& options)
      : tokenizer_(tokenizer), options_(options), special_(find_special_tokens(tokenizer, options.chat_template)) {}

  [[nodiscard]] MarkedTokens encode(const Conversation& conversation) const {
    MarkedTokens encoded;
    const std::size_t last = last_reply(conversation);
    for (const ChatPiece& piece : render_chat(options_.chat_template, conversation)) {
      if (piece.special) {
        encoded.tokens.push_back(special_.find(piece.text)->second);
      } else {
        tokenizer_.encode(piece.text, encoded.tokens);
      }
      const bool target = options_.loss == ChatLoss::all ||
                          (piece.reply && (options_.loss == ChatLoss::replies || piece.message == last));
      encoded.marks.resize(encoded.tokens.size(), target ? TokenMark::none : TokenMark::no_target);
    }
    return encoded;
  }

  /// What fills rows: any token does, none is learned from.
  [[nodiscard]] std::int32_t padding() const { return special_.begin()->second; }

 private:
  static std::size_t last_reply(const Conversation& conversation) {
    std::size_t last = conversation.size();
    for (std::size_t i = 0; i < conversation.size(); ++i) {
      if (conversation[i].role == ChatRole::assistant) last = i;
    }
    return last;
  }

  const Tokenizer& tokenizer_;
  const ChatOptions& options_;
  std::map<std::string, std::int32_t, std::less<>> special_;
};

/// Of a conversation by itself: its first token has nothing to be predicted from.
bool has_target(const MarkedTokens& conversation) {
  return std::find(conversation.marks.begin() + 1, conversation.marks.end(), TokenMark::none) !=
         conversation.marks.end();
}

}  // namespace

ChatResult tokenize_chats(const Tokenizer& tokenizer, std::span<const fs::path> inputs, const fs::path& output,
                          const ChatOptions& options,
                          const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  check(options.seq_len >= 1 && options.seq_len < kMaxRowTokens, "rows have a length");
  check_paths(inputs, output);
  const ChatEncoder encoder(tokenizer, options);
  const std::size_t row_tokens = std::size_t{options.seq_len} + 1;
  ShardWriter writer(output, tokenizer.vocab_size(), {.tokenizer = tokenizer.fingerprint(), .document_end = {}},
                     {.marked = true, .row_tokens = static_cast<std::uint32_t>(row_tokens)});
  ChatResult result;
  RowPacker packer(row_tokens, kPackedTokens, encoder.padding(), [&](const MarkedTokens& row) {
    writer.append(row.tokens, row.marks);
    result.targets += static_cast<std::uint64_t>(std::ranges::count(row.marks, TokenMark::none));
  });
  for (const fs::path& input : inputs) {
    for_each_conversation(
        input,
        [&](const Conversation& conversation) {
          ++result.conversations;
          MarkedTokens encoded = encoder.encode(conversation);
          const bool is_long = encoded.tokens.size() > row_tokens;
          if (is_long && options.too_long == TooLong::drop) {
            ++result.dropped_long;
            return;
          }
          encoded.tokens.resize(std::min(encoded.tokens.size(), row_tokens));
          encoded.marks.resize(encoded.tokens.size());
          if (!has_target(encoded)) {
            ++result.dropped_empty;
            return;
          }
          if (is_long) ++result.truncated;
          packer.add(std::move(encoded));
        },
        progress);
  }
  packer.finish();
  result.rows = packer.rows();
  result.padding = packer.padded();
  if (result.rows == 0) {
    throw UserError("none of {} conversations is left: {} are longer than seq_len {} + 1, {} have no target",
                    result.conversations, result.dropped_long, options.seq_len, result.dropped_empty);
  }
  writer.finish();
  return result;
}

}  // namespace octet
