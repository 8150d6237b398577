#include "data/chat_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/files.h"
#include "io/text.h"

namespace octet {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLine = std::size_t{64} << 20;

ChatRole role_of(const std::string& name, const std::string& where) {
  if (name == "system") return ChatRole::system;
  if (name == "user" || name == "human") return ChatRole::user;
  if (name == "assistant" || name == "gpt") return ChatRole::assistant;
  throw UserError("{}: the role \"{}\" is not supported: turns are the system's, the user's and the assistant's", where,
                  printable(name));
}

const std::string& string_of(const json& message, const char* key, const std::string& where) {
  const auto found = message.find(key);
  if (found == message.end()) throw UserError("{}: the turn has no \"{}\"", where, key);
  if (!found->is_string()) {
    throw UserError("{}: \"{}\" is no string but {}: only text is supported", where, key, found->type_name());
  }
  return found->get_ref<const std::string&>();
}

ChatMessage message_of(const json& message, const char* role, const char* content, const std::string& where) {
  if (!message.is_object()) throw UserError("{}: the turn is no object but {}", where, message.type_name());
  for (const char* key : {"tool_calls", "function_call", "reasoning_content"}) {
    const auto found = message.find(key);
    if (found != message.end() && !found->is_null() && !found->empty()) {
      throw UserError("{}: \"{}\" is not supported: leave the conversation out, or put it into the text", where, key);
    }
  }
  return {role_of(string_of(message, role, where), where), string_of(message, content, where)};
}

/// "" and "tools" apart: what a conversation has beside its turns is either without effect on them, or refused.
const json& turns_of(const json& parsed, const char* key, const std::string& where) {
  const auto tools = parsed.find("tools");
  if (tools != parsed.end() && !tools->is_null() && !tools->empty()) {
    throw UserError("{}: \"tools\" are not supported: leave the conversation out", where);
  }
  const json& turns = parsed.at(key);
  if (!turns.is_array() || turns.empty()) throw UserError("{}: \"{}\" is no list of turns", where, key);
  return turns;
}

/// The template in "chat_template" of a tokenizer's configuration.
std::string template_of(const json& config, const std::string& where) {
  const auto found = config.find("chat_template");
  if (found != config.end() && found->is_string()) return found->get<std::string>();
  if (found != config.end() && found->is_array()) {
    for (const json& named : *found) {
      if (named.is_object() && named.value("name", json()) == "default" && named.contains("template") &&
          named.at("template").is_string()) {
        return named.at("template").get<std::string>();
      }
    }
  }
  throw UserError("{}: has no chat_template: name the model's with --template", where);
}

}  // namespace

Conversation parse_conversation(std::string_view line, const std::string& where) {
  json parsed;
  try {
    parsed = json::parse(line);
  } catch (const json::exception& error) {
    throw UserError("{}: is no JSON: {}", where, printable(error.what()));
  }
  const bool openai = parsed.is_object() && parsed.contains("messages");
  if (!openai && !(parsed.is_object() && parsed.contains("conversations"))) {
    throw UserError("{}: has neither \"messages\" nor \"conversations\": a line is one conversation", where);
  }
  Conversation conversation;
  for (const json& turn : turns_of(parsed, openai ? "messages" : "conversations", where)) {
    const std::string at = fmt::format("{}, turn {}", where, conversation.size() + 1);
    conversation.push_back(openai ? message_of(turn, "role", "content", at) : message_of(turn, "from", "value", at));
  }
  return conversation;
}

void for_each_conversation(const std::filesystem::path& path, const std::function<void(const Conversation&)>& use,
                           const ChatProgress& progress) {
  const MappedFile file(path);
  const std::string_view all{reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  if (all.empty()) throw UserError("{}: the file is empty: leave it out", path.string());
  if (all.starts_with("\x1f\x8b") || all.starts_with("\x28\xb5\x2f\xfd")) {
    throw UserError("{}: is compressed: unpack it first", path.string());
  }
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view line = all.substr(at, end - at);
    const std::string where = fmt::format("{}:{}", path.string(), ++number);
    if (line.size() > kMaxLine) throw UserError("{}: the line has {} bytes, more than 64 MiB", where, line.size());
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) use(parse_conversation(line, where));
    at = end + 1;
    if (progress) progress(end, all.size());
  }
}

ChatTemplate chat_template_of_model(const std::filesystem::path& directory) {
  if (const auto jinja = directory / "chat_template.jinja"; std::filesystem::exists(jinja)) {
    return recognise_chat_template(read_file(jinja), jinja.string());
  }
  const auto path = directory / "tokenizer_config.json";
  if (!std::filesystem::exists(path)) {
    throw UserError(
        "{}: has neither chat_template.jinja nor tokenizer_config.json: name the model's template with "
        "--template",
        directory.string());
  }
  try {
    return recognise_chat_template(template_of(json::parse(read_file(path)), path.string()), path.string());
  } catch (const json::exception& error) {
    throw UserError("{}: is no JSON: {}", path.string(), printable(error.what()));
  }
}

}  // namespace octet
