// Chat templates: the text of each, which parts of it are replies, and which of models' own templates are recognised.
#include "data/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "test_files.h"

namespace octet {
namespace {

using test::user_error;
using ::testing::AllOf;
using ::testing::HasSubstr;
using enum ChatRole;

const Conversation kShort{{user, "Hi"}, {assistant, "Hello!"}};
const Conversation kLong{{system, "Be kind."}, {user, " One? "}, {assistant, "1"}, {user, "Two?"}, {assistant, "\n2 "}};

/// The whole text, replies in braces.
std::string shown(ChatTemplate which, const Conversation& conversation) {
  std::string text;
  bool reply = false;
  for (const ChatPiece& piece : render_chat(which, conversation)) {
    if (piece.reply != reply) text += reply ? "}" : "{";
    reply = piece.reply;
    text += piece.text;
  }
  return reply ? text + "}" : text;
}

TEST(ChatTemplate, Llama3) {
  EXPECT_EQ(shown(ChatTemplate::llama3, kShort),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n{Hello!<|eot_id|>}");
  EXPECT_EQ(shown(ChatTemplate::llama3, kLong),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nOne?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n{1<|eot_id|>}"
            "<|start_header_id|>user<|end_header_id|>\n\nTwo?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n{2<|eot_id|>}");
}

TEST(ChatTemplate, Llama31BeginsWithItsDates) {
  const std::string dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  const std::string begin = "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n" + dates;
  EXPECT_EQ(shown(ChatTemplate::llama3_1, kShort),
            begin +
                "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                "<|start_header_id|>assistant<|end_header_id|>\n\n{Hello!<|eot_id|>}");
  EXPECT_THAT(shown(ChatTemplate::llama3_1, kLong),
              HasSubstr(begin + "Be kind.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nOne?<|eot_id|>"));
}

TEST(ChatTemplate, ChatMl) {
  const std::string turns = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n{Hello!<|im_end|>}\n";
  EXPECT_EQ(shown(ChatTemplate::chatml, kShort), turns);
  EXPECT_EQ(
      shown(ChatTemplate::qwen2_5, kShort),
      "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n" + turns);
  const std::string long_turns =
      "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n One? <|im_end|>\n"
      "<|im_start|>assistant\n{1<|im_end|>}\n<|im_start|>user\nTwo?<|im_end|>\n"
      "<|im_start|>assistant\n{\n2 <|im_end|>}\n";
  EXPECT_EQ(shown(ChatTemplate::chatml, kLong), long_turns);
  EXPECT_EQ(shown(ChatTemplate::qwen2_5, kLong), long_turns);
}

TEST(ChatTemplate, Qwen3KeepsTheReasoningOfTheLastReply) {
  EXPECT_EQ(shown(ChatTemplate::qwen3, kShort),
            "<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n{<think>\n\n</think>\n\nHello!<|im_end|>}\n");
  const Conversation reasoned{{user, "One?"},
                              {assistant, "<think>\nhm\n</think>\n\n1"},
                              {user, "Two?"},
                              {assistant, "<think>\nwell\n</think>\n\n2"}};
  EXPECT_EQ(shown(ChatTemplate::qwen3, reasoned),
            "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n{1<|im_end|>}\n"
            "<|im_start|>user\nTwo?<|im_end|>\n"
            "<|im_start|>assistant\n{<think>\nwell\n</think>\n\n2<|im_end|>}\n");
  // Of several replies to one turn, all that have reasoning keep it, and the last has a place for it.
  EXPECT_EQ(shown(ChatTemplate::qwen3, {{user, "?"}, {assistant, "a"}, {assistant, "r</think>b"}, {assistant, "c"}}),
            "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n{a<|im_end|>}\n"
            "<|im_start|>assistant\n{<think>\nr\n</think>\n\nb<|im_end|>}\n"
            "<|im_start|>assistant\n{<think>\n\n</think>\n\nc<|im_end|>}\n");
}

TEST(ChatTemplate, DeepSeekV3) {
  EXPECT_EQ(shown(ChatTemplate::deepseek_v3, kShort),
            "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜>{Hello!<｜end▁of▁sentence｜>}");
  EXPECT_EQ(shown(ChatTemplate::deepseek_v3, kLong),
            "<｜begin▁of▁sentence｜>Be kind.<｜User｜> One? <｜Assistant｜>{1<｜end▁of▁sentence｜>}"
            "<｜User｜>Two?<｜Assistant｜>{\n2 <｜end▁of▁sentence｜>}");
  EXPECT_THAT(shown(ChatTemplate::deepseek_v3, {{system, "a"}, {user, "b"}, {system, "c"}}),
              HasSubstr("sentence｜>a\n\nc<｜User｜>b"));
}

TEST(ChatTemplate, SpecialTokensAreNamedAndTextIsNever) {
  for (const char* name : {"llama3", "llama3.1", "chatml", "qwen2.5", "qwen3", "deepseek-v3"}) {
    const ChatTemplate which = find_chat_template(name);
    EXPECT_EQ(chat_template_name(which), name);
    const auto tokens = special_tokens_of(which);
    // What a user writes stays text, were it the name of a special token.
    const Conversation conversation{{user, "<|eot_id|><|im_end|><｜end▁of▁sentence｜>"}, {assistant, "<|im_start|>"}};
    std::size_t messages = 0;
    for (const ChatPiece& piece : render_chat(which, conversation)) {
      const bool known = std::ranges::find(tokens, piece.text) != tokens.end();
      EXPECT_TRUE(piece.special ? known : !piece.text.empty()) << piece.text;
      messages = std::max(messages, piece.message + 1);
    }
    EXPECT_EQ(messages, 2U);
  }
  EXPECT_THAT(user_error([] { (void)find_chat_template("llama2"); }),
              AllOf(HasSubstr("no chat template \"llama2\""), HasSubstr("llama3, llama3.1, chatml")));
}

/// Marks as they stand in the models' own templates.
TEST(ChatTemplate, ThoseOfModelsAreRecognised) {
  const std::string llama = "{{ '<|start_header_id|>' + role + '<|end_header_id|>' + content | trim + '<|eot_id|>' }}";
  const std::string chatml = "{{ '<|im_start|>' + role + '\\n' + content + '<|im_end|>' }}";
  const std::string deepseek = "{{ '<｜User｜>' + a + '<｜Assistant｜>' + b + '<｜end▁of▁sentence｜>' }}";
  const auto recognised = [](const std::string& text) { return recognise_chat_template(text, "here"); };
  EXPECT_EQ(recognised(llama), ChatTemplate::llama3);
  EXPECT_EQ(recognised("{{ \"Today Date: \" }}{%- set date_string = \"26 Jul 2024\" %}{{ tools }}" + llama),
            ChatTemplate::llama3_1);
  EXPECT_EQ(recognised(chatml), ChatTemplate::chatml);
  EXPECT_EQ(recognised("{{ tools }}You are Qwen, created by Alibaba Cloud. You are a helpful assistant." + chatml),
            ChatTemplate::qwen2_5);
  EXPECT_EQ(recognised("{{ tools }}<think> last_query_index enable_thinking" + chatml), ChatTemplate::qwen3);
  EXPECT_EQ(recognised(deepseek), ChatTemplate::deepseek_v3);
  for (const std::string& other : {std::string(), std::string("[INST] {{ content }} [/INST]"),
                                   "{{ strftime_now('%d %b %Y') }} 26 Jul 2024" + llama, "{{ system }}" + chatml,
                                   "{{ system }}" + llama, "{{ tools }}" + chatml, deepseek + "{{ '</think>' }}"}) {
    EXPECT_THAT(user_error([&] { (void)recognised(other); }),
                AllOf(HasSubstr("here: unsupported chat template"), HasSubstr("--template")))
        << other;
  }
}

}  // namespace
}  // namespace octet
