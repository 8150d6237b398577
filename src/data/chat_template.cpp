#include "data/chat_template.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace octet {
namespace {

/// What tells the templates apart, and how a turn is put.
struct Style {
  std::string_view name;
  std::string_view begin;                   // special token before all turns; empty: none
  std::string_view default_system;          // of conversations without a system turn; empty: none
  std::string_view turn, role_end;          // special tokens around a turn's role; an empty role_end is a line break
  std::string_view turn_end;                // special token
  std::string_view after_turn;              // text
  bool trims = false;                       // white space around a turn's text goes
  std::array<std::string_view, 5> has;      // in the model's own template: all of these
  std::array<std::string_view, 4> has_not;  // and none of these
};

constexpr std::string_view kDates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
constexpr std::string_view kThink = "<think>";
constexpr std::string_view kThinkEnd = "</think>";
constexpr std::string_view kUser = "<｜User｜>";
constexpr std::string_view kAssistant = "<｜Assistant｜>";

constexpr Style llama(std::string_view name) {
  return {.name = name,
          .begin = "<|begin_of_text|>",
          .default_system = {},
          .turn = "<|start_header_id|>",
          .role_end = "<|end_header_id|>",
          .turn_end = "<|eot_id|>",
          .after_turn = {},
          .trims = true,
          .has = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "trim"},
          .has_not = {}};
}

constexpr Style chatml(std::string_view name) {
  return {.name = name,
          .begin = {},
          .default_system = {},
          .turn = "<|im_start|>",
          .role_end = {},
          .turn_end = "<|im_end|>",
          .after_turn = "\n",
          .trims = false,
          .has = {"<|im_start|>", "<|im_end|>"},
          .has_not = {}};
}

constexpr std::array<Style, 6> make_styles() {
  Style llama3 = llama("llama3");
  llama3.has_not = {"system", "tools", "Today Date", "strftime_now"};
  Style llama3_1 = llama("llama3.1");
  llama3_1.has[4] = "26 Jul 2024";
  llama3_1.has_not = {"strftime_now"};
  Style plain = chatml("chatml");
  plain.has_not = {"system", "tools", kThink};
  Style qwen2_5 = chatml("qwen2.5");
  qwen2_5.default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
  qwen2_5.has[2] = qwen2_5.default_system;
  qwen2_5.has_not = {kThink};
  Style qwen3 = chatml("qwen3");
  qwen3.has[2] = "last_query_index";
  qwen3.has[3] = "enable_thinking";
  Style deepseek{.name = "deepseek-v3",
                 .begin = "<｜begin▁of▁sentence｜>",
                 .default_system = {},
                 .turn = {},
                 .role_end = {},
                 .turn_end = "<｜end▁of▁sentence｜>",
                 .after_turn = {},
                 .trims = false,
                 .has = {kUser, kAssistant, "<｜end▁of▁sentence｜>"},
                 .has_not = {kThink, kThinkEnd}};
  return {llama3, llama3_1, plain, qwen2_5, qwen3, deepseek};
}

constexpr std::array<Style, 6> kStyles = make_styles();

const Style& style_of(ChatTemplate which) {
  return kStyles[static_cast<std::size_t>(which)];
}

