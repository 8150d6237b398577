// hipBLASLt and the Composable Kernel plugin as a user of the program meets them.
#include "hip/simulated_fixture.h"

namespace octet::test {
namespace {

class HipLibraries : public SimulatedTest {
 protected:
  [[nodiscard]] nlohmann::json library(std::string_view name) const {
    const nlohmann::json info = json_of({"info", "--json"});
    for (const auto& library : info.at("gpu_libraries")) {
      if (library.at("name") == name) return library;
    }
    return {};
  }
};

TEST_F(HipLibraries, InfoShowsThemWithTheirMark) {
  set_environment("OCTET_LIBRARY_PATH", OCTET_STANDIN_HIPBLASLT);
  set_environment("OCTET_CK_PLUGIN", OCTET_STANDIN_CK);
  const nlohmann::json hipblaslt = library("hipBLASLt");
  EXPECT_EQ(hipblaslt.at("version"), "1.0.0");
  EXPECT_EQ(hipblaslt.at("path"), OCTET_STANDIN_HIPBLASLT "/libhipblaslt.so.1");
  EXPECT_EQ(hipblaslt.at("note"), "not run on hardware");
  const nlohmann::json plugin = library("Composable Kernel plugin");
  EXPECT_EQ(plugin.at("version"), "interface 1, a stand-in");
  EXPECT_EQ(plugin.at("note"), "not run on hardware");
  const std::string text = succeed({"info"});
  EXPECT_TRUE(contains(text, "library   hipBLASLt: 1.0.0, " OCTET_STANDIN_HIPBLASLT "/libhipblaslt.so.1, not run on "
                             "hardware\n"));
  EXPECT_TRUE(contains(text, "library   Composable Kernel plugin: interface 1, a stand-in, " OCTET_STANDIN_CK
                             ", not run on hardware\n"));
}

TEST_F(HipLibraries, InfoSaysWhatIsMissing) {
  set_environment("OCTET_LIBRARY_PATH", path("").string());
  set_environment("OCTET_CK_PLUGIN", "");
  EXPECT_TRUE(contains(succeed({"info"}), "/liboctet_ck.so: build it as plugins/ck/CMakeLists.txt says"));
  if (library("hipBLASLt").contains("path")) GTEST_SKIP() << "this machine has a hipBLASLt";
  EXPECT_TRUE(
      contains(succeed({"info"}), "missing   hipBLASLt: there is no libhipblaslt.so.1: install ROCm's package"));
}

TEST_F(HipLibraries, WhoComputesProductsIsAUsersChoice) {
  set_environment("OCTET_LIBRARY_PATH", OCTET_STANDIN_HIPBLASLT);
  set_environment("OCTET_PRODUCTS", "rocblas");
  refuses(train("run", {"--device", "hip"}), {"OCTET_PRODUCTS is 'rocblas'", "own or hipblaslt"});
  set_environment("OCTET_PRODUCTS", "own");
  EXPECT_TRUE(contains(succeed(train("own", {"--device", "hip", "--dry-run"})), "own MFMA kernels for products"));
  set_environment("OCTET_PRODUCTS", "hipblaslt");
  EXPECT_TRUE(contains(succeed(train("library", {"--device", "hip", "--dry-run"})),
                       "hipBLASLt 1.0.0, " OCTET_STANDIN_HIPBLASLT "/libhipblaslt.so.1, not run on hardware"));
}

}  // namespace
}  // namespace octet::test
