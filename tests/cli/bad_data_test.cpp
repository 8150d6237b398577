// Data that are missing, empty, too short or of another vocabulary.
#include <cstring>

#include "cli/cli_fixture.h"
#include "data/shard_format.h"
#include "io/files.h"

namespace octet::test {
namespace {

using BadData = CliTest;

TEST_F(BadData, Missing) {
  refuses(train("run", set("data.train=nowhere.tok")), {"data.train", "nowhere.tok", "octet tokenize"});
  refuses(train("run", set("data.validation=nowhere.tok")), {"data.validation", "nowhere.tok", "octet tokenize"});
  refuses({"tokenize", "nowhere.txt", "--train", "other.tok"}, {"nowhere.txt", "check the path"});
}

TEST_F(BadData, Empty) {
  write("empty.tok", "");
  refuses(train("run", set("data.train=empty.tok")), {"empty.tok", "is empty", "tokenize the text again"});
  write("empty.txt", "");
  refuses({"tokenize", "empty.txt", "--train", "other.tok"}, {"empty.txt", "the text is empty"});
  refuses(train("run", set("data.train=[]")), {"data.train must name at least one"});
}

TEST_F(BadData, NoShardAtAll) {
  refuses(train("run", set("data.train=text.txt")), {"text.txt", "is not a token shard", "tokenize the text first"});
}

TEST_F(BadData, SequenceLongerThanTheData) {
  refuses(train("run", set("training.seq_len=100000")), {"train.tok", "too few", "100000", "shorten seq_len"});
}

TEST_F(BadData, VocabularyAboveTheModels) {
  refuses(train("run", set("model.vocab_size=100")), {"train.tok", "256", "100", "raise the model's vocab_size"});
}

TEST_F(BadData, TokenAboveItsVocabulary) {
  std::string shard = read_file(path("train.tok"));
  ShardHeader header{};
  std::memcpy(&header, shard.data(), sizeof header);
  header.vocab_size = 64;  // letters lie above
  header.header_checksum = checksum_of(header);
  std::memcpy(shard.data(), &header, sizeof header);
  write("small.tok", shard);
  refuses(train("run", set("data.train=small.tok")),
          {"small.tok", "at position 0", "outside the vocabulary of 64", "tokenize the text again"});
}

TEST_F(BadData, Damaged) {
  std::string shard = read_file(path("train.tok"));
  write("cut.tok", std::string_view(shard).substr(0, shard.size() - 10));
  refuses(train("run", set("data.train=cut.tok")), {"cut.tok", "is truncated", "tokenize the text again"});
  shard[shard.size() / 2] ^= 1;
  write("flipped.tok", shard);
  refuses(train("run", set("data.train=flipped.tok")), {"flipped.tok", "damaged", "tokenize the text again"});
}

TEST_F(BadData, TokenizeKeepsItsInput) {
  refuses({"tokenize", "text.txt", "--train", "text.txt"}, {"text.txt", "name another output"});
}

}  // namespace
}  // namespace octet::test