std::string template_names() {
  std::vector<std::string_view> all;
  for (const Style& style : kStyles) all.push_back(style.name);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string_view strip(std::string_view text, std::string_view what, bool front = true, bool back = true) {
  while (front && !text.empty() && what.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (back && !text.empty() && what.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

/// White space in ASCII, which is what occurs at the ends of turns.
std::string_view trim_turn(std::string_view text) {
  return strip(text, " \t\n\r\v\f");
}

std::string_view role_name(ChatRole role) {
  constexpr std::array<std::string_view, 3> kNames{"system", "user", "assistant"};
  return kNames[static_cast<std::size_t>(role)];
}

/// Collects pieces, joining texts.
class Pieces {
 public:
  void special(std::string_view token, bool reply = false) {
    if (!token.empty()) pieces_.push_back({std::string(token), true, reply, message_});
  }
  void text(std::string_view text, bool reply = false) {
    if (text.empty()) return;
    if (!pieces_.empty() && !pieces_.back().special && pieces_.back().reply == reply) {
      pieces_.back().text += text;
    } else {
      pieces_.push_back({std::string(text), false, reply, message_});
    }
  }
  void begin_message(std::size_t message) { message_ = message; }
  [[nodiscard]] std::vector<ChatPiece> take() { return std::move(pieces_); }

 private:
  std::vector<ChatPiece> pieces_;
  std::size_t message_ = 0;
};

/// The parts of a reply that Qwen3 tells apart.
struct Reasoned {
  std::string_view reasoning, answer;
};

Reasoned split_reasoning(std::string_view content) {
  const std::size_t first_end = content.find(kThinkEnd);
  if (first_end == std::string_view::npos) return {{}, content};
  std::string_view reasoning = strip(content.substr(0, first_end), "\n", false, true);
  if (const std::size_t begin = reasoning.rfind(kThink); begin != std::string_view::npos) {
    reasoning.remove_prefix(begin + kThink.size());
  }
  const std::size_t last_end = content.rfind(kThinkEnd);
  return {strip(reasoning, "\n", true, false), strip(content.substr(last_end + kThinkEnd.size()), "\n", true, false)};
}

/// A reply as Qwen3 has it: `is_last` of the conversation, `is_open` behind the last of the user's turns.
void put_reasoned(Pieces& out, std::string_view content, bool is_last, bool is_open) {
  const auto [reasoning, answer] = split_reasoning(content);
  if (!is_open || (!is_last && reasoning.empty())) return out.text(answer, true);
  out.special(kThink, true);
  out.text("\n", true);
  out.text(strip(reasoning, "\n"), true);
  out.text("\n", true);
  out.special(kThinkEnd, true);
  out.text("\n\n", true);
  out.text(strip(answer, "\n", true, false), true);
}

void begin_turn(Pieces& out, const Style& style, ChatRole role) {
  out.special(style.turn);
  out.text(role_name(role));
  out.special(style.role_end);
  out.text(style.role_end.empty() ? "\n" : "\n\n");
}

void put_turn(Pieces& out, const Style& style, ChatRole role, std::string_view content) {
  const bool reply = role == ChatRole::assistant;
  begin_turn(out, style, role);
  out.text(style.trims ? trim_turn(content) : content, reply);
  out.special(style.turn_end, reply);
  out.text(style.after_turn);
}

std::vector<ChatPiece> render_deepseek(const Style& style, const Conversation& conversation) {
  Pieces out;
  out.special(style.begin);
  std::string_view separator;
  for (const ChatMessage& message : conversation) {  // all system turns come first, wherever they stand
    if (message.role != ChatRole::system) continue;
    out.text(separator);
    out.text(message.content);
    separator = "\n\n";
  }
  for (std::size_t i = 0; i < conversation.size(); ++i) {
    const ChatMessage& message = conversation[i];
    if (message.role == ChatRole::system) continue;
    const bool reply = message.role == ChatRole::assistant;
    out.begin_message(i);
    out.special(reply ? kAssistant : kUser);
    out.text(message.content, reply);
    if (reply) out.special(style.turn_end, true);
  }
  return out.take();
}

/// What comes before the turns, with the first of them where that is the system's. Returns how many turns are done.
std::size_t put_opening(Pieces& out, ChatTemplate which, const Conversation& conversation) {
  const Style& style = style_of(which);
  out.special(style.begin);
  const bool has_system = conversation.front().role == ChatRole::system;
  if (which == ChatTemplate::llama3_1) {
    begin_turn(out, style, ChatRole::system);
    out.text(kDates);
    if (has_system) out.text(trim_turn(conversation.front().content));
    out.special(style.turn_end);
    return has_system ? 1 : 0;
  }
  if (!has_system && !style.default_system.empty()) put_turn(out, style, ChatRole::system, style.default_system);
  return 0;
}

}  // namespace

std::string_view chat_template_name(ChatTemplate which) {
  return style_of(which).name;
}

ChatTemplate find_chat_template(std::string_view name) {
  const auto found = std::ranges::find(kStyles, name, &Style::name);
  if (found == kStyles.end())
    throw UserError("there is no chat template \"{}\": choose from {}", name, template_names());
  return static_cast<ChatTemplate>(found - kStyles.begin());
}

ChatTemplate recognise_chat_template(std::string_view text, const std::string& where) {
  const auto contains = [text](std::string_view mark) {
    return !mark.empty() && text.find(mark) != std::string_view::npos;
  };
  const auto contains_or_none = [&](std::string_view mark) { return mark.empty() || contains(mark); };
  for (const Style& style : kStyles) {
    if (std::ranges::all_of(style.has, contains_or_none) && std::ranges::none_of(style.has_not, contains)) {
      return static_cast<ChatTemplate>(&style - kStyles.data());
    }
  }
  throw UserError(
      "{}: unsupported chat template: it is none that octet knows ({}); where the model was trained on one of these, "
      "name it with --template",
      where, template_names());
}

std::vector<ChatPiece> render_chat(ChatTemplate which, const Conversation& conversation) {
  check(!conversation.empty(), "a conversation has a message");
  const Style& style = style_of(which);
  if (which == ChatTemplate::deepseek_v3) return render_deepseek(style, conversation);
  Pieces out;
  const std::size_t last_user = [&] {
    std::size_t last = conversation.size() - 1;
    for (std::size_t i = 0; i < conversation.size(); ++i) last = conversation[i].role == ChatRole::user ? i : last;
    return last;
  }();
  for (std::size_t i = put_opening(out, which, conversation); i < conversation.size(); ++i) {
    const ChatMessage& message = conversation[i];
    out.begin_message(i);
    if (which == ChatTemplate::qwen3 && message.role == ChatRole::assistant) {
      begin_turn(out, style, message.role);
      put_reasoned(out, message.content, i + 1 == conversation.size(), i > last_user);
      out.special(style.turn_end, true);
      out.text(style.after_turn);
    } else {
      put_turn(out, style, message.role, message.content);
    }
  }
  return out.take();
}

std::vector<std::string_view> special_tokens_of(ChatTemplate which) {
  const Style& style = style_of(which);
  std::vector<std::string_view> tokens;
  for (const std::string_view token : {style.begin, style.turn, style.role_end, style.turn_end}) {
    if (!token.empty()) tokens.push_back(token);
  }
  if (which == ChatTemplate::qwen3) tokens.insert(tokens.end(), {kThink, kThinkEnd});
  if (which == ChatTemplate::deepseek_v3) tokens.insert(tokens.end(), {kUser, kAssistant});
  return tokens;
}

}  // namespace octet
