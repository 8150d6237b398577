// Files of prompts: what they hold, and which are refused.
#include "train/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"

namespace octet::test {
namespace {

using testing::ElementsAre;

void expect_refused(std::string_view text, const char* path, const char* part) {
  try {
    (void)parse_prompts(text, path);
    ADD_FAILURE() << "not refused: " << text;
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Prompts, ALineOfTextEach) {
  EXPECT_THAT(parse_prompts("one\ntwo words\r\n\"three\"", "a.txt"), ElementsAre("one", "two words", "\"three\""));
  expect_refused("", "a.txt", "a.txt holds no prompts");
  expect_refused("one\n\nthree\n", "a.txt", "a.txt:2 is an empty prompt");
}

TEST(Prompts, AJsonObjectEach) {
  EXPECT_THAT(parse_prompts("{\"prompt\": \"one\\ntwo\"}\n{\"id\": 3, \"prompt\": \"\\u00e9\"}\n", "a.jsonl"),
              ElementsAre("one\ntwo", "\xC3\xA9"));
  const char* wanted = "no JSON object with a text called \"prompt\"";
  for (const char* line :
       {"plain", "{\"prompt\": 3}", "[\"prompt\"]", "{\"text\": \"a\"}", "{\"prompt\": \"a\"", "{}"}) {
    expect_refused(line, "a.jsonl", wanted);
  }
  expect_refused("{\"prompt\": \"a\"}\n\n", "a.jsonl", "a.jsonl:2");
  expect_refused("{\"prompt\": \"\"}\n", "a.jsonl", "a.jsonl:1 is an empty prompt");
}

/// Whatever bytes change, the lines are read or refused.
TEST(Prompts, DamagedFiles) {
  const std::string whole = "{\"prompt\": \"a\\u00e9b\"}\n{\"prompt\": \"c\", \"more\": [1, {\"d\": null}]}\n";
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::string text = whole;
    for (std::uint64_t change = 0; change <= seed % 3; ++change) {
      const auto words = philox(seed, change, 0);
      text[words[0] % text.size()] = static_cast<char>(words[1]);
      if (words[2] % 4 == 0) text.resize(words[3] % text.size() + 1);
    }
    try {
      for (const std::string& prompt : parse_prompts(text, "a.jsonl")) EXPECT_FALSE(prompt.empty());
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  expect_refused(std::string(100000, '['), "a.jsonl", "a.jsonl:1");
}

}  // namespace
}  // namespace octet::test
