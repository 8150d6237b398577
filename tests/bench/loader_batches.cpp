// Writes two shards into a folder and prints, as lines of JSON, the windows in which Octet's loader hands them out:
// loader_batches FOLDER. tokens_test.py holds the peers' reading of the same shards against it.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/random.h"
#include "data/loader.h"
#include "data/shard_writer.h"

namespace octet {
namespace {

constexpr std::uint64_t kVocab = 100'000;  // of the wider shard: 4 bytes a token

std::vector<Shard> open(const std::filesystem::path& folder) {
  std::vector<Shard> shards;
  for (const char* name : {"bytes.tok", "words.tok"}) shards.emplace_back(folder / name, kVocab);
  return shards;
}

void write(const std::filesystem::path& path, std::uint64_t vocab, std::uint64_t count) {
  std::vector<std::int32_t> tokens;
  for (std::uint64_t i = 0; i < count; ++i) tokens.push_back(static_cast<std::int32_t>(philox(vocab, i, 0)[0] % vocab));
  ShardWriter writer(path, vocab);
  writer.append(tokens);
  writer.finish();
}

/// A window for each row, over two epochs and a piece of the third.
nlohmann::json windows(const std::filesystem::path& folder, std::uint64_t seq_len, std::uint64_t seed, bool shuffle) {
  Loader loader(open(folder), seq_len, seed, shuffle ? DataOrder::shuffled : DataOrder::as_stored);
  nlohmann::json rows = nlohmann::json::array();
  std::vector<std::int32_t> inputs(seq_len);
  std::vector<std::int32_t> targets(seq_len);
  for (std::uint64_t i = 0; i < 2 * loader.windows_per_epoch() + 3; ++i) {
    loader.next_batch({inputs, targets, {}});
    rows.push_back(inputs);
    rows.back().push_back(targets.back());
  }
  return {{"seq_len", seq_len}, {"seed", seed}, {"shuffle", shuffle}, {"windows", rows}};
}

}  // namespace
}  // namespace octet

int main(int, char** arguments) {
  const std::filesystem::path folder = arguments[1];
  octet::write(folder / "bytes.tok", 256, 700);
  octet::write(folder / "words.tok", octet::kVocab, 500);
  for (const std::uint64_t seq_len : {1, 6, 40, 450}) {  // 600, 171, 29 and 2 windows
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 63U) - 1}) {
      for (const bool shuffle : {true, false}) {
        std::puts(octet::windows(folder, seq_len, seed, shuffle).dump().c_str());
      }
    }
  }
}
