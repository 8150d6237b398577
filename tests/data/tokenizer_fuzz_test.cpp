// Damaged tokenizer.json files: each gives a tokenizer that keeps bytes, or is refused with one line.
#include <gtest/gtest.h>

#include "data/bpe_tokenizer.h"
#include "data/tokenizer_samples.h"
#include "io/mutations.h"
#include "io/scratch.h"

namespace octet {
namespace {

constexpr std::string_view kJsonTokens = "{}[]\":,\\0123456789-+.eEuntrfalsdypho_ \n\t\x80\xff";

/// True if the text is a tokenizer, which is then used.
bool accepted(const std::string& text) {
  try {
    const BpeTokenizer tokenizer(parse_tokenizer_json(text, "FILE"));
    std::vector<std::int32_t> tokens;
    tokenizer.encode("abc \xff<|endoftext|> 17", tokens);
    tokenizer.encode_markup("abc \xff<|endoftext|> 17", tokens);
    (void)tokenizer.decode(tokens);
    return true;
  } catch (const UserError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return false;
  }
}

/// The sample with most of its vocabulary last, so that damage meets the rest more often.
std::string file_around(std::string& vocabulary) {
  nlohmann::json file = sample_json();
  vocabulary = file["model"]["vocab"].dump();
  file["model"]["vocab"] = "VOCAB";
  return file.dump();
}

TEST(TokenizerFuzz, DamagedFilesAreReadOrRefused) {
  Mutator mutator(1);
  std::string vocabulary;
  const std::string around = file_around(vocabulary);
  int valid = 0;
  constexpr int rounds = 3000;
  for (int i = 0; i < rounds; ++i) {
    std::string text = mutator.mutate(around, kJsonTokens);
    const std::size_t at = text.find("\"VOCAB\"");
    if (at != std::string::npos) text.replace(at, 7, vocabulary);
    valid += accepted(text) ? 1 : 0;
  }
  EXPECT_GT(valid, rounds / 100);
  EXPECT_LT(valid, rounds / 2);
}

TEST(TokenizerFuzz, DamagedVocabulariesAreReadOrRefused) {
  Mutator mutator(2);
  const std::string text = sample_json()["model"].dump();
  nlohmann::json whole = sample_json();
  whole["model"] = "MODEL";
  const std::string around = whole.dump();
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = around;
    (void)accepted(damaged.replace(damaged.find("\"MODEL\""), 7, mutator.mutate(text, kJsonTokens)));
  }
}

}  // namespace
}  // namespace octet
