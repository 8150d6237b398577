// octet generate: texts that follow their options, from whatever holds a model.
#include <algorithm>
#include <filesystem>

#include "cli/cli_fixture.h"
#include "io/files.h"

namespace octet::test {
namespace {

using nlohmann::json;

class Generate : public CliTest {
 protected:
  /// The words of two steps of the debug model.
  [[nodiscard]] static Words brief(std::string_view run, const Words& more = {}) {
    return train(run, join({{"--set", "training.steps=2", "--set", "validation.interval=0"}, more}));
  }
  /// The same of the smallest one with experts.
  [[nodiscard]] static Words brief_deepseek(std::string_view run) {
    Words words = brief(run);
    words[1] = OCTET_CONFIGS "/deepseek_v3_debug.toml";
    return words;
  }
};

Words generate(std::string_view model, const Words& more = {}) {
  return join({{"generate", std::string(model), "--prompt", "the ", "--max-tokens", "24"}, more});
}

TEST_F(Generate, FollowsItsSeed) {
  succeed(brief("run"));
  const std::string text = succeed(generate("run", {"--seed", "3"}));
  EXPECT_TRUE(text.starts_with("the "));
  EXPECT_EQ(succeed(generate("run", {"--seed", "3"})), text);
  EXPECT_NE(succeed(generate("run", {"--seed", "4"})), text);
  const auto as_json = json_of(generate("run", {"--seed", "3", "--json"}));
  EXPECT_EQ(as_json.at("seed"), 3);
  EXPECT_EQ(as_json.at("finish_reason"), "length");
  EXPECT_EQ(as_json.at("tokens").size(), 24U);
  EXPECT_EQ(as_json.at("prefill").at("tokens"), 4);
  EXPECT_EQ(as_json.at("decode").at("tokens"), 23);  // the first is the prompt's
}

TEST_F(Generate, WithoutTemperatureNeedsNoSeed) {
  succeed(brief("run"));
  const Words coldly = {"--temperature", "0"};
  const std::string text = succeed(generate("run", join({coldly, {"--seed", "3"}})));
  EXPECT_EQ(succeed(generate("run", join({coldly, {"--seed", "4"}}))), text);
  // The likeliest token by every filter.
  EXPECT_EQ(succeed(generate("run", {"--top-k", "1", "--seed", "5"})), text);
  EXPECT_EQ(succeed(generate("run", {"--top-k", "0", "--top-p", "0", "--seed", "5"})), text);
  EXPECT_EQ(succeed(generate("run", {"--min-p", "1", "--top-k", "0", "--seed", "6"})).size(), text.size());
}

TEST_F(Generate, ReadsTheNewerHalfAgainWhereTheContextIsFull) {
  succeed(brief("run"));
  const Words longer = {"--max-tokens", "150", "--temperature", "0"};  // of a context of 64
  const auto text = json_of(join({{"generate", "run", "--prompt", "the ", "--json"}, longer}));
  EXPECT_EQ(text.at("tokens").size(), 150U);
  // What is written when 64 tokens were fed depends on the newest 32 alone.
  std::string newest = "the ";
  for (const auto& token : text.at("tokens")) newest += static_cast<char>(token.get<int>());
  newest = newest.substr(65 - 32, 32);
  const auto again =
      json_of({"generate", "run", "--prompt", newest, "--max-tokens", "20", "--temperature", "0", "--json"});
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(again.at("tokens").at(i), text.at("tokens").at(61 + i)) << i;
}

TEST_F(Generate, StopsBeforeAText) {
  succeed(brief("run"));
  const Words in_ascii = {"--json", "--temperature", "0"};  // the likeliest bytes of a text in ASCII
  const auto whole = json_of(generate("run", in_ascii)).at("continuation").get<std::string>();
  ASSERT_EQ(whole.size(), 24U);
  const std::string stop = whole.substr(10, 2);  // a token each
  const auto stopped = json_of(generate("run", join({in_ascii, {"--stop", "never comes", "--stop", stop}})));
  EXPECT_EQ(stopped.at("continuation"), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(stopped.at("finish_reason"), "stop");
  EXPECT_EQ(stopped.at("tokens").size(), whole.find(stop) + 2);
}

TEST_F(Generate, FromARunACheckpointAndAModel) {
  succeed(brief_deepseek("run"));
  const std::string text = succeed(generate("run"));
  EXPECT_EQ(succeed(generate("run/checkpoints/step-00000002")), text);
  std::filesystem::create_directory(path("model"));
  std::filesystem::copy(path("run/config.toml"), path("model"));
  std::filesystem::copy(path("run/checkpoints/step-00000002/model.safetensors"), path("model"));
  EXPECT_EQ(succeed(generate("model")), text);
}

TEST_F(Generate, ContinuesEachPromptOfAFile) {
  succeed(brief("run"));
  write("prompts.txt", "the \nthe \nIn the beginning\n");
  const std::string lines = succeed({"generate", "run", "--prompts", "prompts.txt", "--max-tokens", "24", "--json"});
  std::vector<json> texts;
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
    texts.push_back(json::parse(lines.substr(at, lines.find('\n', at) - at)));
  }
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0].at("tokens"), json_of(generate("run", {"--json"})).at("tokens"));
  EXPECT_NE(texts[1].at("tokens"), texts[0].at("tokens"));  // random numbers of its own
  EXPECT_EQ(texts[2].at("prompt"), "In the beginning");
}

