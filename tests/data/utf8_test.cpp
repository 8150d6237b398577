// What of any bytes is UTF-8, against the definition by code points.
#include "data/utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "data/byte_level.h"

namespace octet {
namespace {

TEST(Utf8, EveryTwoBytesAndTheirLikeAreJudgedRight) {
  EXPECT_EQ(valid_utf8_prefix(""), 0U);
  EXPECT_EQ(valid_utf8_prefix("0123456789 plain text"), 21U);
  EXPECT_EQ(valid_utf8_prefix("01234567\xff"), 8U);
  for (const char* valid : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80",
                            "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(valid_utf8_prefix(valid), std::string_view(valid).size()) << valid;
  }
  for (const char* invalid : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80",
                              "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe3\x81"}) {
    EXPECT_EQ(valid_utf8_prefix(invalid), 0U) << invalid;
  }
}

TEST(Utf8, IncompleteTailsAreWhatMoreBytesWouldComplete) {
  EXPECT_EQ(incomplete_utf8_tail("a"), 0U);
  EXPECT_EQ(incomplete_utf8_tail("a\xc3"), 1U);
  EXPECT_EQ(incomplete_utf8_tail("a\xe3\x81"), 2U);
  EXPECT_EQ(incomplete_utf8_tail("a\xf0\x9f\x99"), 3U);
  EXPECT_EQ(incomplete_utf8_tail("a\xf0\x9f\x99\x82"), 0U);
  EXPECT_EQ(incomplete_utf8_tail("\xed\xa0"), 0U);  // a surrogate, which no byte completes
  EXPECT_EQ(incomplete_utf8_tail("\x9f\x99\x82"), 0U);
  EXPECT_EQ(incomplete_utf8_tail("\xff"), 0U);
}

TEST(Utf8, WhiteSpaceAtBothEnds) {
  EXPECT_EQ(leading_white_space("\u3000 \nx "), 5U);
  EXPECT_EQ(trailing_white_space(" x\u2003\t"), 4U);
  EXPECT_EQ(trailing_white_space("\u3000"), 3U);
  EXPECT_EQ(leading_white_space(""), 0U);
}

TEST(ByteLevel, EveryByteHasAPrintableCharacterAndComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const std::string characters = to_byte_level(all);
  EXPECT_EQ(from_byte_level(characters), all);
  EXPECT_EQ(to_byte_level("a \n"), "aĠĊ");  // as vocabularies show it
  EXPECT_EQ(from_byte_level("\u0144"), std::nullopt);
  EXPECT_EQ(from_byte_level(" "), std::nullopt);
  EXPECT_EQ(from_byte_level("\xc3"), std::nullopt);
}

}  // namespace
}  // namespace octet
