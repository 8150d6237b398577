// Conversations from files to shards: readers, packing, masks, and every way in which lines can be wrong.
#include "data/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <random>

#include "data/byte_tokenizer.h"
#include "data/chat_reader.h"
#include "data/loader.h"
#include "data/row_packer.h"
#include "io/mutations.h"
#include "test_files.h"

namespace octet {
namespace {

using test::TempFolder;
using test::user_error;
using ::testing::AllOf;
using ::testing::HasSubstr;
using enum ChatRole;

/// Bytes, and the special tokens that it is told of behind them.
class SpecialTokenizer final : public Tokenizer {
 public:
  explicit SpecialTokenizer(const std::vector<std::string_view>& special) {
    for (const std::string_view name : special) ids_.emplace(name, static_cast<std::int32_t>(256 + ids_.size()));
  }
  void encode(std::string_view text, std::vector<std::int32_t>& tokens) const override { bytes_.encode(text, tokens); }
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const override {
    return bytes_.decode(tokens);
  }
  [[nodiscard]] std::uint64_t vocab_size() const override { return 256 + ids_.size(); }
  [[nodiscard]] std::string_view name() const override { return "special"; }
  [[nodiscard]] std::uint64_t fingerprint() const override { return 77; }
  [[nodiscard]] std::optional<std::int32_t> special_token(std::string_view name) const override {
    const auto found = ids_.find(std::string(name));
    if (found == ids_.end()) return {};
    return found->second;
  }
  /// Tokens as text, special ones by their names.
  [[nodiscard]] std::string shown(std::span<const std::int32_t> tokens) const {
    std::string text;
    for (const std::int32_t token : tokens) {
      if (token < 256) text += static_cast<char>(token);
      for (const auto& [name, id] : ids_) text += id == token ? name : "";
    }
    return text;
  }

