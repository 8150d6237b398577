// Loss masks and document boundaries: what shards mark, batches say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "data/loader.h"
#include "test_files.h"
#include "token_model.h"

namespace octet {
namespace {

using test::Documents;
using test::ModelRow;
using test::TempFolder;
using test::user_error;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The next `count` rows of a loader, one at a time.
std::vector<ModelRow> rows_of(Loader& loader, std::size_t seq_len, std::size_t count) {
  std::vector<ModelRow> rows(count);
  for (ModelRow& row : rows) {
    for (auto* part : {&row.inputs, &row.targets, &row.document_start}) part->assign(seq_len, -7);
    loader.next_batch({row.inputs, row.targets, row.document_start});
  }
  return rows;
}

/// Shards, lengths of documents and seq_len at random: documents longer and shorter than a row, of one token, shards of
/// one window. Without known boundaries the starts are not asked for.
TEST(Documents, BatchesAreThoseOfAModelOfPlainArrays) {
  std::mt19937_64 random(1);
  const TempFolder folder;
  for (int trial = 0; trial < 80; ++trial) {
    const auto documents = std::array{Documents::ended, Documents::marked}[random() % 2];
    const std::size_t seq_len = 1 + random() % 12;
    const std::size_t longest = std::array<std::size_t, 4>{1, 2, 5, 40}[random() % 4];
    std::vector<std::vector<test::ModelToken>> tokens;
    std::vector<Shard> shards;
    for (std::size_t s = 0; s <= random() % 3; ++s) {
      tokens.push_back(test::random_documents(random, seq_len + 1 + random() % 40, longest, documents));
      const auto path = folder / ("s" + std::to_string(s));
      test::write_model(path, tokens.back(), documents);
      shards.emplace_back(path, test::kModelVocab);
    }
    auto expected = test::model_rows(tokens, seq_len);
    Loader loader(std::move(shards), seq_len, random(), DataOrder::as_stored);
    ASSERT_EQ(loader.windows_per_epoch(), expected.size());
    EXPECT_EQ(rows_of(loader, seq_len, expected.size()), expected) << "trial " << trial << ", seq_len " << seq_len;
  }
}

TEST(Documents, OfEndTokensAloneAreOneTokenEach) {
  const TempFolder folder;
  test::write_model(folder / "a", std::vector<test::ModelToken>(9, {test::kEnd, true, true}), Documents::ended);
  std::vector<Shard> shards;
  shards.emplace_back(folder / "a", test::kModelVocab);
  Loader loader(std::move(shards), 8, 1);
  EXPECT_EQ(rows_of(loader, 8, 1)[0].document_start, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Documents, TheEndOfADocumentKeepsItsTarget) {
  const TempFolder folder;
  test::write_model(folder / "a", {{5}, {test::kEnd}, {6, true}, {7}}, Documents::ended);
  std::vector<Shard> shards;
  shards.emplace_back(folder / "a", test::kModelVocab);
  Loader loader(std::move(shards), 3, 1);
  const ModelRow row = rows_of(loader, 3, 1)[0];
  EXPECT_EQ(row.targets, (std::vector<std::int32_t>{test::kEnd, 6, 7}));
  EXPECT_EQ(row.document_start, (std::vector<std::int32_t>{0, 0, 2}));
}

TEST(Documents, ThatAreNotKnownAreRefused) {
  const TempFolder folder;
  std::mt19937_64 random(1);
  std::vector<Shard> shards;
  for (const Documents documents : {Documents::ended, Documents::unknown}) {
    const auto path = folder / (documents == Documents::ended ? "known" : "unknown");
    test::write_model(path, test::random_documents(random, 20, 5, documents), documents);
    shards.emplace_back(path, test::kModelVocab);
  }
  const Loader loader(std::move(shards), 8, 1);
  EXPECT_THAT(user_error([&] { loader.require_documents(); }),
              AllOf(HasSubstr("unknown: does not say where documents end"), HasSubstr("data.boundaries")));
}

TEST(Documents, MarksNeedTwoFreeBits) {
  const TempFolder folder;
  for (const auto& [vocab, bytes] : {std::pair{64, 1U}, {65, 2U}, {16384, 2U}, {16385, 4U}, {1 << 30, 4U}}) {
    const auto vocab_size = static_cast<std::uint64_t>(vocab);
    {
      ShardWriter writer(folder / "a", vocab_size, {}, {.marked = true});
      writer.append(std::array{0, vocab - 1},
                    std::array{TokenMark::begins_document, TokenMark::begins_document | TokenMark::no_target});
      writer.finish();
    }
    const Shard shard(folder / "a", vocab_size);
    EXPECT_EQ(shard.bytes_per_token(), bytes);
    std::array<std::int32_t, 2> out{};
    shard.read(0, out);
    EXPECT_EQ(out, (std::array{0, vocab - 1}));
    shard.read_targets(0, out);
    EXPECT_EQ(out, (std::array{0, -1}));
    shard.read_document_starts(0, out);
    EXPECT_EQ(out, (std::array{0, 1}));
  }
  EXPECT_THROW(ShardWriter(folder / "b", (std::uint64_t{1} << 30U) + 1, {}, {.marked = true}), Failure);
}

TEST(Documents, RowsGoWithTheirOwnLengthAlone) {
  const TempFolder folder;
  std::mt19937_64 random(1);
  test::write_model(folder / "rows", test::random_documents(random, 27, 5, Documents::marked), Documents::marked, 9);
  const auto open = [&](std::uint64_t seq_len) {
    std::vector<Shard> shards;
    shards.emplace_back(folder / "rows", test::kModelVocab);
    return Loader(std::move(shards), seq_len, 1);
  };
  EXPECT_EQ(open(8).windows_per_epoch(), 3U);
  for (const std::uint64_t seq_len : {7, 9, 17}) {
    EXPECT_THAT(user_error([&] { (void)open(seq_len); }),
                AllOf(HasSubstr("packed for seq_len 8, not"), HasSubstr("training.seq_len = 8")));
  }
  std::string file = test::read_file(folder / "rows");
  ShardHeader header{};
  std::memcpy(&header, file.data(), sizeof header);
  for (const std::uint32_t row : {1U, 10U, 28U}) {  // 27 tokens are no whole rows of these
    header.flags = kMarkedFlag | (row << kRowShift);
    header.header_checksum = checksum_of(header);
    std::memcpy(file.data(), &header, sizeof header);
    test::write_file(folder / "forged", file);
    EXPECT_THAT(user_error([&] { Shard(folder / "forged", test::kModelVocab); }), HasSubstr("no whole rows of"));
  }
}

TEST(Documents, ValidationKnowsWhetherItHasTargets) {
  const TempFolder folder;
  std::vector<test::ModelToken> tokens(40, {5, false, false});
  tokens[31].is_target = true;  // of the fourth window of nine
  test::write_model(folder / "a", tokens, Documents::marked);
  std::vector<Shard> shards;
  shards.emplace_back(folder / "a", test::kModelVocab);
  const ValidationLoader loader(std::move(shards), 8, 4);
  EXPECT_FALSE(loader.has_targets(3));
  EXPECT_TRUE(loader.has_targets(4));
}

}  // namespace
}  // namespace octet
