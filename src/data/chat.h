// Conversations to a shard for fine-tuning: rows of whole conversations, with losses on what the assistant says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "data/chat_template.h"
#include "data/tokenizer.h"

namespace octet {

/// Which tokens are targets: those of all replies, with the token that ends each; those of a conversation's last reply;
/// or all but a conversation's first.
enum class ChatLoss : std::uint8_t { replies, last_reply, all };

/// What becomes of a conversation of more than seq_len + 1 tokens.
enum class TooLong : std::uint8_t { truncate, drop };

struct ChatOptions {
  ChatTemplate chat_template = ChatTemplate::llama3;
  std::uint32_t seq_len = 0;  ///< that of the training, at least 1 and below kMaxRowTokens
  ChatLoss loss = ChatLoss::replies;
  TooLong too_long = TooLong::truncate;
};

/// What was read and what became of it.
struct ChatResult {
  std::uint64_t conversations = 0;  ///< read
  std::uint64_t truncated = 0;      ///< of them, at seq_len + 1 tokens
  std::uint64_t dropped_long = 0;   ///< of them, for their length
  std::uint64_t dropped_empty = 0;  ///< of them, for want of a target, where truncation has cut it off too
  std::uint64_t rows = 0;           ///< written, of seq_len + 1 tokens each
  std::uint64_t targets = 0;        ///< tokens in them that are targets
  std::uint64_t padding = 0;        ///< tokens in them that are none of a conversation
};

/// Writes the conversations of `inputs` to the shard `output`. The same inputs give the same bytes. Throws UserError
/// for conversations that cannot be read (chat_reader.h), special tokens that the tokenizer lacks, an output that is an
/// input, nothing to write, and a disk that refuses.
ChatResult tokenize_chats(const Tokenizer& tokenizer, std::span<const std::filesystem::path> inputs,
                          const std::filesystem::path& output, const ChatOptions& options,
                          const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace octet
