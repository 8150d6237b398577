// Encoding and decoding: any bytes, added tokens, normalisation, several threads, streams.
#include "data/bpe_tokenizer.h"

#include <gmock/gmock.h>
#include <utf8proc.h>

#include <random>
#include <thread>

#include "data/nfc.h"
#include "data/open_tokenizer.h"
#include "data/stream_decoder.h"
#include "data/tokenizer_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

using testing::ElementsAre;

std::vector<std::int32_t> encoded(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokenizer.encode(text, tokens);
  return tokens;
}

std::vector<std::int32_t> encoded_markup(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokenizer.encode_markup(text, tokens);
  return tokens;
}

TokenizerDefinition with_added(const std::vector<AddedToken>& added) {
  TokenizerDefinition definition = sample_definition({{"a", "b"}});
  for (AddedToken token : added) {
    token.id = static_cast<std::int32_t>(definition.pieces.size());
    definition.pieces.push_back(token.content);
    definition.added.push_back(std::move(token));
  }
  return definition;
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
  constexpr std::string_view pieces[] = {
      "ab", " ", "é", "\xf0\x9f\x99\x82", "\xf0\x9f", "\xed\xa0\x80", "\xff", "\x80", "7", "\r\n", "\xc3"};
  std::string text;
  while (text.size() < size) {
    if (random() % 4 == 0) {
      text.push_back(static_cast<char>(random() % 256));
    } else {
      text += pieces[random() % std::size(pieces)];
    }
  }
  return text;
}

TEST(BpeTokenizer, EveryByteStringComesBack) {
  const BpeTokenizer tokenizer(sample_definition({{"a", "b"}, {"\xc3", "\xa9"}, {" ", "ab"}}));
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string text = random_bytes(random, size);
    ASSERT_EQ(tokenizer.decode(encoded(tokenizer, text)), text);
  }
}

TEST(BpeTokenizer, RepeatedWordsBecomeTheSameTokensFromTheCache) {
  const BpeTokenizer tokenizer(sample_definition({{"a", "b"}}));
  EXPECT_THAT(encoded(tokenizer, "ab7ab ab"), ElementsAre(256, '7', 256, ' ', 256));
  std::string many;  // more different words than the cache holds
  for (int i = 0; i < 70000; ++i) {
    for (int word = i; word > 0; word /= 26) many.push_back(static_cast<char>('a' + word % 26));
    many.push_back(' ');
  }
  EXPECT_EQ(tokenizer.decode(encoded(tokenizer, many)), many);
  EXPECT_EQ(tokenizer.decode(encoded(tokenizer, many)), many);
}

TEST(BpeTokenizer, NamesOfAddedTokensAreTextUnlessMarkupIsMeant) {
  const BpeTokenizer tokenizer(with_added({special_token_named("<|x|>", 0)}));
  EXPECT_THAT(encoded(tokenizer, "<|x|>"), ElementsAre('<', '|', 'x', '|', '>'));
  EXPECT_THAT(encoded_markup(tokenizer, "ab<|x|>ab"), ElementsAre(256, 257, 256));
  EXPECT_EQ(tokenizer.special_token("<|x|>"), 257);
  EXPECT_EQ(tokenizer.special_token("<|y|>"), std::nullopt);
}

TEST(BpeTokenizer, TheLongestNameWinsAndWhiteSpaceGoesAlong) {
  AddedToken left = special_token_named("<a", 0), longer = special_token_named("<ab>", 0),
             right = special_token_named("z>", 0);
  left.lstrip = true;
  right.rstrip = true;
  const BpeTokenizer tokenizer(with_added({left, longer, right}));
  EXPECT_THAT(encoded_markup(tokenizer, "<ab>"), ElementsAre(258));
  EXPECT_THAT(encoded_markup(tokenizer, "7 \u3000<ax"), ElementsAre('7', 257, 'x'));
  EXPECT_THAT(encoded_markup(tokenizer, "7z>\n\u20037"), ElementsAre('7', 259, '7'));
}

TEST(BpeTokenizer, NormalizedNamesAreFoundInTheNormalizedText) {
  AddedToken token = special_token_named("e\u0301!", 0);
  token.normalized = true;
  TokenizerDefinition definition = with_added({token});
  definition.nfc = true;
  const BpeTokenizer tokenizer(definition);
  EXPECT_THAT(encoded_markup(tokenizer, "\u00e9!"), ElementsAre(257));
  EXPECT_THAT(encoded_markup(tokenizer, "e\u0301!"), ElementsAre(257));
}

TEST(BpeTokenizer, NormalizationFormCComposesAndKeepsOtherBytes) {
  TokenizerDefinition definition = sample_definition({});
  definition.nfc = true;
  const BpeTokenizer tokenizer(definition);
  EXPECT_EQ(tokenizer.decode(encoded(tokenizer, "e\u0301\xff \u1100\u1161\u212b")), "\u00e9\xff \uac00\u00c5");
}

std::string utf8(char32_t c) {
  char bytes[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), reinterpret_cast<utf8proc_uint8_t*>(bytes));
  return {bytes, static_cast<std::size_t>(size)};
}