TEST_F(Generate, WeightsInFp8AndInBf16) {
  succeed(brief("rowwise"));
  succeed(brief("bf16", {"--recipe", "bf16"}));
  for (const char* run : {"rowwise", "bf16"}) {
    const auto memory = [&](const char* weights) {
      return json_of(generate(run, {"--json", "--weights", weights})).at("memory_bytes").get<std::int64_t>();
    };
    EXPECT_GT(memory("fp8"), memory("bf16"));  // codes beside the weights
  }
  EXPECT_EQ(succeed(generate("rowwise", {"--weights", "fp8"})), succeed(generate("rowwise")));
  EXPECT_EQ(succeed(generate("bf16", {"--weights", "bf16"})), succeed(generate("bf16")));
}

TEST_F(Generate, ThePlanSaysWhatItTakes) {
  succeed(brief("run"));
  const std::string plan = succeed(generate("run", {"--plan"}));
  EXPECT_TRUE(plan.starts_with("memory "));
  EXPECT_TRUE(contains(plan, "keys and values"));
}

TEST_F(Generate, KeepsItsTextForTheReport) {
  succeed(brief("run"));
  const auto generated = json_of(generate("run", {"--json", "--record"}));
  EXPECT_EQ(generated.at("prompt"), "the ");
  EXPECT_EQ(run_json("run").at("sample").at("text"), generated.at("text"));
  EXPECT_EQ(run_json("run").at("status"), "finished");
}

// ---- mistakes -------------------------------------------------------------------------------------------------------

TEST_F(Generate, RefusesBadOptions) {
  refuses({"generate", "run"}, {"--prompt is required", "octet --help"});
  succeed(brief("run"));
  refuses({"generate", "run", "--prompt", ""}, {"--prompt is empty", "give the text"});
  refuses({"generate", "run", "--prompt", "a", "--prompts", "b"}, {"--prompt excludes --prompts"});
  refuses(generate("run", {"--tokens", "0"}), {"--max-tokens", "0"});
  refuses(generate("run", {"--temperature", "-1"}), {"--temperature", "-1"});
  refuses(generate("run", {"--temperature", "nan"}), {"--temperature", "finite"});
  refuses(generate("run", {"--top-p", "1.5"}), {"--top-p", "1.5"});
  refuses(generate("run", {"--stop", ""}), {"--stop is empty"});
  refuses(generate("run", {"--weights", "int4"}), {"--weights", "int4"});
  refuses(generate("run", {"--device", "tpu"}), {"there is no device \"tpu\""});
}

TEST_F(Generate, RefusesPromptsItCannotRead) {
  succeed(brief("run"));
  refuses({"generate", "run", "--prompt", std::string(65, 'a')},
          {"the prompt has 65 tokens", "64 that the model sees", "training.seq_len"});
  refuses({"generate", "run", "--prompts", "missing.txt"}, {"missing.txt", "No such file"});
  write("empty.txt", "");
  refuses({"generate", "run", "--prompts", "empty.txt"}, {"empty.txt holds no prompts"});
  write("prompts.jsonl", "{\"prompt\": \"a\"}\n{\"text\": \"a\"}\n");
  refuses({"generate", "run", "--prompts", "prompts.jsonl"}, {"prompts.jsonl:2", "\"prompt\""});
}

TEST_F(Generate, RefusesWhatHoldsNoModel) {
  refuses(generate("nowhere"), {"nowhere", "check the path"});
  std::filesystem::create_directory(path("empty"));
  refuses(generate("empty"), {"empty is neither a run, nor a checkpoint within one, nor a model"});
  succeed(brief("run"));
  std::filesystem::remove_all(path("run/checkpoints"));
  refuses(generate("run"), {"run holds neither a checkpoint nor a model.safetensors"});
}

TEST_F(Generate, RefusesAnotherTokenizer) {
  succeed(brief("run"));
  refuses(generate("run", {"--tokenizer", "missing.json"}), {"there is no tokenizer \"missing.json\""});
  write("run/tokenizer.json", "{}");  // beside the model, hence its own
  refuses(generate("run"), {"run/tokenizer.json"});
  std::filesystem::remove(path("run/tokenizer.json"));
  refuses(generate("run", {"--end-token", "<|end|>"}), {"tokenizer bytes has no special token \"<|end|>\""});
  refuses(generate("run", {"--begin-token", "<s>"}), {"tokenizer bytes has no special token \"<s>\""});
  succeed(brief("small", {"--set", "model.vocab_size=300"}));
  refuses(generate("small"), {"small does not say which tokenizer its 300 tokens are of", "--tokenizer"});
  succeed(generate("small", {"--tokenizer", "bytes"}));
  succeed(brief("large", {"--set", "model.vocab_size=2000"}));
  refuses(generate("large", {"--tokenizer", "bytes"}), {"tokenizer bytes has 256 tokens and the model 2000"});
}

}  // namespace
}  // namespace octet::test
