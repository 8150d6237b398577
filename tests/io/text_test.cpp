// Words in messages: escaping and spelling suggestions.
#include "io/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace octet {
namespace {

TEST(Printable, EscapesControlCharactersAndKeepsTheRest) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f\xc3\xa9"), "a\\x0ab\\x1b[31m\\x7f\xc3\xa9");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("a\xc3\xa9z", 2), "a...");  // the cut would split the second letter
}

TEST(NearestName, FindsTheFewestEdits) {
  const std::vector<std::string_view> names = {"constant", "cosine", "linear"};
  EXPECT_EQ(nearest_name("cosin", names), "cosine");
  EXPECT_EQ(nearest_name("linaer", names), "linear");
  EXPECT_EQ(nearest_name("const", names), std::nullopt);  // three of five letters away
  EXPECT_EQ(nearest_name("", names), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'c'), names), std::nullopt);
}

TEST(NearestName, TiesGoToTheEarlier) {
  const std::vector<std::string_view> names = {"beta1", "beta2"};
  EXPECT_EQ(nearest_name("beta3", names), "beta1");
}

}  // namespace
}  // namespace octet