TEST(BpeTokenizer, CharactersThatSkipNormalizationAreNoPartOfIt) {
  int skipping = 0;
  for (char32_t c = 0x80; c < 0x30000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const std::string text = utf8(c);
    if (plainly_nfc(text)) {
      ASSERT_EQ(to_nfc(text), text) << std::uint32_t{c};
      ++skipping;
    }
    // What comes after the first in a decomposition composes with what stands before it.
    utf8proc_int32_t parts[8];
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 8, UTF8PROC_DECOMPOSE, nullptr);
    for (utf8proc_ssize_t i = 1; i < count; ++i) {
      ASSERT_FALSE(plainly_nfc(utf8(static_cast<char32_t>(parts[i])))) << std::uint32_t{c};
    }
  }
  EXPECT_GT(skipping, 40000);
  EXPECT_FALSE(plainly_nfc("e\u0301"));
}

TEST(BpeTokenizer, ThreadsShareOne) {
  const BpeTokenizer tokenizer(sample_definition({{"a", "b"}, {" ", "ab"}}));
  std::mt19937 random(2);
  std::vector<std::string> texts;
  for (int i = 0; i < 50; ++i) texts.push_back(random_bytes(random, 500));
  std::vector<int> right(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (const std::string& text : texts) right[t] += tokenizer.decode(encoded(tokenizer, text)) == text ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(50));
}

TEST(BpeTokenizer, TokensOutsideAndHolesAreRefused) {
  TokenizerDefinition definition = sample_definition({});
  definition.pieces.resize(300);
  const BpeTokenizer tokenizer(definition);
  EXPECT_EQ(tokenizer.vocab_size(), 300U);
  for (const std::int32_t token : {-1, 299, 300}) {
    EXPECT_TRUE(contains(user_error([&] {
                           (void)tokenizer.decode({&token, 1});
                         }),
                         "is not one of the tokenizer sample"));
  }
}

TEST(BpeTokenizer, FingerprintsTellDefinitionsApart) {
  const TokenizerDefinition plain = sample_definition({{"a", "b"}, {"b", "c"}});
  std::vector<std::uint64_t> seen = {BpeTokenizer(plain).fingerprint()};
  const auto expect_another = [&](auto&& change) {
    TokenizerDefinition changed = plain;
    change(changed);
    seen.push_back(BpeTokenizer(changed).fingerprint());
  };
  expect_another([](auto& d) { std::swap(d.merges[0].rank, d.merges[1].rank); });
  expect_another([](auto& d) { d.nfc = true; });
  expect_another([](auto& d) { d.whole_words = true; });
  expect_another([](auto& d) { d.stages[0].behavior = SplitBehavior::removed; });
  expect_another([](auto& d) { d.stages[0].pattern = "a"; });
  expect_another([](auto& d) { d.pieces.emplace_back("q!"); });
  expect_another([](auto& d) {
    d.pieces.emplace_back("q!");
    d.added.push_back(special_token_named("q!", 258));
  });
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  TokenizerDefinition renamed = plain;
  renamed.name = "another";
  EXPECT_EQ(BpeTokenizer(renamed).fingerprint(), BpeTokenizer(plain).fingerprint());
}

TEST(BpeTokenizer, DocumentsEndWithTheFamilysTokenElseWithEos) {
  TokenizerDefinition definition =
      with_added({special_token_named("<|eot|>", 0), special_token_named("<|end_of_text|>", 0)});
  definition.eos = "<|eot|>";
  EXPECT_EQ(BpeTokenizer(definition).end_of_document(), 258);
  EXPECT_EQ(BpeTokenizer(definition).eos(), 257);
  definition = with_added({special_token_named("<|eot|>", 0)});
  EXPECT_EQ(BpeTokenizer(definition).end_of_document(), std::nullopt);
  definition.eos = "<|eot|>";
  EXPECT_EQ(BpeTokenizer(definition).end_of_document(), 257);
  definition.bos = "<|missing|>";
  EXPECT_TRUE(contains(user_error([&] { BpeTokenizer tokenizer(definition); }), "bos_token \"<|missing|>\""));
}

TEST(StreamDecoder, HoldsBackWhatIsNoCharacterYet) {
  const auto tokenizer = open_tokenizer("bytes");
  StreamDecoder stream(*tokenizer);
  std::vector<std::string> shown;
  for (const char c : std::string("a\xf0\x9f\x99\x82\xff\xc3"
                                  "b\xe7\x9a"))
    shown.push_back(stream.push(static_cast<unsigned char>(c)));
  EXPECT_THAT(shown, ElementsAre("a", "", "", "", "\xf0\x9f\x99\x82", "\xff", "",
                                 "\xc3"
                                 "b",
                                 "", ""));
  EXPECT_EQ(stream.finish(), "\xe7\x9a");
  EXPECT_EQ(stream.finish(), "");
}

TEST(StreamDecoder, AllThatIsShownIsTheWholeText) {
  const BpeTokenizer tokenizer(sample_definition({{"\xc3", "\xa9"}, {"\x9f", "\x99"}}));
  std::mt19937 random(3);
  const std::string text = random_bytes(random, 2000);
  StreamDecoder stream(tokenizer);
  std::string shown;
  for (const std::int32_t token : encoded(tokenizer, text)) shown += stream.push(token);
  EXPECT_EQ(shown + stream.finish(), text);
}

}  // namespace
}  // namespace octet
