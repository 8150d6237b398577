// Patterns for layer names, as a table.
#include "core/glob.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace octet::test {
namespace {

struct GlobCase {
  std::string_view pattern, text;
  bool matches;
};

constexpr std::array kGlobCases = {
    GlobCase{"", "", true},
    GlobCase{"", "a", false},
    GlobCase{"a", "", false},
    GlobCase{"*", "", true},
    GlobCase{"*", "layers.0.attention.wo", true},
    GlobCase{"**", "", true},
    GlobCase{"?", "", false},
    GlobCase{"?", "a", true},
    GlobCase{"?", "ab", false},
    GlobCase{"output", "output", true},
    GlobCase{"output", "output.weight", false},
    GlobCase{"output", "Output", false},
    GlobCase{"layers.0.*", "layers.0.attention.wo", true},
    GlobCase{"layers.0.*", "layers.10.attention.wo", false},
    GlobCase{"layers.?.*", "layers.10.attention.wo", false},
    GlobCase{"layers.??.*", "layers.10.attention.wo", true},
    GlobCase{"*.wo", "layers.0.attention.wo", true},
    GlobCase{"*.w", "layers.0.attention.wo", false},
    GlobCase{"*.attention.*", "layers.0.attention.wo", true},
    GlobCase{"layers.*.w?", "layers.3.feed_forward.w2", true},
    GlobCase{"layers.*.w?", "layers.3.feed_forward.w13", false},
    // The star must give characters back.
    GlobCase{"*ab", "aab", true},
    GlobCase{"*ab", "abab", true},
    GlobCase{"*ab*ab", "ab", false},
    GlobCase{"*ab*ab", "abxab", true},
    GlobCase{"a*b*c", "axbxbxc", true},
    GlobCase{"a*b*c", "axbxbx", false},
    GlobCase{"*?", "", false},
    GlobCase{"?*?", "ab", true},
    // A star in the text is an ordinary character.
    GlobCase{"a?c", "a*c", true},
    GlobCase{"abc", "a*c", false},
};

TEST(Glob, Table) {
  for (const GlobCase& entry : kGlobCases) {
    EXPECT_EQ(glob_matches(entry.pattern, entry.text), entry.matches)
        << "pattern \"" << entry.pattern << "\", text \"" << entry.text << "\"";
  }
}

}  // namespace
}  // namespace octet::test
