// tokenizer.json: what is read, and each thing that is refused, by name.
#include "data/tokenizer_json.h"

#include <gmock/gmock.h>

#include "data/bpe_tokenizer.h"
#include "data/open_tokenizer.h"
#include "data/tokenizer_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

using nlohmann::json;
using testing::ElementsAre;

TokenizerDefinition parsed(const json& file) {
  return parse_tokenizer_json(file.dump(), "FILE");
}

/// The refusal of the sample with `value` at `pointer`, "/model/dropout".
std::string refusal(const char* pointer, const json& value) {
  json file = sample_json();
  file[json::json_pointer(pointer)] = value;
  return user_error([&] { BpeTokenizer tokenizer(parsed(file)); });
}

std::vector<std::int32_t> encoded(const json& file, std::string_view text) {
  std::vector<std::int32_t> tokens;
  BpeTokenizer(parsed(file)).encode(text, tokens);
  return tokens;
}

TEST(TokenizerJson, TheSampleIsWhatItWasMadeFrom) {
  const TokenizerDefinition definition = parsed(sample_json());
  EXPECT_EQ(definition.pieces.size(), 259U);
  EXPECT_EQ(definition.pieces[257], "abc");
  EXPECT_EQ(definition.added.size(), 1U);
  EXPECT_THAT(definition.prefix, ElementsAre(258));
  EXPECT_EQ(BpeTokenizer(definition).bos(), 258);
  EXPECT_THAT(encoded(sample_json(), "abcab 7"), ElementsAre(257, 256, ' ', '7'));
}

TEST(TokenizerJson, MergesHaveTwoNotations) {
  json file = sample_json();
  file["model"]["merges"] = {"a b", "ab c"};
  EXPECT_THAT(encoded(file, "abc"), ElementsAre(257));
}

TEST(TokenizerJson, StepsOfEveryKnownTypeAreRead) {
  json file = sample_json();
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  file["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Digits"}, {"individual_digits", true}},
        {{"type", "Split"}, {"pattern", {{"String", "a.b"}}}, {"behavior", "Removed"}, {"invert", false}},
        {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}, {"use_regex", true}}}}};
  const TokenizerDefinition definition = parsed(file);
  EXPECT_TRUE(definition.nfc);
  ASSERT_EQ(definition.stages.size(), 4U);
  EXPECT_EQ(definition.stages[1].pattern, R"(a\.b)");
  EXPECT_EQ(definition.stages[2].pattern, "");
  EXPECT_THAT(encoded(file, "a.b7axb"), ElementsAre(' ', '7', ' ', 'a', 'x', 'b'));
}

