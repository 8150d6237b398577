// octet chat, mixes and octet bench loader as their user meets them: what is refused, and that figures hang together.
#include "cli/cli_fixture.h"

namespace octet::test {
namespace {

class Chat : public CliTest {
 protected:
  Chat() { write("chat.jsonl", R"({"messages": [{"role": "user", "content": "Hi"}]})"); }
  [[nodiscard]] static Words chat(Words more) {
    Words words{"chat", "chat.jsonl", "--train", "chat.tok", "--tokenizer", "bytes", "--seq-len", "64"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Chat, NamesTheSpecialTokensThatAreMissing) {
  refuses(chat({"--template", "chatml"}), {"bytes has no special tokens <|im_start|> <|im_end|>", "--template"});
}

TEST_F(Chat, NamesTemplates) {
  refuses(chat({"--template", "alpaca"}), {"no chat template \"alpaca\"", "llama3.1", "deepseek-v3"});
  refuses(chat({}), {"neither chat_template.jinja nor tokenizer_config.json", "--template"});
}

using Mixes = CliTest;

TEST_F(Mixes, AreRefusedByName) {
  refuses(train("run", set("data.mix=train.tok")), {"data.mix \"train.tok\" has no weight", "GLOB: WEIGHT"});
  refuses(train("run", set("data.mix=*.tok: 0")), {"a weight must be above 0"});
  refuses(train("run", set("data.mix=other*: 1")), {"no rule for ", "train.tok of data.train"});
  refuses(train("run", set("data.boundaries=attention")), {"train.tok: does not say where documents end", "ignored"});
}

TEST_F(Mixes, OctetBenchLoaderTimesBatches) {
  const auto bench =
      json_of({"bench", "loader", OCTET_CONFIGS "/llama3_debug.toml", "--set", "data.train=train.tok", "--set",
               "training.seq_len=32", "--set", "training.batch_size=3", "--batches", "5", "--step-ms", "1", "--json"});
  EXPECT_EQ(bench.at("tokens_per_batch").get<int>() % 96, 0);
  const double rate = bench.at("tokens_per_batch").get<double>() / bench.at("seconds_per_batch").get<double>();
  EXPECT_NEAR(bench.at("tokens_per_second").get<double>(), rate, 1e-9 * rate);
  EXPECT_EQ(bench.at("step_seconds"), 1e-3);
  EXPECT_GT(bench.at("seconds_waited_per_step").get<double>(), 0);
}

}  // namespace
}  // namespace octet::test
