// The byte tokenizer, and text files to shards: what is held out, where the cut lies, what is refused.
#include "data/tokenize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "data/byte_tokenizer.h"
#include "data/shard.h"
#include "data/text_boundary.h"
#include "test_files.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using test::user_error;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const ByteTokenizer kBytes;

std::string text_of(const fs::path& shard_path) {
  const Shard shard(shard_path, 256);
  std::vector<std::int32_t> tokens(shard.token_count());
  shard.read(0, tokens);
  return kBytes.decode(tokens);
}

TEST(ByteTokenizer, RoundTripKeepsEveryByte) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text.push_back(static_cast<char>(byte));
  std::vector<std::int32_t> tokens{7};
  kBytes.encode(text, tokens);
  ASSERT_EQ(tokens.size(), 257U);
  EXPECT_EQ(tokens[0], 7) << "encode appends";
  EXPECT_EQ(tokens[256], 255) << "bytes above 127 are not negative";
  EXPECT_EQ(kBytes.decode(std::span(tokens).subspan(1)), text);
  EXPECT_EQ(kBytes.vocab_size(), 256U);
}

TEST(ByteTokenizer, RefusesForeignTokens) {
  for (const std::int32_t token : {256, -1}) {
    const std::vector<std::int32_t> tokens{65, token};
    EXPECT_THAT(user_error([&tokens] { (void)kBytes.decode(tokens); }), HasSubstr("token " + std::to_string(token)));
  }
}

TEST(TextBoundary, PrefersParagraphThenLineThenCharacter) {
  const std::string text = "one\n\ntwo\nthree four";
  EXPECT_EQ(text_boundary(text, text.size()), text.size()) << "the end of the text is a boundary";
  EXPECT_EQ(text_boundary(text, text.size() - 1), 5U) << "after the empty line, though a line ends later";
  EXPECT_EQ(text_boundary(text, 5), 5U);
  EXPECT_EQ(text_boundary(text, 4), 4U) << "no whole empty line before 4: the line end";
  EXPECT_EQ(text_boundary(text, 2), 2U);
  EXPECT_EQ(text_boundary("a\u20acb", 3), 1U) << "not inside the three bytes of the euro sign";
  EXPECT_EQ(text_boundary("a\u20acb", 4), 4U);
  EXPECT_EQ(text_boundary("\x80\x80\x80\x80\x80\x80", 5), 5U) << "not UTF-8: any byte";
}

TEST(TextBoundary, LooksBackOnlySoFar) {
  EXPECT_EQ(text_boundary("a\n" + std::string(65535, 'x') + "yz", 65537), 2U);
  EXPECT_EQ(text_boundary("a\n" + std::string(65536, 'x') + "yz", 65538), 65538U);
}

TEST(TokenizeTextFiles, HoldsOutTheTailAtAParagraph) {
  const TempFolder folder;
  const std::string first = "Alpha.\n\nBeta.\n\n";
  const std::string second = "Gamma\ngoes on.\n\nDelta ends it, at length and leisure.\n";
  write_file(folder / "1.txt", first);
  write_file(folder / "2.txt", second);
  const std::vector<fs::path> inputs{folder / "1.txt", folder / "2.txt"};
  const auto result = tokenize_text_files(kBytes, inputs, folder / "t.tok", folder / "v.tok", 0.5);
  EXPECT_EQ(text_of(folder / "t.tok"), first + "Gamma\ngoes on.\n\n");
  EXPECT_EQ(text_of(folder / "v.tok"), "Delta ends it, at length and leisure.\n");
  EXPECT_EQ(result.train_tokens, first.size() + 16);
  EXPECT_EQ(result.validation_tokens, second.size() - 16);
}

