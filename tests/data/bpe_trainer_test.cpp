// Training: the merges that counting by hand gives, ties, limits.
#include "data/bpe_trainer.h"

#include <gmock/gmock.h>

#include <map>

#include "data/bpe_tokenizer.h"
#include "data/tokenizer_json.h"
#include "io/scratch.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::Pair;

BpeTrainerOptions options(std::int64_t merges, std::int64_t min_frequency = 1) {
  return {256 + 1 + merges, min_frequency, "gpt2", {"<|endoftext|>"}};
}

TokenizerDefinition trained(const BpeTrainerOptions& with, std::string_view text) {
  BpeTrainer trainer(with);
  trainer.add(text);
  return trainer.train();
}

std::vector<std::string> learned(const TokenizerDefinition& definition) {
  return {definition.pieces.begin() + 257, definition.pieces.end()};
}

TEST(BpeTrainer, TheMostFrequentPairIsMergedFirst) {
  // Words low x5, lower x2, newest x6, widest x3, as in the paper: es 9, then est 9, then lo 7, low 7, ne 6.
  std::string text;
  for (const auto& [word, count] : std::map<std::string, int>{{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}}) {
    for (int i = 0; i < count; ++i) text += word + "\n";
  }
  EXPECT_THAT(learned(trained(options(4), text)), ElementsAre("es", "est", "lo", "low"));
}

TEST(BpeTrainer, TiesGoToTheLowerIds) {
  // Ids are those of the alphabet's order, in which the letters come before the blank.
  EXPECT_THAT(learned(trained(options(3), "cd\nab\nx y")), ElementsAre("ab", "cd", " y"));
}

TEST(BpeTrainer, RunsOfOneLetterMergeFromTheLeft) {
  EXPECT_THAT(learned(trained(options(3), "aaaaa")), ElementsAre("aa", "aaa", "aaaaa"));
}

TEST(BpeTrainer, RarePairsStayApart) {
  const TokenizerDefinition definition = trained(options(50, 2), "ab\nab\ncd");
  EXPECT_THAT(learned(definition), ElementsAre("ab"));
}

TEST(BpeTrainer, SpecialTokensComeFirstAndTextNeverMergesIntoOne) {
  const TokenizerDefinition definition = trained({256 + 2 + 9, 1, "gpt2", {"<|end|>", "hello"}}, "hello hello hello");
  EXPECT_EQ(definition.pieces[0], "<|end|>");
  EXPECT_EQ(definition.pieces[1], "hello");
  EXPECT_THAT(std::vector<std::string>(definition.pieces.begin() + 258, definition.pieces.end()),
              testing::Not(testing::Contains("hello")));
}

TEST(BpeTrainer, WhatIsWrittenReadsTheSame) {
  BpeTrainer trainer({300, 1, "qwen", {"<|endoftext|>", "<é>"}});
  trainer.add("the theme of the thesis \xff\xfe and ééé");
  const TokenizerDefinition definition = trainer.train();
  const TokenizerDefinition again = parse_tokenizer_json(tokenizer_json_text(definition), "again");
  EXPECT_EQ(again.pieces, definition.pieces);
  EXPECT_TRUE(again.nfc);
  EXPECT_EQ(BpeTokenizer(again).fingerprint(), BpeTokenizer(definition).fingerprint());
}

TEST(BpeTrainer, WhatCannotBeTrainedIsRefused) {
  const auto refusal = [](BpeTrainerOptions with) { return user_error([&] { BpeTrainer trainer(with); }); };
  EXPECT_TRUE(contains(refusal({256, 1, "gpt2", {"<|end|>"}}), "must be from 257"));
  EXPECT_TRUE(contains(refusal({std::int64_t{1} << 40, 1, "gpt2", {}}), "must be from 256"));
  EXPECT_TRUE(contains(refusal({300, 1, "gpt5", {}}), "there is no way to split text named \"gpt5\""));
  EXPECT_TRUE(contains(refusal({300, 1, "gpt2", {"<a>", "<a>"}}), "given twice"));
  EXPECT_TRUE(contains(refusal({300, 1, "gpt2", {"a"}}), "no name of two characters"));
  EXPECT_TRUE(contains(user_error([] { (void)BpeTrainer(options(1)).train(); }), "no text"));
}

}  // namespace
}  // namespace octet
