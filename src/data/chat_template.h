// Chat templates: a conversation as the text and special tokens that a family of models was trained to read.
//
// Each is a subset of what transformers does with the model's own template: system, user and assistant turns of text.
// Tools, images and the like are refused by whoever reads conversations (chat_reader.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

enum class ChatRole : std::uint8_t { system, user, assistant };

struct ChatMessage {
  ChatRole role = ChatRole::user;
  std::string content;
  bool operator==(const ChatMessage&) const = default;
};

using Conversation = std::vector<ChatMessage>;

enum class ChatTemplate : std::uint8_t {
  llama3,       ///< Llama 3
  llama3_1,     ///< Llama 3.1 and 3.3: a system turn with two dates comes first
  chatml,       ///< ChatML as such
  qwen2_5,      ///< ChatML with Qwen2.5's system turn where a conversation has none
  qwen3,        ///< ChatML with reasoning: kept in the last reply, an empty one where it has none, and left out before
  deepseek_v3,  ///< DeepSeek-V3 and V3-0324
};

/// "llama3", "llama3.1", "chatml", "qwen2.5", "qwen3", "deepseek-v3".
[[nodiscard]] std::string_view chat_template_name(ChatTemplate which);

/// Throws UserError for a name that is none of them.
[[nodiscard]] ChatTemplate find_chat_template(std::string_view name);

/// The template that `text`, a model's own in Jinja, is known to be, by marks that only that one has. Throws UserError,
/// which names `where` and what to do, for any other.
[[nodiscard]] ChatTemplate recognise_chat_template(std::string_view text, const std::string& where);

/// Part of a rendered conversation: text, or the name of one special token.
struct ChatPiece {
  std::string text;
  bool special = false;
  bool reply = false;       ///< what the assistant says, with the token that ends it
  std::size_t message = 0;  ///< that it belongs to; what comes before the first belongs to it

  bool operator==(const ChatPiece&) const = default;
};

/// Text pieces are not empty, and two in a row differ in `reply`: a reply is encoded by itself, as it is when a model
/// answers, everything else in one with its neighbours, as it is when a prompt is encoded. `conversation` has a
/// message.
[[nodiscard]] std::vector<ChatPiece> render_chat(ChatTemplate which, const Conversation& conversation);

/// Every special token that render_chat() can ask for.
[[nodiscard]] std::vector<std::string_view> special_tokens_of(ChatTemplate which);

}  // namespace octet