TEST(TokenizeTextFiles, TrainAndValidationAreTheWholeTextAtAnyFraction) {
  const TempFolder folder;
  std::string text;
  for (int line = 0; line < 200; ++line)
    text += "line " + std::to_string(line * line) + (line % 7 == 0 ? "\n\n" : "\n");
  write_file(folder / "1.txt", text.substr(0, 300));
  write_file(folder / "2.txt", text.substr(300, 900));
  write_file(folder / "3.txt", text.substr(1200));
  const std::vector<fs::path> inputs{folder / "1.txt", folder / "2.txt", folder / "3.txt"};
  for (const double fraction : {0.01, 0.1, 0.25, 0.5, 0.75, 0.9}) {
    tokenize_text_files(kBytes, inputs, folder / "t.tok", folder / "v.tok", fraction);
    const std::string validation = text_of(folder / "v.tok");
    EXPECT_EQ(text_of(folder / "t.tok") + validation, text) << fraction;
    EXPECT_NEAR(static_cast<double>(validation.size()), static_cast<double>(text.size()) * fraction, 100) << fraction;
  }
}

TEST(TokenizeTextFiles, CutBetweenFilesIsExact) {
  const TempFolder folder;
  write_file(folder / "1.txt", "no line end");
  write_file(folder / "2.txt", "same length");
  tokenize_text_files(kBytes, std::vector<fs::path>{folder / "1.txt", folder / "2.txt"}, folder / "t.tok",
                      folder / "v.tok", 0.5);
  EXPECT_EQ(text_of(folder / "t.tok"), "no line end");
  EXPECT_EQ(text_of(folder / "v.tok"), "same length");
}

TEST(TokenizeTextFiles, FractionZeroHoldsNothingOut) {
  const TempFolder folder;
  write_file(folder / "1.txt", "text\n");
  const auto result =
      tokenize_text_files(kBytes, std::vector<fs::path>{folder / "1.txt"}, folder / "t.tok", folder / "v.tok", 0);
  EXPECT_EQ(text_of(folder / "t.tok"), "text\n");
  EXPECT_EQ(result.validation_tokens, 0U);
  EXPECT_FALSE(fs::exists(folder / "v.tok"));
}

TEST(TokenizeTextFiles, ReportsProgressByPieces) {
  const TempFolder folder;
  constexpr std::uint64_t kMiB = 1 << 20;
  std::string text(2 * kMiB + 10, 'x');
  text[kMiB - 101] = '\n';
  write_file(folder / "1.txt", text);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  tokenize_text_files(kBytes, std::vector<fs::path>{folder / "1.txt"}, folder / "t.tok", {}, 0,
                      [&calls](std::uint64_t done, std::uint64_t total) { calls.emplace_back(done, total); });
  const std::uint64_t total = text.size();
  EXPECT_THAT(calls, ElementsAre(Pair(kMiB - 100, total), Pair(2 * kMiB - 100, total), Pair(total, total)));
  EXPECT_EQ(text_of(folder / "t.tok"), text);
}

TEST(TokenizeTextFiles, RefusesWhatCannotBeMeant) {
  const TempFolder folder;
  const auto text = folder / "1.txt";
  write_file(text, "text\nmore\n");
  write_file(folder / "empty.txt", "");
  fs::create_symlink(text, folder / "link");
  const auto error = [&folder](std::vector<fs::path> inputs, double fraction, const fs::path& train) {
    return user_error([&] { tokenize_text_files(kBytes, inputs, train, folder / "v.tok", fraction); });
  };
  const auto train = folder / "t.tok";
  EXPECT_THAT(error({folder / "none.txt"}, 0.1, train), HasSubstr("none.txt: No such file or directory"));
  EXPECT_THAT(error({text, folder / "empty.txt"}, 0.1, train), HasSubstr("empty.txt: the text is empty"));
  EXPECT_THAT(error({}, 0.1, train), HasSubstr("at least one file"));
  for (const double fraction : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(error({text}, fraction, train), HasSubstr("must be at least 0 and below 1")) << fraction;
  }
  EXPECT_THAT(error({text}, 0.01, train), HasSubstr("leaves the validation part of 10 bytes of text empty"));
  EXPECT_THAT(error({text}, 0.99, train), HasSubstr("leaves the training part of 10 bytes of text empty"));
  EXPECT_THAT(error({text}, 0.1, text), HasSubstr("both an input and an output"));
  EXPECT_THAT(error({text}, 0.1, folder / "link"), HasSubstr("both an input and an output"));
  EXPECT_THAT(error({text}, 0.1, folder / "v.tok"), HasSubstr("both the training and the validation output"));
  EXPECT_EQ(test::read_file(text), "text\nmore\n");
}

}  // namespace
}  // namespace octet
