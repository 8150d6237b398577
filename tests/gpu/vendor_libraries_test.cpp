// NVIDIA's libraries beside the driver: what is missing, too old or damaged, and what octet info says of them.
#include <fmt/format.h>

#include "gpu/standin_fixture.h"

namespace octet::test {
namespace {

using VendorLibraries = StandInTest;

TEST_F(VendorLibraries, InfoSaysWhatIsFoundAndWhere) {
  EXPECT_EQ(library("CUDA driver", "version"), "13.0");
  EXPECT_EQ(library("CUDA driver", "path"), stand_in("driver") + "/libcuda.so.1");
  EXPECT_EQ(library("cuBLASLt", "version"), "13.1.0");
  EXPECT_EQ(library("cuBLASLt", "path"), stand_in("products") + "/libcublasLt.so.13");
  const std::string text = succeed({"info"});
  EXPECT_TRUE(contains(text, "device    cuda:0: NVIDIA Stand-in (sm_90"));
  EXPECT_TRUE(contains(text, "library   cuBLASLt: 13.1.0, " + stand_in("products")));
}

TEST_F(VendorLibraries, NoCublasLt) {
  set_environment("OCTET_LIBRARY_PATH", path("").string());
  text_for_library("libcublasLt.so.12");
  set_environment("LD_LIBRARY_PATH", stand_in("driver") + ":" + text_for_library("libcublasLt.so.13"));
  if (library("cuBLASLt", "problem").empty()) GTEST_SKIP() << "this machine has another cuBLASLt";
  const Words parts = {"libcublasLt.so.13 cannot be loaded", "nvidia-cublas", "libcublas-13-0", "OCTET_LIBRARY_PATH"};
  refuses(train_on_gpu("run"), parts);
  for (const std::string& part : parts) EXPECT_TRUE(contains(library("cuBLASLt", "problem"), part));
  EXPECT_TRUE(contains(succeed({"info"}), "missing   cuBLASLt: libcublasLt.so.13 cannot be loaded"));
}

TEST_F(VendorLibraries, AnOldCublasLt) {
  set_environment("OCTET_STANDIN_CUBLASLT", "120402");
  refuses(train_on_gpu("run"), {"/products/libcublasLt.so.13 is cuBLASLt 12.4.2", "12.9.0 or newer", "nvidia-cublas"});
  EXPECT_TRUE(contains(library("cuBLASLt", "problem"), "12.9.0 or newer"));
}

TEST_F(VendorLibraries, ACublasLtWithoutFunctions) {
  set_environment("OCTET_LIBRARY_PATH", stand_in("hollow"));
  refuses(train_on_gpu("run"), {"/hollow/libcublasLt.so.13 has no cublasLtGetVersion", "too old or damaged"});
  EXPECT_TRUE(contains(library("cuBLASLt", "problem"), "has no cublasLtGetVersion"));
}

/// A table says which of several proposals is the fastest, but not for the debug model's products.
TEST_F(VendorLibraries, UntunedProductsAreReported) {
  EXPECT_FALSE(contains(succeed(train_on_gpu("one_proposal")), "untuned"));
  EXPECT_FALSE(run_json("one_proposal").contains("untuned_products"));
  set_environment("OCTET_STANDIN_PROPOSALS", "2");
  const std::string out = succeed(train_on_gpu("two_proposals"));
  const auto untuned = run_json("two_proposals").at("untuned_products");
  EXPECT_TRUE(contains(out, fmt::format("products    {} run as the library proposes first, untuned", untuned.size())));
  EXPECT_LT(out.find("untuned"), out.find("step 1/6"));
  // Forward, dgrad and wgrad of four layers of a block and of the head.
  EXPECT_EQ(untuned.size(), 15U) << untuned;
}

/// No error: attention has kernels of its own. The run says so, and why.
TEST_F(VendorLibraries, NoCudnn) {
  set_environment("OCTET_ATTENTION", "");
  set_environment("LD_LIBRARY_PATH", stand_in("driver") + ":" + text_for_library("libcudnn.so.9"));
  if (library("cuDNN", "problem").empty()) GTEST_SKIP() << "this machine has another cuDNN";
  const std::string problem = library("cuDNN", "problem");
  EXPECT_TRUE(contains(problem, "pip install"));
  const std::string out = succeed(train_on_gpu("run"));
  EXPECT_TRUE(contains(out, "attention: own kernels (" + problem + ")"));
  EXPECT_TRUE(contains(run_json("run").at("machine").at("device").get<std::string>(), "attention: own kernels"));
  set_environment("OCTET_ATTENTION", "cudnn");
  refuses(train_on_gpu("another"), {"cuDNN was asked for attention", problem});
}

}  // namespace
}  // namespace octet::test
