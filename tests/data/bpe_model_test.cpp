// Merging within words, against the plainest way to do it: look for the best pair, merge it, begin again.
#include "data/bpe_model.h"

#include <gmock/gmock.h>

#include <random>

#include "data/tokenizer_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> plainly_merged(const TokenizerDefinition& definition, std::string_view word) {
  std::vector<std::int32_t> ids;
  for (const char c : word) ids.push_back(static_cast<unsigned char>(c));
  while (true) {
    const BpeMerge* best = nullptr;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      for (const BpeMerge& merge : definition.merges) {
        if (merge.left == ids[i] && merge.right == ids[i + 1] && (best == nullptr || merge.rank < best->rank)) {
          best = &merge;
          at = i;
        }
      }
    }
    if (best == nullptr) return ids;
    ids[at] = best->merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

std::vector<std::int32_t> merged(const BpeModel& model, std::string_view word) {
  BpeModel::Scratch scratch;
  std::vector<std::int32_t> tokens;
  model.encode(word, scratch, tokens);
  return tokens;
}

TEST(BpeModel, LowestRankGoesFirstAndOfEqualOnesTheLeftmost) {
  const TokenizerDefinition definition = sample_definition({{"b", "c"}, {"a", "b"}, {"a", "a"}});
  const BpeModel model(definition);
  EXPECT_THAT(merged(model, "abc"), ElementsAre('a', 256));
  EXPECT_THAT(merged(model, "aba"), ElementsAre(257, 'a'));
  EXPECT_THAT(merged(model, "aaa"), ElementsAre(258, 'a'));
  EXPECT_THAT(merged(model, ""), ElementsAre());
}

TEST(BpeModel, WordsOfEveryLengthMergeAsThePlainWaySays) {
  const TokenizerDefinition definition = sample_definition({{"a", "b"},
                                                            {"b", "a"},
                                                            {"a", "a"},
                                                            {"ab", "ab"},
                                                            {"c", "ab"},
                                                            {"aa", "b"},
                                                            {"ba", "ba"},
                                                            {"abab", "c"},
                                                            {"b", "b"},
                                                            {"aab", "ba"},
                                                            {"cab", "ab"},
                                                            {"abab", "abab"}});
  const BpeModel model(definition);
  std::mt19937 random(1);
  for (std::size_t length = 0; length < 130; ++length) {  // both sides of the length where the heap takes over
    for (int i = 0; i < 8; ++i) {
      std::string word(length, 'a');
      for (char& c : word) c = "abc"[random() % 3];
      ASSERT_EQ(merged(model, word), plainly_merged(definition, word)) << word;
    }
  }
}

TEST(BpeModel, LongWordsTakeNoQuadraticTime) {
  const TokenizerDefinition definition = sample_definition({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}});
  const BpeModel model(definition);
  // Quadratic time would be hours.
  EXPECT_EQ(merged(model, std::string(std::size_t{1} << 20, 'a')).size(), std::size_t{1} << 17);
}

TEST(BpeModel, WholeWordsComeBeforeMergesWhereTheFileSaysSo) {
  TokenizerDefinition definition = sample_definition({{"a", "b"}, {"b", "c"}});
  definition.pieces.emplace_back("abc");
  EXPECT_THAT(merged(BpeModel(definition), "abc"), ElementsAre(256, 'c'));
  definition.whole_words = true;
  EXPECT_THAT(merged(BpeModel(definition), "abc"), ElementsAre(258));
}

TEST(BpeModel, WholeWordsAreNeverAddedTokens) {
  TokenizerDefinition definition = sample_definition({});
  definition.whole_words = true;
  definition.pieces.emplace_back("end");
  definition.added.push_back(special_token_named("end", 256));
  EXPECT_THAT(merged(BpeModel(definition), "end"), ElementsAre('e', 'n', 'd'));
}

TEST(BpeModel, MissingBytesAreRefused) {
  TokenizerDefinition definition = sample_definition({});
  definition.pieces[0x7F].clear();
  EXPECT_TRUE(contains(user_error([&] { BpeModel model(definition); }), "no token is the byte 0x7f"));
}

}  // namespace
}  // namespace octet
