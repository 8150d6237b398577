// Libraries that are not there, are no libraries, or lack what they should have.
#include "gpu/dynamic_library.h"

#include <array>

#include "core/error.h"
#include "gpu/standin_fixture.h"

namespace octet::test {
namespace {

using gpu::DynamicLibrary;

class Library : public testing::Test {
 protected:
  [[nodiscard]] static gpu::LibrarySearch find(std::string_view name, const std::string& directory) {
    const std::array<std::string_view, 1> names{name};
    const std::array<std::string, 1> directories{directory};
    return DynamicLibrary::find(names, directories);
  }

  ScratchDirectory scratch_;
};

TEST_F(Library, IsFoundWithItsPath) {
  const auto search = find("libcuda.so.1", stand_in("hollow"));
  ASSERT_TRUE(search.library);
  EXPECT_EQ(search.library->path(), stand_in("hollow") + "/libcuda.so.1");
  EXPECT_EQ(search.problem, "");
}

TEST_F(Library, IsMissing) {
  const auto search = find("libnothing.so.1", scratch_.path().string());
  EXPECT_FALSE(search.library);
  EXPECT_EQ(search.problem, "there is no libnothing.so.1");
}

TEST_F(Library, IsText) {
  scratch_.write("libnothing.so.1", std::string(1000, 'x'));
  const auto search = find("libnothing.so.1", scratch_.path().string());
  EXPECT_FALSE(search.library);
  EXPECT_TRUE(contains(search.problem, "libnothing.so.1 cannot be loaded ("));
  EXPECT_TRUE(contains(search.problem, scratch_.path().string() + "/libnothing.so.1: invalid ELF header"));
}

TEST_F(Library, LacksAFunction) {
  const auto search = find("libcuda.so.1", stand_in("hollow"));
  ASSERT_TRUE(search.library);
  int (*function)() = nullptr;
  search.library->bind("octet_standin_hollow", function);
  EXPECT_EQ(function(), 0);
  try {
    search.library->bind("cuInit", function);
    FAIL() << "a hollow library has no cuInit";
  } catch (const UserError& error) {
    EXPECT_TRUE(contains(error.what(), "/hollow/libcuda.so.1 has no cuInit: it is too old or damaged"));
  }
}

}  // namespace
}  // namespace octet::test
