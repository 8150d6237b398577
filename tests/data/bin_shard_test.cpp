// Shards of llm.c: both formats read as they are documented, and every way in which one can be wrong.
#include "data/bin_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "data/shard.h"
#include "io/mutations.h"
#include "test_files.h"

namespace octet {
namespace {

using test::TempFolder;
using test::user_error;
using test::write_file;
using ::testing::HasSubstr;

constexpr std::int32_t kGpt2 = 20240520;
constexpr std::int32_t kLlama3 = 20240801;
constexpr std::uint64_t kLargeVocab = 200000;

/// A file as another program may write it: the first words of its header, then the tokens.
template <typename Token>
std::string bin_file(const std::vector<std::int32_t>& words, const std::vector<Token>& tokens) {
  std::string file(1024, '\0');
  std::memcpy(file.data(), words.data(), words.size() * sizeof words[0]);
  file.append(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token));
  return file;
}

std::string gpt2_file(const std::vector<std::int32_t>& words) {
  return bin_file<std::uint16_t>(words, {50256, 1, 2, 50256, 50000});
}

std::vector<std::int32_t> tokens_of(const Shard& shard) {
  std::vector<std::int32_t> tokens(shard.token_count());
  shard.read(0, tokens);
  return tokens;
}

TEST(BinShard, OfGpt2) {
  const TempFolder folder;
  write_file(folder / "a.bin", gpt2_file({kGpt2, 1, 5}));
  const Shard shard(folder / "a.bin", 50304);
  EXPECT_EQ(tokens_of(shard), (std::vector<std::int32_t>{50256, 1, 2, 50256, 50000}));
  EXPECT_EQ(shard.bytes_per_token(), 2U);
  EXPECT_EQ(shard.vocab_size(), 50257U);
  EXPECT_EQ(shard.document_end(), 50256);
  EXPECT_EQ(shard.tokenizer(), 0U);
}

TEST(BinShard, OfLlama3) {
  const TempFolder folder;
  write_file(folder / "a.bin", bin_file<std::uint32_t>({kLlama3, 7, 3}, {128000, 128255, 7}));
  const Shard shard(folder / "a.bin", 128256);
  EXPECT_EQ(tokens_of(shard), (std::vector<std::int32_t>{128000, 128255, 7}));
  EXPECT_EQ(shard.bytes_per_token(), 4U);
  EXPECT_EQ(shard.document_end(), 128000);
}

TEST(BinShard, NamesWhatIsWrong) {
  const TempFolder folder;
  const auto error_for = [&folder](std::string_view file, std::uint64_t vocab = kLargeVocab) {
    write_file(folder / "a.bin", file);
    return user_error([&] { Shard(folder / "a.bin", vocab); });
  };
  EXPECT_EQ(error_for(gpt2_file({kGpt2, 1, 5})), "");
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 7, 5})), HasSubstr("a.bin: version 7 of a .bin shard that begins with"));
  EXPECT_THAT(error_for(gpt2_file({kLlama3, 1, 5})), HasSubstr("there is version 7"));
  EXPECT_THAT(error_for(gpt2_file({kGpt2 + 2, 1, 5})), HasSubstr("is not a token shard")) << "an evaluation of llm.c";
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 1, 0})), HasSubstr("counts 0 tokens"));
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 1, -5})), HasSubstr("counts -5 tokens"));
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 1, 5, 1})), HasSubstr("is not zero after its third number"));
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 1, 6})), HasSubstr("5 of 6 tokens are there"));
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 1, 2147483647})), HasSubstr("5 of 2147483647 tokens"));
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 1, 4})), HasSubstr("2 bytes follow the last of 4"));
  EXPECT_THAT(error_for(bin_file<std::uint16_t>({kGpt2, 1, 2}, {1, 50257})),
              HasSubstr("token 50257 at position 1 is outside the vocabulary of 50257"));
  EXPECT_THAT(error_for(bin_file<std::uint32_t>({kLlama3, 7, 1}, {0x80000000U})), HasSubstr("token 2147483648"));
  EXPECT_THAT(error_for(gpt2_file({kGpt2, 1, 5}), 50256), HasSubstr("raise the model's vocab_size"));
  const std::string whole = gpt2_file({kGpt2, 1, 5});
  for (const std::size_t size : {4, 12, 500, 1023}) {
    EXPECT_THAT(error_for(whole.substr(0, size)), HasSubstr("too few for the 1024 byte header")) << size;
  }
  EXPECT_THAT(error_for(whole.substr(0, 1024)), HasSubstr("0 of 5 tokens"));
}

TEST(BinShard, DamagedOnesAreRefusedOrConsistent) {
  const TempFolder folder;
  Mutator mutator(8);
  const std::string whole = gpt2_file({kGpt2, 1, 5});
  int refused = 0;
  for (int trial = 0; trial < 400; ++trial) {
    // Half of the edits go where they matter most.
    std::string file = trial % 2 == 0 ? mutator.mutate(whole, "0\x01\xFF")
                                      : mutator.mutate(whole.substr(0, 12), "0\x01\xFF") + whole.substr(12);
    write_file(folder / "a.bin", file);
    const std::string error = user_error([&] {
      const Shard shard(folder / "a.bin", kLargeVocab);
      for (const std::int32_t token : tokens_of(shard)) ASSERT_LT(token, 50257);
      ASSERT_EQ(file.size(), 1024 + shard.token_count() * shard.bytes_per_token());
    });
    if (!error.empty()) ++refused;
  }
  EXPECT_GT(refused, 350);
}

}  // namespace
}  // namespace octet