 private:
  ByteTokenizer bytes_;
  std::map<std::string, std::int32_t> ids_;
};

const SpecialTokenizer kChatMl(special_tokens_of(ChatTemplate::chatml));

ChatOptions chatml_options(std::uint32_t seq_len) {
  return {.chat_template = ChatTemplate::chatml, .seq_len = seq_len};
}

struct Row {
  std::vector<std::int32_t> inputs, targets, document_start;
};

std::vector<Row> rows_of(const std::filesystem::path& path, std::size_t seq_len) {
  std::vector<Shard> shards;
  shards.emplace_back(path, 1000);
  Loader loader(std::move(shards), seq_len, 1, DataOrder::as_stored);
  std::vector<Row> rows(loader.windows_per_epoch());
  for (Row& row : rows) {
    for (auto* part : {&row.inputs, &row.targets, &row.document_start}) part->resize(seq_len);
    loader.next_batch({row.inputs, row.targets, row.document_start});
  }
  return rows;
}

/// The targets of a row as text, "~" where there is none.
std::string targets_of(const Row& row) {
  std::string text;
  for (const std::int32_t target : row.targets) text += target < 0 ? "~" : kChatMl.shown(std::span(&target, 1));
  return text;
}

constexpr const char* kTwo =
    R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"},)"
    R"( {"role": "user", "content": "More"}, {"role": "assistant", "content": "No"}]})"
    "\n";

TEST(Chat, RepliesAloneAreTargets) {
  const TempFolder folder;
  test::write_file(folder / "a.jsonl", kTwo);
  const std::string text =
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"
      "<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\nNo<|im_end|>\n";
  for (const ChatLoss loss : {ChatLoss::replies, ChatLoss::last_reply, ChatLoss::all}) {
    ChatOptions options = chatml_options(79);
    options.loss = loss;
    const auto inputs = std::vector{folder / "a.jsonl"};
    const ChatResult result = tokenize_chats(kChatMl, inputs, folder / "a.tok", options);
    EXPECT_EQ(result.conversations, 1U);
    EXPECT_EQ(result.rows, 1U);
    const Row row = rows_of(folder / "a.tok", 79).at(0);
    const std::size_t length = 80 - result.padding;
    EXPECT_EQ(kChatMl.shown(std::span(row.inputs).first(length)), text);
    // By another way than that of the encoder: search the text for what must count.
    std::string targets = targets_of(row);
    targets.erase(std::remove(targets.begin(), targets.end(), '~'), targets.end());
    std::string counted = "Yo<|im_end|>No<|im_end|>";
    if (loss == ChatLoss::last_reply) counted = "No<|im_end|>";
    if (loss == ChatLoss::all) counted = text.substr(std::string("<|im_start|>").size());
    EXPECT_EQ(targets, counted);
    for (std::size_t t = 0; t + 1 < row.inputs.size(); ++t) {
      EXPECT_TRUE(row.targets[t] == -1 || row.targets[t] == row.inputs[t + 1]) << t;
      EXPECT_EQ(row.document_start[t], t < length ? 0 : static_cast<std::int32_t>(t)) << t;
    }
  }
}

TEST(Chat, ShareGptIsTheSame) {
  const TempFolder folder;
  test::write_file(folder / "a.jsonl", kTwo);
  test::write_file(folder / "b.jsonl", R"({"conversations": [{"from": "human", "value": "Hi"},)"
                                       R"( {"from": "gpt", "value": "Yo"}, {"from": "user", "value": "More"},)"
                                       R"( {"from": "assistant", "value": "No"}], "id": 3})");
  for (const char* name : {"a", "b"}) {
    const auto inputs = std::vector{folder / (std::string(name) + ".jsonl")};
    (void)tokenize_chats(kChatMl, inputs, folder / name, chatml_options(100));
  }
  EXPECT_EQ(test::read_file(folder / "a"), test::read_file(folder / "b"));
}

/// Conversations of all lengths, packed: each whole one is found in some row, as a document, once.
TEST(Chat, RowsHoldWholeConversations) {
  std::mt19937_64 random(1);
  const TempFolder folder;
  std::string lines;
  std::vector<std::string> texts;
  constexpr std::size_t kRow = 128;
  std::size_t too_long = 0;
  std::size_t all = 0;     // tokens of the others
  std::size_t halves = 0;  // of them, those of more than half a row
  for (int i = 0; i < 300; ++i) {
    const std::string question(random() % 60, static_cast<char>('a' + random() % 26));
    const std::string answer(random() % 60, static_cast<char>('a' + random() % 26));
    lines += R"({"messages":[{"role":"user","content":")" + question + R"("},{"role":"assistant","content":")" +
             answer + "\"}]}\n\n";
    const std::string text =
        "<|im_start|>user\n" + question + "<|im_end|>\n<|im_start|>assistant\n" + answer + "<|im_end|>\n";
    const std::size_t tokens = 5 + question.size() + 3 + 10 + answer.size() + 3;
    if (tokens > kRow) {
      ++too_long;
      continue;
    }
    texts.push_back(text);
    all += tokens;
    if (tokens > kRow / 2) ++halves;
  }
  test::write_file(folder / "a.jsonl", lines);
  ChatOptions options = chatml_options(kRow - 1);
  options.too_long = TooLong::drop;
  const auto inputs = std::vector{folder / "a.jsonl"};
  const ChatResult result = tokenize_chats(kChatMl, inputs, folder / "a.tok", options);
  EXPECT_EQ(result.conversations, 300U);
  EXPECT_GT(too_long, 0U);
  EXPECT_EQ(result.dropped_long, too_long);
  EXPECT_LE(static_cast<double>(result.rows), 11.0 / 9 * static_cast<double>(std::max(halves, all / kRow + 1)) + 1)
      << "no packing has fewer rows than documents beyond half a row, or than all tokens fill";
  const Shard shard(folder / "a.tok", 1000);
  EXPECT_EQ(shard.tokenizer(), 77U);
  std::vector<std::int32_t> row(kRow);
  std::vector<std::int32_t> starts(kRow);
  std::vector<std::string> found;
  for (std::uint64_t r = 0; r < result.rows; ++r) {
    shard.read(r * kRow, row);
    shard.read_document_starts(r * kRow, starts);
    for (std::size_t begin = 0; begin < kRow;) {
      std::size_t end = begin + 1;
      while (end < kRow && starts[end] == static_cast<std::int32_t>(begin)) ++end;
      if (end - begin > 1) found.push_back(kChatMl.shown(std::span(row).subspan(begin, end - begin)));
      begin = end;
    }
  }
  std::ranges::sort(found);
  std::ranges::sort(texts);
  EXPECT_EQ(found, texts);
}

TEST(Chat, LongOnesAreTruncatedOrLeftOutAndCounted) {
  const TempFolder folder;
  test::write_file(folder / "a.jsonl", std::string(kTwo) + R"({"messages":[{"role":"user","content":"Hi"}]})");
  const auto inputs = std::vector{folder / "a.jsonl"};
  const auto result_of = [&](std::uint32_t seq_len, TooLong too_long) {
    ChatOptions options = chatml_options(seq_len);
    options.too_long = too_long;
    return tokenize_chats(kChatMl, inputs, folder / "a.tok", options);
  };
  ChatResult result = result_of(40, TooLong::truncate);
  EXPECT_EQ(result.truncated, 1U);
  EXPECT_EQ(result.dropped_empty, 1U) << "the one without a reply";
  EXPECT_EQ(targets_of(rows_of(folder / "a.tok", 40).at(0)).find("Yo<|im_end|>"), 20U);
  result = result_of(100, TooLong::drop);
  EXPECT_EQ(result.truncated + result.dropped_long, 0U);
  EXPECT_THAT(user_error([&] { (void)result_of(40, TooLong::drop); }),
              HasSubstr("none of 2 conversations is left: 1 are longer than seq_len 40 + 1, 1 have no target"));
  EXPECT_THAT(user_error([&] { (void)result_of(12, TooLong::truncate); }),
              HasSubstr("none of 2 conversations is left: 0 are longer than seq_len 12 + 1, 2 have no target"));
}

TEST(Chat, NamesTheTokensThatATokenizerLacks) {
  const TempFolder folder;
  test::write_file(folder / "a.jsonl", kTwo);
  const auto inputs = std::vector{folder / "a.jsonl"};
  EXPECT_THAT(
      user_error([&] { (void)tokenize_chats(ByteTokenizer(), inputs, folder / "a.tok", chatml_options(100)); }),
      AllOf(HasSubstr("bytes has no special tokens <|im_start|> <|im_end|>"), HasSubstr("chat template chatml")));
  EXPECT_THAT(user_error([&] { (void)tokenize_chats(kChatMl, inputs, folder / "a.jsonl", chatml_options(100)); }),
              HasSubstr("both an input and the output"));
  EXPECT_EQ(test::read_file(folder / "a.jsonl"), kTwo);
}

// ---- packing --------------------------------------------------------------------------------------------------------

TEST(RowPacker, PutsTheLongestFirstAndEachWhereItLeavesTheLeastRoom) {
  using Tokens = std::vector<std::int32_t>;
  std::vector<Tokens> rows;
  RowPacker packer(10, 40, 99, [&](const MarkedTokens& row) { rows.push_back(row.tokens); });
  const auto add = [&](std::size_t size, std::int32_t id) {
    packer.add({Tokens(size, id), std::vector<TokenMark>(size, TokenMark::none)});
  };
  add(3, 1);
  add(4, 2);
  add(7, 3);
  add(6, 4);
  add(5, 5);
  add(7, 6);
  EXPECT_EQ(packer.rows(), 0U) << "the window is not full";
  add(8, 7);  // it is
  EXPECT_EQ(rows, (std::vector<Tokens>{{7, 7, 7, 7, 7, 7, 7, 7, 99, 99},
                                       {3, 3, 3, 3, 3, 3, 3, 1, 1, 1},
                                       {6, 6, 6, 6, 6, 6, 6, 99, 99, 99},
                                       {4, 4, 4, 4, 4, 4, 2, 2, 2, 2},
                                       {5, 5, 5, 5, 5, 99, 99, 99, 99, 99}}));
  add(1, 8);
  packer.finish();
  EXPECT_EQ(rows.back(), (Tokens{8, 99, 99, 99, 99, 99, 99, 99, 99, 99}));
  EXPECT_EQ(packer.rows(), 6U);
  EXPECT_EQ(packer.padded(), 19U);
  EXPECT_THROW(add(11, 1), Failure);
  EXPECT_THROW(add(0, 1), Failure);
}

// ---- reading --------------------------------------------------------------------------------------------------------

TEST(ChatReader, NamesWhatIsWrong) {
  const auto error_of = [](std::string_view line) {
    return user_error([&] { (void)parse_conversation(line, "f:3"); });
  };
  EXPECT_EQ(error_of(R"({"messages": [{"role": "user", "content": "a", "tool_calls": []}], "tools": null})"), "");
  EXPECT_THAT(error_of("{"), HasSubstr("f:3: is no JSON"));
  EXPECT_THAT(error_of("{\"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}"), HasSubstr("f:3: is no JSON"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("neither \"messages\" nor \"conversations\""));
  EXPECT_THAT(error_of(R"({"text": "a"})"), HasSubstr("neither \"messages\" nor \"conversations\""));
  EXPECT_THAT(error_of(R"({"messages": []})"), HasSubstr("\"messages\" is no list of turns"));
  EXPECT_THAT(error_of(R"({"conversations": {}})"), HasSubstr("\"conversations\" is no list of turns"));
  EXPECT_THAT(error_of(R"({"messages": [1]})"), HasSubstr("f:3, turn 1: the turn is no object but number"));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "user"}]})"), HasSubstr("the turn has no \"content\""));
  EXPECT_THAT(error_of(R"({"messages": [{"from": "user", "value": "a"}]})"), HasSubstr("the turn has no \"role\""));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
              HasSubstr("\"content\" is no string but array: only text"));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "assistant", "content": null}]})"), HasSubstr("no string but null"));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "tool", "content": "a"}]})"), HasSubstr("the role \"tool\" is not"));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [{}]}]})"),
              HasSubstr("\"tool_calls\" is not supported"));
  EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": "a"}], "tools": [{}]})"),
              HasSubstr("\"tools\" are not supported"));
}

