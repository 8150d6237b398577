// tiktoken files: ranks, merges by rank, special tokens after them, damage.
#include "data/tiktoken_file.h"

#include <gmock/gmock.h>

#include "data/bpe_tokenizer.h"
#include "data/open_tokenizer.h"
#include "io/mutations.h"
#include "io/scratch.h"

namespace octet {
namespace {

using testing::ElementsAre;

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (int shift = 18; shift >= 0; shift -= 6) text.push_back(digits[bits >> shift & 63U]);
  }
  for (std::size_t i = 0; i < (3 - bytes.size() % 3) % 3; ++i) text[text.size() - 1 - i] = '=';
  return text;
}

/// All bytes, then the pieces given.
std::string file_with(const std::vector<std::string>& pieces) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte)
    text += base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(byte) + "\n";
  for (std::size_t i = 0; i < pieces.size(); ++i) text += base64(pieces[i]) + " " + std::to_string(256 + i) + "\n";
  return text;
}

std::vector<std::int32_t> encoded(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokenizer.encode(text, tokens);
  return tokens;
}

TEST(TiktokenFile, TwoTokensMergeWhereTheyAreATokenTogether) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("ranks", file_with({"bc", "ab", "abc", "xyz"}));
  const auto tokenizer = open_tokenizer("llama3:" + path.string());
  EXPECT_THAT(encoded(*tokenizer, "ab"), ElementsAre(257));
  EXPECT_THAT(encoded(*tokenizer, "abcd"), ElementsAre(258, 'd'));
  EXPECT_THAT(encoded(*tokenizer, "abb"), ElementsAre(257, 'b'));
  EXPECT_THAT(encoded(*tokenizer, "xyz"), ElementsAre(259));  // no merges lead there: found as a whole word
  EXPECT_EQ(tokenizer->decode(encoded(*tokenizer, "abcxyz \xff")), "abcxyz \xff");
}

TEST(TiktokenFile, SpecialTokensFollowTheRanks) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("ranks", file_with({"ab"})).string();
  const auto llama = open_tokenizer("llama3:" + path);
  EXPECT_EQ(llama->special_token("<|begin_of_text|>"), 257);
  EXPECT_EQ(llama->special_token("<|reserved_special_token_2|>"), 257 + 5);
  EXPECT_EQ(llama->special_token("<|eot_id|>"), 257 + 9);
  EXPECT_EQ(llama->special_token("<|reserved_special_token_247|>"), 257 + 255);
  EXPECT_EQ(llama->end_of_document(), 258);
  EXPECT_EQ(llama->vocab_size(), 257U + 256);
  const auto cl100k = open_tokenizer("cl100k:" + path);
  EXPECT_EQ(cl100k->special_token("<|endoftext|>"), 258);
  EXPECT_EQ(cl100k->vocab_size(), 257U + 21);
  EXPECT_THROW((void)cl100k->decode(std::vector<std::int32_t>{257}), UserError);  // a hole
  EXPECT_EQ(open_tokenizer("qwen:" + path)->special_token("<|im_end|>"), 259);
  EXPECT_EQ(open_tokenizer("gpt2:" + path)->end_of_document(), 257);
  EXPECT_EQ(open_tokenizer("o200k:" + path)->end_of_document(), 258);
}

TEST(TiktokenFile, DamageIsNamed) {
  const TiktokenEncoding& gpt2 = *tiktoken_encoding("gpt2");
  const auto refusal = [&](const std::string& text) {
    return user_error([&] { (void)parse_tiktoken(text, "FILE", gpt2); });
  };
  const std::string valid = file_with({"ab"});
  EXPECT_TRUE(contains(refusal(""), "FILE: holds no token"));
  EXPECT_TRUE(contains(refusal("hello\n"), "line 1 is not a token in base64"));
  EXPECT_TRUE(contains(refusal(valid + "YWI 258\n"), "line 258 is not"));   // no padding
  EXPECT_TRUE(contains(refusal(valid + "YWJ= 257\n"), "line 258 is not"));  // bits that belong to no byte
  EXPECT_TRUE(contains(refusal(valid + "YWJj -1\n"), "line 258 is not"));
  EXPECT_TRUE(contains(refusal(valid + "YWJj 257 \n"), "line 258 is not"));
  EXPECT_TRUE(contains(refusal(valid + "YWJj 4000000000\n"), "line 258 is not"));
  EXPECT_TRUE(contains(refusal(valid + "YWJj 256\n"), "the rank 256 occurs twice"));
  EXPECT_TRUE(contains(refusal(valid + "YWJj 258\n"), "the rank 257 is missing"));
  EXPECT_TRUE(contains(refusal(valid + "YWI= 257\n"), "the ranks 256 and 257 are the same token"));
  EXPECT_EQ(parse_tiktoken(valid + "\r\n", "FILE", gpt2).pieces.size(), 258U);
}

TEST(TiktokenFile, DamagedFilesAreReadOrRefused) {
  const std::string valid = file_with({"ab", "abc"});
  Mutator mutator(1);
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    try {
      const BpeTokenizer tokenizer(
          parse_tiktoken(mutator.mutate(valid, "= \n+/0Aa"), "FILE", *tiktoken_encoding("qwen")));
      EXPECT_EQ(tokenizer.decode(encoded(tokenizer, "abc \xff")), "abc \xff");
    } catch (const UserError& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(OpenTokenizer, WhatIsNoTokenizerIsNamed) {
  const ScratchDirectory scratch;
  const auto refusal = [](const std::string& what) { return user_error([&] { (void)open_tokenizer(what); }); };
  const std::string ranks = scratch.write("ranks", file_with({})).string();
  EXPECT_TRUE(contains(refusal("nowhere"), "there is no tokenizer \"nowhere\": the tokenizers are bytes"));
  EXPECT_TRUE(contains(refusal("gpt9:" + ranks), "encodings gpt2, cl100k, llama3, o200k, qwen"));
  EXPECT_TRUE(contains(refusal(scratch.path().string()), "holds no tokenizer.json"));
  EXPECT_TRUE(contains(refusal(ranks), "as in llama3:" + ranks));
  EXPECT_TRUE(contains(refusal("qwen:" + ranks + ".missing"), ".missing"));
}

}  // namespace
}  // namespace octet
