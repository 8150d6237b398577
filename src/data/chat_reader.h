// Conversations from lines of JSON: {"messages": [{"role", "content"}, ...]} and ShareGPT's {"conversations":
// [{"from", "value"}, ...]}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "data/chat_template.h"

namespace octet {

/// The conversation of one line. `where` begins messages, "chat.jsonl:12". Throws UserError for what is no JSON, no
/// conversation, or one with more than turns of text: tools, images, other roles.
[[nodiscard]] Conversation parse_conversation(std::string_view line, const std::string& where);

/// Told after each line: bytes done, and bytes of the file.
using ChatProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Calls `use` with each conversation of a file, in order; empty lines are passed over. Throws UserError as above, and
/// for a file that is missing, empty, compressed, or has a line of more than 64 MiB.
void for_each_conversation(const std::filesystem::path& path, const std::function<void(const Conversation&)>& use,
                           const ChatProgress& progress = {});

/// The template of a model in `directory`: chat_template.jinja, else "chat_template" of tokenizer_config.json, of
/// several the one named "default". Throws UserError where there is none or it is not supported.
[[nodiscard]] ChatTemplate chat_template_of_model(const std::filesystem::path& directory);

}  // namespace octet
