// Files read through gzip and zstd: members and frames in a row, every truncation, and damage.
#include "data/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "compressed.h"
#include "io/mutations.h"
#include "test_files.h"

namespace octet {
namespace {

using test::gzip;
using test::TempFolder;
using test::user_error;
using test::write_file;
using test::zstd;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// All of a file, in reads of `step` bytes at most.
std::string read_through(InputFile& file, std::size_t step) {
  std::string text;
  std::string buffer(step, '\0');
  while (const std::size_t count = file.read(buffer)) text.append(buffer, 0, count);
  return text;
}

std::string content_of(const std::filesystem::path& path, std::size_t step = 4096) {
  InputFile file(path);
  return read_through(file, step);
}

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i * i % 10007 * 7919) + "\n";
  return text;
}

using Compress = std::string (*)(std::string_view);

struct Format {
  const char* name;
  const char* suffix;
  Compress compress;
};

class CompressedInput : public ::testing::TestWithParam<Format> {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return folder_ / (std::string("a.txt") + GetParam().suffix); }
  [[nodiscard]] std::string compress(std::string_view text) const { return GetParam().compress(text); }
  TempFolder folder_;  // NOLINT(misc-non-private-member-variables-in-classes)
};

TEST_P(CompressedInput, ReadsMembersInARow) {
  const std::string text = sample_text();
  const std::string stored = compress(text.substr(0, 1000)) + compress("") + compress(text.substr(1000));
  write_file(path(), stored);
  for (const std::size_t step : {1, 7, 1 << 20}) EXPECT_EQ(content_of(path(), step), text) << step;
  InputFile file(path());
  EXPECT_EQ(file.bytes_read(), 0U);
  (void)read_through(file, 100);
  EXPECT_EQ(file.bytes_read(), stored.size());
  EXPECT_EQ(file.checksum(), XXH3_64bits(stored.data(), stored.size()));
}

TEST_P(CompressedInput, IsKnownByItsBytesWhateverItsName) {
  write_file(folder_ / "plain.txt", compress("text"));
  EXPECT_EQ(content_of(folder_ / "plain.txt"), "text");
  write_file(path(), "text");
  EXPECT_THAT(user_error([this] { InputFile{path()}; }),
              AllOf(HasSubstr(path().string()), HasSubstr(std::string("is named ") + GetParam().suffix)));
}

TEST_P(CompressedInput, AnyTruncationIsNoticed) {
  const std::string whole = compress(sample_text().substr(0, 400));
  for (std::size_t size = 4; size < whole.size(); ++size) {
    write_file(path(), whole.substr(0, size));
    EXPECT_THAT(user_error([this] { (void)content_of(path()); }),
                AllOf(HasSubstr("is truncated"), HasSubstr("at byte " + std::to_string(size))))
        << size;
  }
}

TEST_P(CompressedInput, WhatFollowsTheLastMemberIsDamage) {
  write_file(path(), compress("text") + "something else");
  EXPECT_THAT(user_error([this] { (void)content_of(path()); }),
              AllOf(HasSubstr("data are damaged near byte"), HasSubstr(GetParam().name)));
}

TEST_P(CompressedInput, DamageIsNoticedOrHarmless) {
  const std::string text = sample_text();
  const std::string whole = compress(text);
  Mutator mutator(3);
  int noticed = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = whole;
    const std::size_t at = 4 + mutator.below(whole.size() - 4);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << mutator.below(8)));
    write_file(path(), damaged);
    std::string content;
    const std::string error = user_error([&] { content = content_of(path()); });
    if (!error.empty()) ++noticed;
    EXPECT_TRUE(!error.empty() || content == text) << "byte " << at;  // a bit of gzip's header may mean nothing
  }
  EXPECT_GT(noticed, 150);
}

TEST_P(CompressedInput, AnyEditIsSurvived) {
  const std::string whole = compress(sample_text().substr(0, 300));
  Mutator mutator(4);
  for (int trial = 0; trial < 600; ++trial) {
    write_file(folder_ / "a", whole.substr(0, 4) + mutator.mutate(whole.substr(4), std::string_view("\0\xFF\x28", 3)));
    std::string content;
    const std::string error = user_error([&] { content = content_of(folder_ / "a"); });
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompressedInput,
                         ::testing::Values(Format{"gzip", ".gz", gzip}, Format{"zstd", ".zst", zstd}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(InputFile, PlainBytesPass) {
  const TempFolder folder;
  write_file(folder / "a.txt", sample_text());
  EXPECT_EQ(content_of(folder / "a.txt", 1000), sample_text());
  write_file(folder / "empty.txt", "");
  EXPECT_EQ(content_of(folder / "empty.txt"), "");
  EXPECT_THAT(user_error([&folder] { InputFile{folder / "none.txt"}; }), HasSubstr("none.txt: No such file"));
}

/// A frame may ask for more memory than a reader should give.
TEST(InputFile, LargeWindowsAreRefused) {
  const TempFolder folder;
  // A frame header without content size whose window descriptor asks for 2^31 bytes.
  write_file(folder / "a.zst", std::string("\x28\xB5\x2F\xFD\x00\xA8\x00\x00\x00", 9));
  EXPECT_THAT(user_error([&folder] { (void)content_of(folder / "a.zst"); }), HasSubstr("too much memory"));
}

}  // namespace
}  // namespace octet
