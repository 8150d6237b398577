// Documents to shards: the same bytes for any number of threads and after any interruption, splits, and refusals.
#include "data/tokenize_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "compressed.h"
#include "data/shard.h"
#include "marked_tokenizer.h"
#include "test_files.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::MarkedTokenizer;
using test::read_file;
using test::TempFolder;
using test::user_error;
using test::write_file;
using ::testing::AllOf;
using ::testing::HasSubstr;

const MarkedTokenizer kMarked;

std::string document(int i) {
  return "document " + std::to_string(i) + std::string(static_cast<std::size_t>(i * 37 % 500), 'a') + "\n";
}

std::string json_lines(int from, int to) {
  std::string lines;
  for (int i = from; i < to; ++i) lines += nlohmann::json{{"id", i}, {"body", {{"text", document(i)}}}}.dump() + "\n";
  return lines;
}

/// The tokens of a split as text, "|" at the end of each document.
std::string split_text(const fs::path& folder, const ManifestSplit& split) {
  std::string text;
  for (const ManifestShard& entry : split.shards) {
    const Shard shard(folder / entry.file, 257);
    EXPECT_EQ(shard.token_count(), entry.tokens);
    EXPECT_EQ(shard.token_checksum(), entry.checksum);
    EXPECT_EQ(shard.tokenizer(), 77U);
    EXPECT_EQ(shard.document_end(), MarkedTokenizer::kEnd);
    std::vector<std::int32_t> tokens(shard.token_count());
    shard.read(0, tokens);
    text += kMarked.decode(tokens);
  }
  return text;
}

std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path());
  }
  return files;
}

class TokenizeDocuments : public ::testing::Test {
 protected:
  static constexpr int kDocuments = 5000;  // five batches of text

  /// Files of each compression, written once.
  static void SetUpTestSuite() {
    inputs_ = std::make_unique<TempFolder>();
    write_file(*inputs_ / "a.jsonl", json_lines(0, 2000));
    write_file(*inputs_ / "b.jsonl.gz", test::gzip(json_lines(2000, 4000)));
    write_file(*inputs_ / "c.jsonl.zst", test::zstd(json_lines(4000, kDocuments)));
  }
  static void TearDownTestSuite() { inputs_.reset(); }

  [[nodiscard]] TokenizeJob job(const std::string& out) const {
    TokenizeJob job;
    job.inputs = {inputs_->path().string()};
    job.folder = folder_ / out;
    job.source.field = "body.text";
    job.validation_fraction = 0.1;
    job.shard_tokens = 150'000;
    job.threads = 2;
    return job;
  }

  /// One small file of JSON lines instead of the three large ones.
  [[nodiscard]] TokenizeJob small_job(std::string_view lines, const std::string& out = "small") const {
    write_file(folder_ / "small.jsonl", lines);
    TokenizeJob small;
    small.inputs = {(folder_ / "small.jsonl").string()};
    small.folder = folder_ / out;
    return small;
  }

  static std::string error_of(const TokenizeJob& job, const Tokenizer& tokenizer = kMarked) {
    return user_error([&] { (void)tokenize_documents(tokenizer, job); });
  }

  static std::unique_ptr<TempFolder> inputs_;
  TempFolder folder_;  // NOLINT(misc-non-private-member-variables-in-classes)
};

std::unique_ptr<TempFolder> TokenizeDocuments::inputs_;