TEST(TokenizerJson, WhatOctetDoesNotDoIsRefusedByName) {
  EXPECT_TRUE(contains(refusal("/truncation", {{"max_length", 8}}), "FILE: truncation: would change"));
  EXPECT_TRUE(contains(refusal("/padding", {{"length", 8}}), "padding"));
  EXPECT_TRUE(contains(refusal("/normalizer", {{"type", "Lowercase"}}), "normalizer: the type Lowercase"));
  EXPECT_TRUE(contains(refusal("/pre_tokenizer", {{"type", "Metaspace"}}), "pre_tokenizer: the type Metaspace"));
  EXPECT_TRUE(contains(refusal("/pre_tokenizer", nullptr), "has no ByteLevel"));
  EXPECT_TRUE(contains(refusal("/pre_tokenizer/pretokenizers/2", {{"type", "Digits"}}), "[2]: stands after ByteLevel"));
  EXPECT_TRUE(contains(refusal("/pre_tokenizer/pretokenizers/0/behavior", "Odd"), "behavior: Odd"));
  EXPECT_TRUE(contains(refusal("/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\w+"), "\\w"));
  EXPECT_TRUE(
      contains(refusal("/post_processor", {{"type", "BertProcessing"}}), "post_processor: the type BertProcessing"));
  EXPECT_TRUE(contains(refusal("/decoder", nullptr), "decoder: is missing"));
  EXPECT_TRUE(contains(refusal("/decoder", {{"type", "WordPiece"}}), "decoder: the type WordPiece"));
  EXPECT_TRUE(contains(refusal("/model/type", "Unigram"), "model: the type \"Unigram\""));
  EXPECT_TRUE(contains(refusal("/model/dropout", 0.1), "model.dropout"));
  EXPECT_TRUE(contains(refusal("/model/continuing_subword_prefix", "##"), "continuing_subword_prefix"));
  EXPECT_TRUE(contains(refusal("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix"));
  EXPECT_TRUE(contains(refusal("/model/byte_fallback", true), "byte_fallback"));
  EXPECT_TRUE(contains(refusal("/model/new_thing", 1), "model.new_thing: Octet does not know this member"));
  EXPECT_TRUE(contains(refusal("/added_tokens/0/single_word", true), "added_tokens[0].single_word"));
  EXPECT_TRUE(contains(refusal("/version", "2.0"), "version"));
}

TEST(TokenizerJson, WhatContradictsItselfIsRefused) {
  EXPECT_TRUE(contains(refusal("/model/vocab/a", 98), "another token has the id 98 too"));
  EXPECT_TRUE(contains(refusal("/model/vocab/a", -1), "-1 is not a token id"));
  EXPECT_TRUE(contains(refusal("/model/vocab/a", 1.5), "1.5 is not a token id"));
  EXPECT_TRUE(contains(refusal("/model/vocab/a", 4000000000U), "4000000000 is not a token id"));
  EXPECT_TRUE(contains(refusal("/model/vocab", json::array()), "model.vocab: is not an object"));
  EXPECT_TRUE(contains(refusal("/model/vocab/お", 300), "is neither in ByteLevel's alphabet nor an added token"));
  EXPECT_TRUE(contains(refusal("/model/merges/0", "a q!"), "merges[0]: \"q!\" is not in vocab"));
  EXPECT_TRUE(contains(refusal("/model/merges/0", "a c"), "merges[0]: \"ac\" is not in vocab"));
  EXPECT_TRUE(contains(refusal("/model/merges/0", "a b c"), "merges[0]: is neither"));
  EXPECT_TRUE(contains(refusal("/model/merges/0", {"a", 7}), "merges[0]: is neither"));
  EXPECT_TRUE(contains(refusal("/model/merges/2", "a b"), "merges[2]: the same two tokens"));
  EXPECT_TRUE(contains(refusal("/added_tokens/0/id", 97), "<|endoftext|>"));
  EXPECT_TRUE(contains(refusal("/added_tokens/0/content", ""), "content: is empty"));
  EXPECT_TRUE(contains(refusal("/added_tokens/0/special", "yes"), "special: is neither true nor false"));
  json twice = sample_json()["added_tokens"][0];
  twice["content"] = "<other>";
  EXPECT_TRUE(contains(refusal("/added_tokens/1", twice), "another added token has the id 258 too"));
  EXPECT_TRUE(
      contains(refusal("/post_processor/processors/1/special_tokens", json::object()), "is not among special_tokens"));
  EXPECT_TRUE(contains(refusal("/post_processor/processors/1/special_tokens/<|endoftext|>/ids", {999}),
                       "no token has the id 999"));
  EXPECT_TRUE(contains(refusal("/post_processor/processors/1/single", json::array()), "has no place for the text"));
  json no_byte = sample_json();
  no_byte["model"]["vocab"].erase("Z");
  EXPECT_TRUE(contains(user_error([&] { BpeTokenizer tokenizer(parsed(no_byte)); }), "no token is the byte 0x5a"));
}

TEST(TokenizerJson, DamagedJsonIsRefused) {
  const auto of = [](const std::string& text) { return user_error([&] { (void)parse_tokenizer_json(text, "FILE"); }); };
  EXPECT_TRUE(contains(of(""), "FILE: not valid JSON at byte 1"));
  EXPECT_TRUE(contains(of("[]"), "FILE: the file: is not an object"));
  EXPECT_TRUE(contains(of(R"({"model": {"vocab": {"a": 1, "a": 2}}})"), "\"a\" occurs twice"));
  EXPECT_TRUE(contains(of(std::string(1000000, '[')), "nests deeper than 16"));
  EXPECT_TRUE(contains(of(R"({"version": 1e999})"), "too large"));
}

TEST(TokenizerJson, TheConfigurationBesideItNamesTokens) {
  const ScratchDirectory scratch;
  (void)scratch.write("tokenizer.json", sample_json().dump());
  EXPECT_EQ(open_tokenizer(scratch.path().string())->end_of_document(), 258);
  (void)scratch.write("tokenizer_config.json",
                      R"({"eos_token": {"content": "<|endoftext|>"}, "bos_token": null, "add_bos_token": 1})");
  const auto tokenizer = open_tokenizer((scratch.path() / "tokenizer.json").string());
  EXPECT_EQ(dynamic_cast<const BpeTokenizer&>(*tokenizer).eos(), 258);
  (void)scratch.write("tokenizer_config.json", R"({"eos_token": "<|gone|>"})");
  EXPECT_TRUE(contains(user_error([&] { (void)open_tokenizer(scratch.path().string()); }), "eos_token \"<|gone|>\""));
  (void)scratch.write("tokenizer_config.json", R"({"eos_token": 3})");
  EXPECT_TRUE(contains(user_error([&] { (void)open_tokenizer(scratch.path().string()); }), "eos_token: is neither"));
}

}  // namespace
}  // namespace octet
