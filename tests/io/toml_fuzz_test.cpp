// Damaged configurations: each is read or refused with one line, never more.
#include <gtest/gtest.h>

#include "io/config.h"
#include "io/config_samples.h"
#include "io/config_text.h"
#include "io/mutations.h"
#include "io/scratch.h"

namespace octet {
namespace {

constexpr std::string_view toml_tokens = "[]{}=\"'\\.,#\n\r \t0123456789eExXinftru-+_:TZ\x80\xff";

/// True if the text is a valid configuration. Anything but a UserError of one line fails the test.
bool accepted(std::string_view text, const std::vector<std::string>& overrides = {}) {
  try {
    (void)parse_config(text, "fuzz.toml", overrides);
    return true;
  } catch (const UserError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
  }
  return false;
}

TEST(TomlFuzz, DamagedFilesAreReadOrRefused) {
  Mutator mutator(1);
  const std::string shown = show_config(parse_config(minimal_config, "run.toml").config);
  int valid = 0;
  constexpr int rounds = 8000;
  for (int i = 0; i < rounds; ++i) valid += accepted(mutator.mutate(shown, toml_tokens)) ? 1 : 0;
  // Both outcomes occur, or the damage was too coarse or too fine to test anything.
  EXPECT_GT(valid, rounds / 100);
  EXPECT_LT(valid, rounds * 3 / 4);
}

TEST(TomlFuzz, DamagedOverridesAreReadOrRefused) {
  Mutator mutator(2);
  const std::string samples[] = {"training.steps=12", "precision.skip=[\"a\", \"b\"]", "optimizer.lr=1e-3",
                                 "data.train=a.tok", "training.deterministic=true"};
  int valid = 0;
  constexpr int rounds = 4000;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = mutator.mutate(samples[mutator.below(std::size(samples))], toml_tokens);
    valid += accepted(minimal_config, {text}) ? 1 : 0;
  }
  EXPECT_GT(valid, rounds / 100);
  EXPECT_LT(valid, rounds * 3 / 4);
}

TEST(TomlFuzz, RandomBytesAreRefused) {
  Mutator mutator(3);
  for (int i = 0; i < 4000; ++i) {
    std::string bytes(mutator.below(200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(mutator.below(256));
    EXPECT_FALSE(accepted(bytes));
  }
}

TEST(TomlFuzz, EveryPrefixIsReadOrRefused) {
  const std::string text(minimal_config);
  for (std::size_t length = 0; length < text.size() - 12; ++length) {
    EXPECT_FALSE(accepted(std::string_view(text).substr(0, length))) << length;  // data.train is not there yet
  }
}

TEST(TomlFuzz, CharactersBeyondAsciiAreReadOrRefusedEverywhere) {
  const std::string text = std::string(minimal_config) + "validation = ['a'] # end\n";
  const std::string_view characters[] = {"\xc2\x85",     "\xc2\xa0",     "\xc3\xa9",         "\xe2\x80\xa8",
                                         "\xe2\x81\x90", "\xef\xbb\xbf", "\xf0\x9f\x98\x80", "\xff"};
  int valid = 0;
  for (const std::string_view character : characters) {
    for (std::size_t at = 0; at <= text.size(); ++at) {
      valid += accepted(std::string(text).insert(at, character)) ? 1 : 0;
    }
  }
  EXPECT_GT(valid, 7 * 10);  // in strings and comments
}

TEST(TomlFuzz, DeepNestingIsRefused) {
  // Each line is as deep as one line may be; together they are as deep as a file may get.
  std::string dots = "a";
  for (int i = 0; i < 62; ++i) dots += ".a";
  std::string nested;
  for (int i = 0; i < 200; ++i) nested += dots + " = [{\n";
  EXPECT_FALSE(accepted(nested));
  std::string inline_tables = "x = ";
  for (int i = 0; i < 10; ++i) inline_tables += "[\n{" + dots + " = ";
  inline_tables += "1";
  for (int i = 0; i < 10; ++i) inline_tables += "}]";
  EXPECT_FALSE(accepted("version = 1\n" + inline_tables));
  EXPECT_FALSE(accepted("version = 1\nx = " + std::string(500'000, '{')));
}

}  // namespace
}  // namespace octet
