// Loaders: each window once an epoch, resumed as if never stopped, whatever the batch split.
#include "data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "data/shard_writer.h"
#include "test_files.h"

namespace octet {
namespace {

using test::TempFolder;
using test::user_error;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Row = std::vector<std::int32_t>;

/// Shards of consecutive numbers: every token tells its own position. Shard s starts at 10,000 s.
class Data {
 public:
  explicit Data(const std::vector<int>& sizes) {
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      Row tokens(static_cast<std::size_t>(sizes[s]));
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(10'000 * s + i);
      ShardWriter writer(path(s), kVocabSize);
      writer.append(tokens);
      writer.finish();
    }
    count_ = sizes.size();
  }

  [[nodiscard]] std::vector<Shard> open() const {
    std::vector<Shard> shards;
    for (std::size_t s = 0; s < count_; ++s) shards.emplace_back(path(s), kVocabSize);
    return shards;
  }

 private:
  static constexpr std::uint64_t kVocabSize = 100'000;
  [[nodiscard]] std::filesystem::path path(std::size_t s) const { return folder_ / ("s" + std::to_string(s)); }

  TempFolder folder_;
  std::size_t count_ = 0;
};

/// The next `rows` rows, taken in one batch; checks that targets are the inputs shifted by one.
std::vector<Row> take(Loader& loader, std::size_t seq_len, std::size_t rows) {
  Row inputs(rows * seq_len, -1);
  Row targets(rows * seq_len, -1);
  loader.next_batch({inputs, targets, {}});
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(targets[i], inputs[i] + 1) << "element " << i;
  std::vector<Row> result;
  for (auto at = inputs.begin(); at != inputs.end(); at += static_cast<std::ptrdiff_t>(seq_len)) {
    result.emplace_back(at, at + static_cast<std::ptrdiff_t>(seq_len));
  }
  return result;
}

TEST(Loader, ShowsEachWindowOncePerEpoch) {
  const Data data({103, 50, 9});
  Loader loader(data.open(), 8, 1);
  ASSERT_EQ(loader.windows_per_epoch(), 11U + 5U + 1U);
  std::vector<Row> expected;  // windows start every seq_len + 1 tokens and stay inside their shard
  for (const auto& [shard, windows] : std::map<int, int>{{0, 11}, {1, 5}, {2, 1}}) {
    for (int w = 0; w < windows; ++w) {
      Row row(8);
      for (int t = 0; t < 8; ++t) row[static_cast<std::size_t>(t)] = 10'000 * shard + 9 * w + t;
      expected.push_back(row);
    }
  }
  for (int epoch = 0; epoch < 5; ++epoch) {
    auto rows = take(loader, 8, 17);
    EXPECT_NE(rows, expected) << "shuffled";
    std::ranges::sort(rows);
    EXPECT_EQ(rows, expected) << "epoch " << epoch;
  }
}

TEST(Loader, CountsItsPosition) {
  const Data data({90});
  Loader loader(data.open(), 8, 1);
  EXPECT_EQ(loader.state(), (LoaderState{0, 0}));
  take(loader, 8, 9);
  EXPECT_EQ(loader.state(), (LoaderState{0, 9}));
  take(loader, 8, 1);
  EXPECT_EQ(loader.state(), (LoaderState{1, 0}));
  take(loader, 8, 25);
  EXPECT_EQ(loader.state(), (LoaderState{3, 5}));
}

TEST(Loader, ResumesAsIfNeverStopped) {
  const Data data({400, 130});
  Loader whole(data.open(), 16, 7);
  const auto all = take(whole, 16, 90);
  for (std::size_t stop = 0; stop < 90; ++stop) {
    Loader before(data.open(), 16, 7);
    if (stop > 0) take(before, 16, stop);
    Loader after(data.open(), 16, 7);
    after.restore(before.state());
    EXPECT_EQ(take(after, 16, 90 - stop), std::vector<Row>(all.begin() + static_cast<std::ptrdiff_t>(stop), all.end()));
  }
}

TEST(Loader, OrderIgnoresTheBatchSplit) {
  const Data data({400});
  Loader whole(data.open(), 16, 7);
  const auto all = take(whole, 16, 60);
  for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 20U}) {
    Loader split(data.open(), 16, 7);
    std::vector<Row> parts;
    while (parts.size() < all.size()) {
      for (Row& row : take(split, 16, rows)) parts.push_back(std::move(row));
    }
    EXPECT_EQ(parts, all) << rows << " rows at a time";
  }
}

