// Token shards: round trips, the bytes on disk, and every way in which a file can be wrong.
#include "data/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <bit>
#include <csignal>
#include <cstring>
#include <random>
#include <vector>

#include "data/shard_writer.h"
#include "test_files.h"

namespace octet {
namespace {

using test::read_file;
using test::TempFolder;
using test::user_error;
using test::write_file;
using ::testing::AllOf;
using ::testing::HasSubstr;

void write_shard(const std::filesystem::path& path, std::uint64_t vocab_size, const std::vector<std::int32_t>& tokens) {
  ShardWriter writer(path, vocab_size);
  writer.append(tokens);
  writer.finish();
}

std::vector<std::int32_t> read_all(const Shard& shard) {
  std::vector<std::int32_t> tokens(shard.token_count());
  shard.read(0, tokens);
  return tokens;
}

/// A file as any program may write it: `header` with its checksum made right, then `tokens`.
std::string foreign_file(ShardHeader header, std::string_view tokens) {
  header.token_checksum = checksum_of(std::as_bytes(std::span(tokens)));
  header.header_checksum = checksum_of(header);
  const auto bytes = std::bit_cast<std::array<char, sizeof header>>(header);
  return std::string(bytes.data(), bytes.size()).append(tokens);
}

ShardHeader header_of_bytes(std::uint64_t vocab_size, std::uint64_t token_count) {
  ShardHeader header{};
  std::memcpy(header.magic.data(), kShardMagic.data(), kShardMagic.size());
  header.version = kShardVersion;
  header.bytes_per_token = 1;
  header.vocab_size = vocab_size;
  header.token_count = token_count;
  return header;
}

struct Width {
  std::int32_t vocab_size;
  std::uint32_t bytes_per_token;
};

class ShardWidths : public ::testing::TestWithParam<Width> {};

TEST_P(ShardWidths, RoundTripKeepsEveryToken) {
  const TempFolder folder;
  const auto [vocab, bytes] = GetParam();
  std::vector<std::int32_t> tokens{0, vocab - 1, vocab / 2, 1};
  for (std::int32_t i = 0; i < 1000; ++i) tokens.push_back(static_cast<std::int32_t>(std::int64_t{i} * 7919 % vocab));
  const auto vocab_size = static_cast<std::uint64_t>(vocab);
  {
    ShardWriter writer(folder / "a.tok", vocab_size);
    writer.append(std::span(tokens).first(3));
    writer.append({});
    writer.append(std::span(tokens).subspan(3));
    writer.finish();
  }

  const Shard shard(folder / "a.tok", vocab_size);
  EXPECT_EQ(shard.bytes_per_token(), bytes);
  EXPECT_EQ(shard.vocab_size(), vocab_size);
  EXPECT_EQ(read_all(shard), tokens);
  std::vector<std::int32_t> middle(5);
  shard.read(500, middle);
  EXPECT_EQ(middle, std::vector<std::int32_t>(tokens.begin() + 500, tokens.begin() + 505));
  EXPECT_EQ(std::filesystem::file_size(folder / "a.tok"), 64 + tokens.size() * bytes);
}

INSTANTIATE_TEST_SUITE_P(All, ShardWidths,
                         ::testing::Values(Width{2, 1}, Width{256, 1}, Width{257, 2}, Width{65536, 2}, Width{65537, 4},
                                           Width{2147483647, 4}));

TEST(Shard, LiesOnDiskAsDocumented) {
  const TempFolder folder;
  write_shard(folder / "a.tok", 0x123, {0x101, 2});
  const std::string file = read_file(folder / "a.tok");
  const std::string expected_start("OCTETTOK\2\0\0\0\2\0\0\0\x23\1\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 32);
  ASSERT_EQ(file.size(), 68U);
  EXPECT_EQ(file.substr(0, 32), expected_start);
  EXPECT_EQ(file.substr(40, 16), std::string(16, '\0'));
  EXPECT_EQ(file.substr(64), std::string("\1\1\2\0", 4));
}

TEST(Shard, ReadOutsideIsOurBug) {
  const TempFolder folder;
  write_shard(folder / "a.tok", 256, {1, 2, 3});
  const Shard shard(folder / "a.tok", 256);
  std::vector<std::int32_t> out(2);
  EXPECT_THROW(shard.read(2, out), Failure);
  EXPECT_THROW(shard.read(~std::uint64_t{0}, out), Failure);
}

TEST(Shard, NamesWhatIsWrong) {
  const TempFolder folder;
  const auto path = folder / "a.tok";
  const auto error_for = [&path](std::string_view bytes) {
    write_file(path, bytes);
    return user_error([&path] { Shard(path, 256); });
  };
  EXPECT_THAT(user_error([&folder] { Shard(folder / "none.tok", 256); }),
              HasSubstr("none.tok: No such file or directory"));
  EXPECT_THAT(user_error([&folder] { Shard(folder.path(), 256); }), HasSubstr("the path is a directory, name a file"));
  EXPECT_THAT(error_for(""), HasSubstr("a.tok: the token shard is empty"));
  EXPECT_THAT(error_for(std::string(100, 'x')), HasSubstr("is not a token shard"));

  ShardHeader header = header_of_bytes(256, 3);
  EXPECT_EQ(error_for(foreign_file(header, "abc")), "");
  header.version = 3;
  EXPECT_THAT(error_for(foreign_file(header, "abc")), HasSubstr("version 3 is unknown"));
  header.version = 1;
  EXPECT_EQ(error_for(foreign_file(header, "abc")), "");
  header.document_end = 256;
  EXPECT_THAT(error_for(foreign_file(header, "abc")), HasSubstr("of version 1 are not 0"));
  header.version = 2;
  EXPECT_EQ(error_for(foreign_file(header, "abc")), "");
  header.document_end = 257;
  EXPECT_THAT(error_for(foreign_file(header, "abc")), HasSubstr("end with token 256, which is outside"));
  header = header_of_bytes(256, 3);
  header.flags = 4;
  EXPECT_THAT(error_for(foreign_file(header, "abc")), HasSubstr("flags 0x4 are unknown"));
  header = header_of_bytes(256, 3);
  header.bytes_per_token = 3;
  EXPECT_THAT(error_for(foreign_file(header, "abcabcabc")), HasSubstr("3 bytes per token"));
  EXPECT_THAT(error_for(foreign_file(header_of_bytes(257, 3), "abc")), HasSubstr("vocabulary of 257"));
  EXPECT_THAT(error_for(foreign_file(header_of_bytes(0, 3), "abc")), HasSubstr("vocabulary of 0"));
  EXPECT_THAT(error_for(foreign_file(header_of_bytes(256, 0), "")), HasSubstr("holds no tokens"));
  EXPECT_THAT(error_for(foreign_file(header_of_bytes(256, 4), "abc")), HasSubstr("3 of 4 tokens"));
  EXPECT_THAT(error_for(foreign_file(header_of_bytes(256, ~std::uint64_t{0}), "abc")), HasSubstr("is truncated"));
  EXPECT_THAT(error_for(foreign_file(header_of_bytes(256, 2), "abc")), HasSubstr("1 bytes follow the last of 2"));
}

TEST(Shard, KnowsItsTokenizerAndTheEndOfDocuments) {
  const TempFolder folder;
  {
    ShardWriter writer(folder / "a.tok", 256, {7, 0});
    writer.append(std::array{1, 0});
    writer.finish();
  }
  EXPECT_EQ(Shard(folder / "a.tok", 256).tokenizer(), 7U);
  EXPECT_EQ(Shard(folder / "a.tok", 256).document_end(), 0);
  write_shard(folder / "b.tok", 256, {1});
  EXPECT_EQ(Shard(folder / "b.tok", 256).tokenizer(), 0U);
  EXPECT_EQ(Shard(folder / "b.tok", 256).document_end(), std::nullopt);
}

TEST(Shard, CountTimesWidthThatWrapsAroundIsTruncated) {
  const TempFolder folder;
  ShardHeader header = header_of_bytes(256, (std::uint64_t{1} << 62) + 1);
  header.bytes_per_token = 4;
  write_file(folder / "a.tok", foreign_file(header, std::string(4, '\0')));
  EXPECT_THAT(user_error([&folder] { Shard(folder / "a.tok", 256); }), HasSubstr("is truncated"));
}

TEST(Shard, NeedsAModelWithItsVocabulary) {
  const TempFolder folder;
  write_shard(folder / "a.tok", 300, {299});
  EXPECT_EQ(user_error([&folder] { Shard(folder / "a.tok", 300); }), "");
  EXPECT_EQ(user_error([&folder] { Shard(folder / "a.tok", 320); }), "");
  EXPECT_THAT(user_error([&folder] { Shard(folder / "a.tok", 299); }),
              AllOf(HasSubstr("vocabulary of 300 tokens"), HasSubstr("model has 299"), HasSubstr("raise")));
}

TEST(Shard, FindsATokenOutsideTheVocabulary) {
  const TempFolder folder;
  write_file(folder / "a.tok", foreign_file(header_of_bytes(100, 4), "\x01\x63\x64\x02"));
  EXPECT_THAT(user_error([&folder] { Shard(folder / "a.tok", 256); }), HasSubstr("token 100 at position 2"));
  EXPECT_EQ(user_error([&folder] { Shard(folder / "a.tok", 256, ShardScan::header); }), "");
}

TEST(Shard, AnyTruncationIsNoticed) {
  const TempFolder folder;
  write_shard(folder / "whole.tok", 1000, {1, 2, 3, 999});
  const std::string whole = read_file(folder / "whole.tok");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(folder / "cut.tok", whole.substr(0, size));
    for (const ShardScan scan : {ShardScan::full, ShardScan::header}) {
      const std::string error = user_error([&] { Shard(folder / "cut.tok", 1000, scan); });
      EXPECT_THAT(error, HasSubstr("cut.tok: ")) << "cut to " << size;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
  }
}

TEST(Shard, AnyFlippedBitIsNoticed) {
  const TempFolder folder;
  write_shard(folder / "whole.tok", 65536, {1, 2, 3, 999});  // all 16 bit patterns are tokens: only a checksum can tell
  const std::string whole = read_file(folder / "whole.tok");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_file(folder / "flipped.tok", flipped);
    EXPECT_NE(user_error([&] { Shard(folder / "flipped.tok", kMaxVocabSize); }), "") << "bit " << bit;
    const bool in_header = bit < sizeof(ShardHeader) * 8;
    const std::string header_error =
        user_error([&] { Shard(folder / "flipped.tok", kMaxVocabSize, ShardScan::header); });
    EXPECT_EQ(header_error.empty(), !in_header) << "bit " << bit;
  }
}

TEST(Shard, ForgedHeadersAreRefusedOrConsistent) {
  const TempFolder folder;
  std::mt19937_64 random(1);
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    ShardHeader header = header_of_bytes(256, 8);
    auto bytes = std::bit_cast<std::array<unsigned char, sizeof header>>(header);
    for (int change = 0; change < 3; ++change) {
      bytes[8 + random() % 48] = static_cast<unsigned char>(random() % 3 == 0 ? random() : random() % 9);
    }
    header = std::bit_cast<ShardHeader>(bytes);
    write_file(folder / "forged.tok", foreign_file(header, "01234567"));
    const std::string error = user_error([&] {
      const Shard shard(folder / "forged.tok", kMaxVocabSize);
      for (const std::int32_t token : read_all(shard)) {
        EXPECT_GE(token, 0);
        EXPECT_LT(static_cast<std::uint64_t>(token), shard.vocab_size());
      }
    });
    if (!error.empty()) ++refused;
  }
  EXPECT_GT(refused, 1800);
}

TEST(ShardWriter, LeavesNothingUnlessFinished) {
  const TempFolder folder;
  {
    ShardWriter writer(folder / "a.tok", 256);
    writer.append(std::vector<std::int32_t>{1, 2});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ShardWriter, ReplacesAnOldShardOnlyWhenFinished) {
  const TempFolder folder;
  write_shard(folder / "a.tok", 256, {1});
  ShardWriter writer(folder / "a.tok", 256);
  writer.append(std::vector<std::int32_t>{2});
  EXPECT_EQ(read_all(Shard(folder / "a.tok", 256)), std::vector<std::int32_t>{1});
  writer.finish();
  EXPECT_EQ(read_all(Shard(folder / "a.tok", 256)), std::vector<std::int32_t>{2});
}

TEST(ShardWriter, RefusesTokensOutsideItsVocabulary) {
  const TempFolder folder;
  ShardWriter writer(folder / "a.tok", 100);
  EXPECT_THROW(writer.append(std::vector<std::int32_t>{99, 100}), Failure);
  EXPECT_THROW(writer.append(std::vector<std::int32_t>{-1}), Failure);
}

TEST(ShardWriter, SaysThatItCannotWrite) {
  const TempFolder folder;
  EXPECT_THAT(user_error([&folder] { ShardWriter(folder / "none/a.tok", 256); }),
              AllOf(HasSubstr("none/a.tok: cannot be written"), HasSubstr("No such file")));
}

TEST(ShardWriter, SaysThatTheDiskIsFull) {
  const TempFolder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error =
      user_error([&folder] { write_shard(folder / "a.tok", 256, std::vector<std::int32_t>(1 << 17, 7)); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("a.tok: cannot be written"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace octet