TEST(ChatReader, NamesTheLineOfTheFile) {
  const TempFolder folder;
  const auto error_of = [&](std::string_view bytes) {
    test::write_file(folder / "a.jsonl", bytes);
    return user_error([&] { for_each_conversation(folder / "a.jsonl", [](const Conversation&) {}); });
  };
  EXPECT_THAT(error_of(std::string(kTwo) + "\r\n \n{}\n"), HasSubstr("a.jsonl:4: has neither"));
  EXPECT_THAT(error_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of("\x1f\x8b"), HasSubstr("is compressed: unpack it"));
  EXPECT_THAT(error_of(std::string(1 << 20, '[')), HasSubstr("a.jsonl:1: is no JSON"));
  EXPECT_THAT(user_error([&] { for_each_conversation(folder / "none", [](const Conversation&) {}); }),
              HasSubstr("No such file"));
}

TEST(ChatReader, FindsTheTemplateOfAModel) {
  const TempFolder folder;
  EXPECT_THAT(user_error([&] { (void)chat_template_of_model(folder.path()); }),
              HasSubstr("has neither chat_template.jinja nor tokenizer_config.json"));
  const auto with_config = [&](std::string_view config) {
    test::write_file(folder / "tokenizer_config.json", config);
    return chat_template_of_model(folder.path());
  };
  EXPECT_EQ(with_config(R"({"chat_template": "<|im_start|> <|im_end|>"})"), ChatTemplate::chatml);
  EXPECT_EQ(with_config(R"({"chat_template": [{"name": "rag", "template": "x"},
                                              {"name": "default", "template": "<|im_start|> <|im_end|>"}]})"),
            ChatTemplate::chatml);
  for (const char* none : {"{}", R"({"chat_template": 3})", R"({"chat_template": [{"name": "rag"}, 4]})"}) {
    EXPECT_THAT(user_error([&] { (void)with_config(none); }), HasSubstr("has no chat_template"));
  }
  EXPECT_THAT(user_error([&] { (void)with_config("{"); }), HasSubstr("tokenizer_config.json: is no JSON"));
  EXPECT_THAT(user_error([&] { (void)with_config(R"({"chat_template": "[INST]"})"); }),
              HasSubstr("tokenizer_config.json: unsupported chat template"));
  test::write_file(folder / "chat_template.jinja", "<|im_start|> <|im_end|>");
  EXPECT_EQ(chat_template_of_model(folder.path()), ChatTemplate::chatml);
}

TEST(ChatReader, DamagedLinesAreReadOrRefused) {
  Mutator mutator(1);
  int read = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string line = mutator.mutate(kTwo, "{}[]\",:\\u0n1e \t\xff\xc3");
    try {
      const Conversation conversation = parse_conversation(line, "fuzz");
      EXPECT_FALSE(conversation.empty());
      EXPECT_FALSE(render_chat(ChatTemplate::qwen3, conversation).empty());
      ++read;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    }
  }
  EXPECT_GT(read, kRounds / 100);
  EXPECT_LT(read, kRounds * 3 / 4);
}

}  // namespace
}  // namespace octet
