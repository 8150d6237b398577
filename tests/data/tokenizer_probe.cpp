// Encodes documents for the test that compares with the tokenizers package, and trains on them.
//
// tokenizer_probe encode|markup TOKENIZER, tokenizer_probe train SPLIT VOCAB_SIZE MIN_FREQUENCY OUT
// Reads documents from standard input, each after its length in 32 bits; writes the tokens of each, after their count,
// in 32 bits each. Fails where decoding does not give the document back, unless its tokenizer changes, adds or removes
// something.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>

#include "core/error.h"
#include "data/bpe_tokenizer.h"
#include "data/bpe_trainer.h"
#include "data/open_tokenizer.h"
#include "data/tokenizer_json.h"
#include "io/files.h"

namespace octet {
namespace {

std::vector<std::string> read_documents() {
  const std::string input(std::istreambuf_iterator<char>(std::cin), {});
  std::vector<std::string> documents;
  for (std::size_t at = 0; at < input.size();) {
    std::uint32_t size = 0;
    check(at + sizeof size <= input.size(), "a length has four bytes");
    std::memcpy(&size, input.data() + at, sizeof size);
    documents.push_back(input.substr(at + sizeof size, size));
    at += sizeof size + size;
  }
  return documents;
}

/// Whether nothing of the text is changed, removed or added on the way.
bool keeps_text(const TokenizerDefinition& definition) {
  const auto keeps = [](const SplitStage& stage) {
    return !stage.pattern.empty() && stage.behavior != SplitBehavior::removed;
  };
  return !definition.nfc && std::all_of(definition.stages.begin(), definition.stages.end(), keeps);
}

void encode(const std::string& what, bool markup) {
  const auto tokenizer = open_tokenizer(what);
  const bool exact = keeps_text(dynamic_cast<const BpeTokenizer&>(*tokenizer).definition());
  for (const std::string& document : read_documents()) {
    std::vector<std::int32_t> tokens;
    if (markup) {
      tokenizer->encode_markup(document, tokens);
    } else {
      tokenizer->encode(document, tokens);
      check(!exact || tokenizer->decode(tokens) == document, "decoding gives the text back");
    }
    const auto count = static_cast<std::uint32_t>(tokens.size());
    std::fwrite(&count, sizeof count, 1, stdout);
    std::fwrite(tokens.data(), sizeof tokens[0], tokens.size(), stdout);
  }
}

void train(char** words) {
  BpeTrainer trainer({std::stoll(words[1]), std::stoll(words[2]), words[0], {"<|endoftext|>"}});
  for (const std::string& document : read_documents()) trainer.add(document);
  write_file_atomically(words[3], tokenizer_json_text(trainer.train()));
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  const std::string action = argc > 1 ? argv[1] : "";
  if (action == "train" && argc == 6) {
    octet::train(argv + 2);
  } else if ((action == "encode" || action == "markup") && argc == 3) {
    octet::encode(argv[2], action == "markup");
  } else {
    return 2;
  }
}
