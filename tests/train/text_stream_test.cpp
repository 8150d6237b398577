// What a stream of text shows, and when: nothing of a stop text, no half of a character, and all of the rest.
#include "train/text_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/random.h"

namespace octet::test {
namespace {

TEST(TextStream, ShowsTextAsItComes) {
  TextStream stream({});
  EXPECT_EQ(stream.push("ab"), "ab");
  EXPECT_EQ(stream.push("c"), "c");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_FALSE(stream.stopped());
}

TEST(TextStream, HoldsCharactersBackUntilTheyAreWhole) {
  TextStream stream({});
  EXPECT_EQ(stream.push("a\xE2\x82"), "a");
  EXPECT_EQ(stream.push("\xAC"), "\xE2\x82\xAC");
  EXPECT_EQ(stream.push("\xF0\x9F"), "");
  EXPECT_EQ(stream.push("\x98\x80!"), "\xF0\x9F\x98\x80!");
  EXPECT_EQ(stream.push("\xC3"), "");
  EXPECT_EQ(stream.finish(), "\xC3");  // what never became a character is not lost
}

TEST(TextStream, ShowsWhatIsNoUtf8) {
  TextStream stream({});
  EXPECT_EQ(stream.push("\x80\x80\x80\x80"), "\x80\x80\x80\x80");
  EXPECT_EQ(stream.push("\xFF"), "\xFF");
  EXPECT_EQ(stream.push("\xE2z"), "\xE2z");
}

TEST(TextStream, FindsAStopTextAcrossPieces) {
  TextStream stream({"\n\n"});
  EXPECT_EQ(stream.push("one\n"), "one");
  EXPECT_EQ(stream.push("two\n"), "\ntwo");
  EXPECT_EQ(stream.push("\nthree"), "");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.stop(), "\n\n");
  EXPECT_EQ(stream.push("four"), "");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, TheStopTextThatIsWholeFirstCounts) {
  TextStream stream({"late", "ear"});
  EXPECT_EQ(stream.push("xearlate"), "x");
  EXPECT_EQ(stream.stop(), "ear");
  TextStream nested({"c", "abcd"});
  EXPECT_EQ(nested.push("abcd"), "ab");  // whole before the other, as it would be if tokens were shorter
}

TEST(TextStream, ABegunStopTextThatEndsOtherwiseIsShown) {
  TextStream stream({"aab"});
  EXPECT_EQ(stream.push("aa"), "");
  EXPECT_EQ(stream.push("a"), "a");  // its last two may still begin one
  EXPECT_EQ(stream.push("c"), "aac");
  EXPECT_EQ(stream.push("a"), "");
  EXPECT_EQ(stream.finish(), "a");
}

/// By the definition: the shortest beginning of `text` that ends with a stop text, without the longest such.
std::string before_first_stop(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 0; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

/// However a text is cut into pieces, what is shown is all of it up to the first stop text.
TEST(TextStream, PiecesDoNotMatter) {
  const std::string alphabet[] = {"a", "b", "\n", "\xC3\xA9", "\xF0\x9F\x98\x80"};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::uint64_t drawn = 0;
    const auto random = [&](std::uint64_t below) { return philox(seed, drawn++, 0)[0] % below; };
    const auto make_text = [&](std::uint64_t length) {
      std::string text;
      for (std::uint64_t i = 0; i < length; ++i) text += alphabet[random(5)];
      return text;
    };
    const std::string text = make_text(1 + random(30));
    const std::vector<std::string> stops{make_text(1 + random(4)), make_text(2 + random(3))};
    TextStream stream(stops);
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t piece = 1 + random(5);
      shown += stream.push(std::string_view(text).substr(at, piece));
      at += piece;
      // The first byte that is not shown yet begins a character.
      ASSERT_TRUE(shown.size() >= text.size() || (static_cast<unsigned char>(text[shown.size()]) & 0xC0U) != 0x80U);
    }
    shown += stream.finish();
    ASSERT_EQ(shown, before_first_stop(text, stops)) << seed;
    ASSERT_EQ(stream.stopped(), shown.size() < text.size()) << seed;
  }
}

}  // namespace
}  // namespace octet::test