TEST(Loader, OrderDiffersBySeedAndEpoch) {
  const Data data({400});
  Loader one(data.open(), 8, 1);
  Loader two(data.open(), 8, 2);
  const auto first = take(one, 8, 44);
  EXPECT_NE(first, take(two, 8, 44));
  EXPECT_NE(first, take(one, 8, 44));
}

TEST(Loader, GoesThroughTheDataAsStoredWhenAsked) {
  const Data data({90});
  Loader loader(data.open(), 8, 1, DataOrder::as_stored);
  const auto rows = take(loader, 8, 20);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], static_cast<std::int32_t>(i % 10 * 9)) << "row " << i << ", the epoch has 10";
  }
}

TEST(Loader, NamesBothLengthsWhenASequenceDoesNotFit) {
  const Data data({40, 20});
  EXPECT_EQ(user_error([&data] { Loader(data.open(), 19, 1); }), "");
  EXPECT_THAT(user_error([&data] { Loader(data.open(), 20, 1); }),
              AllOf(HasSubstr("s1: 20 tokens"), HasSubstr("seq_len 20"), HasSubstr("shorten seq_len")));
  EXPECT_THAT(user_error([&data] { Loader(data.open(), ~std::uint64_t{0}, 1); }),
              HasSubstr("seq_len 1844674407370955"));
}

TEST(Loader, RefusesAPositionOfOtherData) {
  const Data data({90});
  Loader loader(data.open(), 8, 1);
  EXPECT_EQ(user_error([&loader] { loader.restore({3, 9}); }), "");
  EXPECT_THAT(user_error([&loader] {
                loader.restore({3, 10});
              }),
              AllOf(HasSubstr("position 10 of epoch 3"), HasSubstr("an epoch has 10 sequences")));
  EXPECT_EQ(loader.state(), (LoaderState{3, 9})) << "a refused position changes nothing";
}

TEST(Loader, RefusesBatchesOfNoWholeRows) {
  const Data data({90});
  Loader loader(data.open(), 8, 1);
  Row eight(8);
  Row nine(9);
  Row sixteen(16);
  EXPECT_THROW(loader.next_batch({nine, nine, {}}), Failure);
  EXPECT_THROW(loader.next_batch({sixteen, eight, {}}), Failure);
  EXPECT_THROW(loader.next_batch({}), Failure);
}

TEST(ValidationLoader, ReadsTheFirstWindowsInOrder) {
  const Data data({30, 50});
  const ValidationLoader loader(data.open(), 9, 5);
  ASSERT_EQ(loader.windows(), 5U);
  Row inputs(3 * 9);
  Row targets(3 * 9);
  loader.read(2, {inputs, targets, {}});
  const std::vector<std::int32_t> starts{20, 10'000, 10'010};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t t = 0; t < 9; ++t) {
      EXPECT_EQ(inputs[row * 9 + t], starts[row] + static_cast<std::int32_t>(t));
      EXPECT_EQ(targets[row * 9 + t], starts[row] + static_cast<std::int32_t>(t) + 1);
    }
  }
  EXPECT_THROW(loader.read(3, {inputs, targets, {}}), Failure)
      << "windows 3, 4 and 5: the last is not a validation window";
}

TEST(ValidationLoader, UsesWhatThereIs) {
  const Data data({30, 50});
  EXPECT_EQ(ValidationLoader(data.open(), 9, 1000).windows(), 8U);
  EXPECT_THROW(ValidationLoader(data.open(), 9, 0), Failure);
}

}  // namespace
}  // namespace octet