TEST_F(TokenizeDocuments, EachDocumentIsInItsSplitInOrder) {
  const auto [manifest, left_out] = tokenize_documents(kMarked, job("out"));
  std::string train, validation;
  std::uint64_t held_out = 0;
  for (int i = 0; i < kDocuments; ++i) {
    const bool held = split_of(static_cast<std::uint64_t>(i), 1, 0.1) == DataSplit::validation;
    held_out += held ? 1 : 0;
    (held ? validation : train) += document(i) + "|";
  }
  EXPECT_EQ(split_text(folder_ / "out", manifest.train), train);
  EXPECT_EQ(split_text(folder_ / "out", manifest.validation), validation);
  EXPECT_NEAR(static_cast<double>(held_out), 0.1 * kDocuments, 64) << "three standard deviations";
  EXPECT_EQ(manifest.validation.counts.documents, held_out);
  EXPECT_EQ(manifest.train.counts.documents, kDocuments - held_out);
  EXPECT_EQ(manifest.train.counts.text_bytes + manifest.train.counts.documents, manifest.train.tokens());
  ASSERT_GT(manifest.train.shards.size(), 5U);
  for (const ManifestShard& shard : manifest.train.shards) {
    EXPECT_GE(shard.tokens, 150'000U);
    EXPECT_LE(shard.tokens, 300'600U);
  }
  EXPECT_EQ(manifest.train.shards[1].file, "train-00001.tok");
  EXPECT_EQ(manifest.validation.shards.size(), 1U) << "too few tokens for a second are in the first";
  ASSERT_EQ(manifest.inputs.size(), 3U);
  const std::string stored = read_file(*inputs_ / "b.jsonl.gz");
  EXPECT_EQ(manifest.inputs[1].checksum, checksum_of(std::as_bytes(std::span(stored))));
  EXPECT_EQ(manifest.inputs[1].bytes, stored.size());
  EXPECT_FALSE(fs::exists(folder_ / "out/tokenize.state.json"));
}

TEST_F(TokenizeDocuments, AnyNumberOfThreadsWritesTheSameBytes) {
  TokenizeJob one = job("one");
  one.threads = 1;
  TokenizeJob five = job("five");
  five.threads = 5;
  (void)tokenize_documents(kMarked, one);
  (void)tokenize_documents(kMarked, five);
  EXPECT_TRUE(files_in(folder_ / "one") == files_in(folder_ / "five"));
}

TEST_F(TokenizeDocuments, AnInterruptedRunGoesOnWithTheSameBytes) {
  (void)tokenize_documents(kMarked, job("whole"));
  std::size_t shards_before = 0;
  for (int stops_after = 1;; ++stops_after) {
    TokenizeListener listener;
    std::size_t resumed = 0;
    int batches = 0;
    listener.on_resume = [&resumed](std::size_t shards) { resumed = shards; };
    listener.on_progress = [&batches, stops_after](const TokenizeStatus&) {
      if (++batches == stops_after) throw std::runtime_error("stop");
    };
    try {
      (void)tokenize_documents(kMarked, job("parts"), listener);
      EXPECT_GT(resumed, 0U);
      break;
    } catch (const std::runtime_error&) {
      EXPECT_FALSE(fs::exists(folder_ / "parts/manifest.json"));
    }
    EXPECT_GE(resumed, shards_before);
    shards_before = resumed;
    write_file(folder_ / "parts/train-00009.tok.partial", "of a run that was killed");
    ASSERT_LT(stops_after, 20);
  }
  fs::remove(folder_ / "parts/train-00009.tok.partial");
  EXPECT_TRUE(files_in(folder_ / "whole") == files_in(folder_ / "parts"));
}

class Interrupted : public TokenizeDocuments {
 protected:
  void SetUp() override {
    TokenizeDocuments::SetUp();
    TokenizeListener listener;
    int batches = 0;
    listener.on_progress = [&batches](const TokenizeStatus&) {
      if (++batches == 2) throw std::runtime_error("stop");
    };
    EXPECT_THROW((void)tokenize_documents(kMarked, job("out"), listener), std::runtime_error);
    ASSERT_TRUE(fs::exists(folder_ / "out/tokenize.state.json"));
    ASSERT_TRUE(fs::exists(folder_ / "out/train-00000.tok"));
  }
};

TEST_F(Interrupted, RefusesAnotherJob) {
  TokenizeJob other = job("out");
  other.seed = 2;
  EXPECT_THAT(error_of(other), AllOf(HasSubstr("tokenize.state.json: a run of another job was begun here"),
                                     HasSubstr("options.seed is 1 there and 2 here")));
  other = job("out");
  other.source.separator = "";
  EXPECT_THAT(error_of(other), HasSubstr("options.document_separator is null there and \"\" here"));
  EXPECT_THAT(error_of(job("out"), MarkedTokenizer(78)),
              HasSubstr("tokenizer.fingerprint is \"000000000000004d\" there and \"000000000000004e\" here"));
  const fs::path input = *inputs_ / "c.jsonl.zst";
  fs::last_write_time(input, fs::last_write_time(input) + std::chrono::seconds(1));
  EXPECT_THAT(error_of(job("out")), HasSubstr("inputs.2.modified is"));
  other = job("out");
  other.threads = 7;
  fs::last_write_time(input, fs::last_write_time(input) - std::chrono::seconds(1));
  EXPECT_EQ(error_of(other), "") << "threads decide nothing";
}

TEST_F(Interrupted, RefusesOtherShardsAndADamagedState) {
  const std::string shard = read_file(folder_ / "out/train-00000.tok");
  const std::string state = read_file(folder_ / "out/tokenize.state.json");
  std::string damaged = shard;
  damaged[damaged.size() / 2] ^= 1;
  write_file(folder_ / "out/train-00000.tok", damaged);
  EXPECT_THAT(error_of(job("out")), HasSubstr("train-00000.tok: the tokens are damaged"));
  (void)tokenize_documents(kMarked, small_job("{\"text\": \"x\"}"));
  fs::copy_file(folder_ / "small/train-00000.tok", folder_ / "out/train-00000.tok",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(error_of(job("out")), HasSubstr("train-00000.tok: is not the shard that tokenize.state.json knows"));
  fs::remove(folder_ / "out/train-00000.tok");
  EXPECT_THAT(error_of(job("out")), HasSubstr("train-00000.tok: No such file"));
  write_file(folder_ / "out/tokenize.state.json", state.substr(0, state.size() / 2));
  EXPECT_THAT(error_of(job("out")), HasSubstr("tokenize.state.json: is damaged: it is no JSON object"));
}

TEST_F(TokenizeDocuments, NamesBadLinesOrCountsThem) {
  const std::string lines =
      "{\"text\": \"good\"}\n\n{\"text\": 1}\n{\"text\": \"\"}\n{\"body\": \"x\"}\nno json\n{\"text\": \"last\"}\n";
  TokenizeJob small = small_job(lines);
  EXPECT_THAT(error_of(small), AllOf(HasSubstr("small.jsonl:3: has no text in the field text: it is not a string"),
                                     HasSubstr("--field"), HasSubstr("--skip-bad")));
  small.skip_bad = true;
  const auto [manifest, left_out] = tokenize_documents(kMarked, small);
  EXPECT_EQ(split_text(folder_ / "small", manifest.train), "good|last|");
  EXPECT_EQ(manifest.train.counts.documents, 2U);
  EXPECT_EQ(manifest.train.counts.skipped, 3U);
  EXPECT_EQ(manifest.train.counts.empty, 1U);
}

TEST_F(TokenizeDocuments, TheFirstErrorIsNamedWhateverTheThreads) {
  std::string lines = json_lines(0, 2000) + "bad\n" + json_lines(0, 2000) + "bad\n";
  for (const int threads : {1, 4}) {
    TokenizeJob small = small_job(lines, "threads" + std::to_string(threads));
    small.source.field = "body.text";
    small.threads = threads;
    EXPECT_THAT(error_of(small), HasSubstr("small.jsonl:2001: is no valid JSON"));
  }
}

TEST_F(TokenizeDocuments, TextsAreDocuments) {
  fs::create_directories(folder_ / "texts");
  write_file(folder_ / "texts/a.txt", "one\n\ntwo\n");
  write_file(folder_ / "texts/b.md", "three");
  write_file(folder_ / "texts/c.bin", "left out");
  TokenizeJob texts;
  texts.inputs = {(folder_ / "texts/*").string()};
  texts.folder = folder_ / "out";
  const auto [manifest, left_out] = tokenize_documents(kMarked, texts);
  EXPECT_EQ(split_text(folder_ / "out", manifest.train), "one\n\ntwo\n|three|");
  EXPECT_THAT(left_out, ::testing::ElementsAre(folder_ / "texts/c.bin"));
  texts.folder = folder_ / "separated";
  texts.source.separator = "";
  EXPECT_EQ(split_text(folder_ / "separated", tokenize_documents(kMarked, texts).manifest.train), "one\n|two\n|three|");
}

TEST_F(TokenizeDocuments, BytesHaveNoEndOfDocument) {
  const auto result = tokenize_documents(ByteTokenizer(), small_job("{\"text\": \"ab\"}\n{\"text\": \"c\"}\n"));
  EXPECT_EQ(result.manifest.train.tokens(), 3U);
  EXPECT_EQ(result.manifest.document_end, std::nullopt);
  EXPECT_EQ(Shard(folder_ / "small/train-00000.tok", 256).document_end(), std::nullopt);
}

TEST_F(TokenizeDocuments, RefusesWhatCannotBeMeant) {
  const std::string line = "{\"text\": \"x\"}\n";
  TokenizeJob small = small_job(line);
  for (const double fraction : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    small.validation_fraction = fraction;
    EXPECT_THAT(error_of(small), HasSubstr("must be at least 0 and below 1")) << fraction;
  }
  small.validation_fraction = 1e-6;
  EXPECT_THAT(error_of(small), AllOf(HasSubstr("none of 1 documents fell into the validation part"),
                                     HasSubstr("raise --validation-fraction")));
  EXPECT_THAT(error_of(small_job("\n{\"text\": \"\"}\n", "none")),
              HasSubstr("none of 0 documents is left for training"));
  small = small_job(line, "zero");
  small.shard_tokens = 0;
  EXPECT_THAT(error_of(small), HasSubstr("raise --shard-tokens"));
  small = small_job(line, "zero");
  small.threads = 0;
  EXPECT_THAT(error_of(small), HasSubstr("--threads 0: choose 1 to 1024"));
  small = small_job(line, "zero");
  small.source.max_document_bytes = 0;
  EXPECT_THAT(error_of(small), HasSubstr("raise --max-document-bytes"));
  EXPECT_FALSE(fs::exists(folder_ / "zero"));

  EXPECT_EQ(error_of(small_job(line, "done")), "");
  EXPECT_THAT(error_of(small_job(line, "done")), HasSubstr("done: holds a finished data set"));
  fs::remove(folder_ / "done/manifest.json");
  EXPECT_THAT(error_of(small_job(line, "done")), HasSubstr("done: holds train-00000.tok, which is not of this job"));
  EXPECT_THAT(error_of(small_job(line, "small.jsonl")), HasSubstr("a part of the path is a file"));
}

}  // namespace
}  // namespace octet
