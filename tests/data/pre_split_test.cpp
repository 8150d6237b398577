// Splitting by patterns: behaviours, stages, and what of Oniguruma's syntax is rewritten or refused.
#include "data/pre_split.h"

#include <gmock/gmock.h>

#include "data/split_pattern.h"
#include "data/split_presets.h"
#include "io/scratch.h"

namespace octet {
namespace {

using testing::ElementsAre;

std::vector<std::string> words(std::vector<SplitStage> stages, std::string_view text) {
  const PreSplit split(std::move(stages));
  PreSplit::Scratch scratch(split);
  std::vector<std::string> words;
  split.split(text, scratch, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(PreSplit, BehavioursSayWhereAMatchGoes) {
  const auto split = [](SplitBehavior behavior) { return words({{"[,]", behavior}}, "a,,b,c"); };
  EXPECT_THAT(split(SplitBehavior::isolated), ElementsAre("a", ",", ",", "b", ",", "c"));
  EXPECT_THAT(split(SplitBehavior::removed), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split(SplitBehavior::merged_with_previous), ElementsAre("a,", ",", "b,", "c"));
  EXPECT_THAT(split(SplitBehavior::merged_with_next), ElementsAre("a", ",", ",b", ",c"));
  EXPECT_THAT(split(SplitBehavior::contiguous), ElementsAre("a", ",,", "b", ",", "c"));
}

TEST(PreSplit, InvertedWhatLiesBetweenIsTheMatch) {
  EXPECT_THAT(words({{"[a-c]+", SplitBehavior::removed, true}}, "ab, cd c"), ElementsAre("ab", "c", "c"));
}

TEST(PreSplit, EachStageSeesThePiecesOfTheOneBefore) {
  // As a whole, a7 would be one match of the second stage.
  EXPECT_THAT(words({{"[0-9]"}, {"[a-z]+[0-9]?"}}, "a7b"), ElementsAre("a", "7", "b"));
  EXPECT_THAT(words({{","}, {}}, "a, b"), ElementsAre(" a", " ,", " b"));
}

TEST(PreSplit, FamiliesSplitAsTheyAreKnownTo) {
  const auto by = [](std::string_view name) { return words(split_preset(name).stages, "I'LL pay $1234 のa\r\n\n  x"); };
  EXPECT_THAT(by("gpt2"), ElementsAre("I", "'", "LL", " pay", " $", "1234", " のa", "\r\n\n ", " x"));
  EXPECT_THAT(by("llama3"), ElementsAre("I", "'LL", " pay", " $", "123", "4", " のa", "\r\n\n", " ", " x"));
  EXPECT_THAT(by("qwen"), ElementsAre("I", "'LL", " pay", " $", "1", "2", "3", "4", " のa", "\r\n\n", " ", " x"));
  EXPECT_THAT(by("o200k"), ElementsAre("I'LL", " pay", " $", "123", "4", " のa", "\r\n\n", " ", " x"));
  EXPECT_THAT(by("deepseek_v3"),
              ElementsAre("I", "'LL", " pay", " $", "123", "4", " ", "の", "a", "\r\n\n", " ", " x"));
}

TEST(PreSplit, AMatchThatGivesUpIsAnError) {
  const std::string message = user_error([] { (void)words({{"(a|a)+b|c"}}, std::string(60, 'a')); });
  EXPECT_TRUE(contains(message, "cannot split a text of 60 bytes beyond byte 0"));
}

TEST(PreSplit, LongRunsSplitInTimeThatGrowsWithThem) {
  for (const std::string_view name : split_preset_names()) {
    for (const char* unit : {"A", " ", "7", "!", "\n", "\u3042"}) {
      std::string run;
      while (run.size() < 200000) run += unit;
      EXPECT_GT(words(split_preset(name).stages, run).size(), 0U) << name << unit;
    }
  }
}

TEST(PreSplit, PatternsThatSplitNothingOrDoNotCompileAreRefused) {
  EXPECT_TRUE(contains(user_error([] { PreSplit split({{"a*"}}); }), "matches the empty text"));
  EXPECT_TRUE(contains(user_error([] { PreSplit split({{"(a"}}); }), "does not compile"));
  EXPECT_TRUE(contains(user_error([] { PreSplit split({{R"(\p{Nonsense})"}}); }), "does not compile"));
}

TEST(SplitPattern, WhiteSpaceIsUnicodes) {
  EXPECT_THAT(words({{R"(\s)"}}, "a\u0085b\u2028c\u3000d"), testing::SizeIs(7));
  EXPECT_THAT(words({{R"(\s)"}}, "a\u180e\u200b"), testing::SizeIs(1));  // were white space once, or are for PCRE2
  EXPECT_THAT(words({{R"(\S+)"}}, "a\u180e b"), ElementsAre("a\u180e", " ", "b"));
  EXPECT_THAT(words({{R"([^\s]+)"}}, "a\u180e b"), ElementsAre("a\u180e", " ", "b"));
}

TEST(SplitPattern, WhatBothReadAlikeStaysAsItIs) {
  for (const char* pattern : {R"((?i:'s|'t)|[^\r\n\p{L}]?\p{L}++|a{1,3}|(?!x)y|(?<=a)b|\x{3042}|[\[\]\-]|.)"}) {
    EXPECT_EQ(pcre2_pattern(pattern), pattern);
  }
  EXPECT_EQ(pcre2_pattern(R"(\u3042\d\v)"), R"(\x{3042}\p{Nd}\x{b})");
}

TEST(SplitPattern, WhatTheyReadDifferentlyIsRefusedByName) {
  for (const auto& [pattern, construct] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"(\w+)", R"(\w)"},  {R"(a\b)", R"(\b)"},  {R"(\h)", R"(\h)"},   {R"(\1)", R"(\1)"},
           {"^a", "has ^"},      {"a$", "has $"},      {"[a[b]]", "within"}, {"[a&&b]", "&&"},
           {R"([\S])", R"(\S)"}, {"a{2}+", "}+"},      {"a{,2}", "{"},       {"a{2", "{"},
           {"(?<n>a)", "(?<"},   {"(?i)a", "(?i"},     {"[]a]", "empty"},    {"[a", "without its ]"},
           {"a\\", "backslash"}, {R"(\x41)", R"(\x)"}, {R"(\u12)", R"(\u)"}, {R"(\pL)", R"(\p)"}}) {
    EXPECT_TRUE(contains(user_error([&] { (void)pcre2_pattern(pattern); }), construct)) << pattern;
  }
}

}  // namespace
}  // namespace octet
