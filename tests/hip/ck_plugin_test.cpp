// The Composable Kernel plugin as Octet loads and calls it: a stand-in with the plugin's own entries, and what is said
// of files that are none, incomplete, or of another version.
#include "gpu/hip/ck_plugin.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>

#include "cli/environment.h"
#include "core/error.h"
#include "hip/messages.h"
#include "hip/simulated_drivers.h"
#include "hip/standin_ck.h"

namespace octet::test {
namespace {

using gpu::GroupedProduct;

std::array<std::byte, 8> given_bytes;  // stands for operands, which nobody looks into
const auto* const kScalesA = reinterpret_cast<const float*>(&given_bytes[1]);
const auto* const kScalesB = reinterpret_cast<const float*>(&given_bytes[3]);
const auto* const kOffsets = reinterpret_cast<const std::int32_t*>(&given_bytes[5]);

GroupedProduct rows_product() {
  return {.a = {&given_bytes[0], kScalesA, DType::e5m2fnuz},
          .b = {&given_bytes[2], kScalesB, DType::e4m3fnuz},
          .d = &given_bytes[4],
          .offsets = kOffsets,
          .groups = 7,
          .rows = 300,
          .n = 256,
          .k = 128};
}

GroupedProduct columns_product() {
  return {.a = {&given_bytes[0], kScalesA, DType::e5m2fnuz},
          .b = {&given_bytes[2], kScalesB, DType::e4m3fnuz},
          .d = &given_bytes[4],
          .d_dtype = DType::f32,
          .offsets = kOffsets,
          .groups = 7,
          .rows = 512,
          .m = 256,
          .n = 128,
          .by_contraction = true};
}

class CkPlugin : public testing::Test {
 protected:
  CkPlugin() { environment_.set("OCTET_CK_PLUGIN", OCTET_STANDIN_CK); }

  void set(const char* name, const std::string& value) { environment_.set(name, value); }
  [[nodiscard]] static gpu::Driver& driver() { return simulated_gfx942(); }
  [[nodiscard]] std::unique_ptr<gpu::GroupedProducts> open() { return gpu::open_ck_plugin(driver()); }
  /// Of the stand-in, which a plugin that is open keeps loaded.
  [[nodiscard]] static const CkRecord& record() {
    void* plugin = dlopen(OCTET_STANDIN_CK, RTLD_NOW | RTLD_LOCAL);
    const auto* found = reinterpret_cast<CkRecordOf>(dlsym(plugin, "standin_ck_record"))();
    dlclose(plugin);
    return *found;
  }
  /// Why the file that OCTET_CK_PLUGIN names is refused, which octet info says too.
  [[nodiscard]] std::string refusal() {
    const std::string text = message<UserError>([&] { (void)open(); });
    EXPECT_EQ(gpu::survey_ck_plugin().problem, text);
    return text;
  }

 private:
  Environment environment_;
};

TEST_F(CkPlugin, IsFoundAndMarked) {
  const auto plugin = open();
  EXPECT_EQ(plugin->description(), std::string("a stand-in, ") + OCTET_STANDIN_CK + ", not run on hardware");
  EXPECT_EQ(plugin->workspace_bytes(7), 768U);  // 700, at a multiple of 256
  const gpu::VendorLibrary survey = gpu::survey_ck_plugin();
  EXPECT_EQ(survey.version, "interface 1, a stand-in");
  EXPECT_EQ(survey.path, OCTET_STANDIN_CK);
  EXPECT_EQ(survey.note, "not run on hardware");
  EXPECT_EQ(survey.problem, "");
}

TEST_F(CkPlugin, IsGivenGroupsOfRows) {
  const auto plugin = open();
  const CkRecord& given = record();
  const int before = given.rows_grouped;
  std::byte workspace{};
  plugin->run(rows_product(), &workspace);
  EXPECT_EQ(given.rows_grouped, before + 1);
  EXPECT_EQ(given.rows.a, &given_bytes[0]);
  EXPECT_EQ(given.rows.b, &given_bytes[2]);
  EXPECT_EQ(given.rows.a_scale_inverse, kScalesA);
  EXPECT_EQ(given.rows.b_scale_inverse, kScalesB);
  EXPECT_EQ(given.rows.d, &given_bytes[4]);
  EXPECT_EQ(given.rows.offsets, kOffsets);
  EXPECT_EQ(given.rows.rows, 300);
  EXPECT_EQ(given.rows.n, 256);
  EXPECT_EQ(given.rows.k, 128);
  EXPECT_EQ(given.rows.groups, 7);
  EXPECT_EQ(given.rows.a_type, OCTET_CK_E5M2FNUZ);
  EXPECT_EQ(given.rows.b_type, OCTET_CK_E4M3FNUZ);
  EXPECT_EQ(given.rows.d_type, OCTET_CK_BF16);
  EXPECT_EQ(given.rows.scale, OCTET_CK_SCALE_ROW);
  EXPECT_EQ(given.rows.b_transposed, 0);
  EXPECT_EQ(given.workspace, &workspace);
  EXPECT_EQ(given.stream, driver().native_stream());
  GroupedProduct plain = rows_product();
  plain.a = {.data = &given_bytes[0]};
  plain.b = {.data = &given_bytes[2], .transposed = true};
  plugin->run(plain, &workspace);
  EXPECT_EQ(given.rows_grouped, before + 2);
  EXPECT_EQ(given.rows.a_type, OCTET_CK_BF16);
  EXPECT_EQ(given.rows.scale, OCTET_CK_SCALE_NONE);
  EXPECT_EQ(given.rows.b_transposed, 1);
}

TEST_F(CkPlugin, IsGivenGroupsOfColumns) {
  const auto plugin = open();
  const CkRecord& given = record();
  const int before = given.columns_grouped;
  std::byte workspace{};
  plugin->run(columns_product(), &workspace);
  EXPECT_EQ(given.columns_grouped, before + 1);
  EXPECT_EQ(given.columns.a, &given_bytes[0]);
  EXPECT_EQ(given.columns.b, &given_bytes[2]);
  EXPECT_EQ(given.columns.a_scale_inverse, kScalesA);
  EXPECT_EQ(given.columns.b_scale_inverse, kScalesB);
  EXPECT_EQ(given.columns.d, &given_bytes[4]);
  EXPECT_EQ(given.columns.offsets, kOffsets);
  EXPECT_EQ(given.columns.columns, 512);
  EXPECT_EQ(given.columns.n, 256);
  EXPECT_EQ(given.columns.k, 128);
  EXPECT_EQ(given.columns.groups, 7);
  EXPECT_EQ(given.columns.a_type, OCTET_CK_E5M2FNUZ);
  EXPECT_EQ(given.columns.b_type, OCTET_CK_E4M3FNUZ);
  EXPECT_EQ(given.columns.d_type, OCTET_CK_F32);
  EXPECT_EQ(given.columns.scale, OCTET_CK_SCALE_ROW);
  EXPECT_EQ(given.columns.transposed, 0);
  EXPECT_EQ(given.workspace, &workspace);
  EXPECT_EQ(given.stream, driver().native_stream());
}

/// Before any kernel is asked: what the interface does not allow, and codes that the processor reads as other numbers.
TEST_F(CkPlugin, RefusesByItsOwnRules) {
  const auto plugin = open();
  const int before = record().rows_grouped;
  const auto rows_refused = [&](const auto& change) {
    GroupedProduct p = rows_product();
    change(p);
    const std::string text = message<Failure>([&] { plugin->run(p, nullptr); });
    EXPECT_TRUE(holds(text, "refuses a product of 7 groups, k 128, n 256: ")) << text;
    return text;
  };
  using P = GroupedProduct;
  EXPECT_TRUE(holds(rows_refused([](P& p) { p.b.transposed = true; }), "FP8 operands lie along the contraction"));
  EXPECT_TRUE(holds(rows_refused([](P& p) { p.b.scale_inverse = nullptr; }), "without inverse scales"));
  EXPECT_TRUE(holds(rows_refused([](P& p) { p.d_dtype = DType::f32; }), "results of groups of rows are bf16"));
  EXPECT_TRUE(holds(rows_refused([](P& p) { p.a.dtype = DType::bf16; }), "bf16 operands come in pairs"));
  EXPECT_TRUE(holds(rows_refused([](P& p) { p.offsets = nullptr; }), "offsets"));
  EXPECT_TRUE(holds(rows_refused([](P& p) { p.b.dtype = DType::e4m3fn; }), "gfx942 does not multiply codes of OCP"));
  set("OCTET_STANDIN_CK_ARCH", "gfx950");
  EXPECT_TRUE(holds(rows_refused([](P&) {}), "gfx950 does not multiply codes of fnuz"));
  EXPECT_EQ(record().rows_grouped, before);
}

TEST_F(CkPlugin, SaysWhatFailed) {
  const auto plugin = open();
  set("OCTET_STANDIN_CK_FAIL", "1");
  const std::string text = message<Failure>([&] { plugin->run(columns_product(), nullptr); });
  EXPECT_TRUE(holds(text, "failed at a product of 7 groups, m 256, n 128: a launch failed")) << text;
}

TEST_F(CkPlugin, AddsToNoResult) {
  GroupedProduct added = columns_product();
  added.accumulate = true;
  const auto plugin = open();
  const std::string text = message<Failure>([&] { plugin->run(added, nullptr); });
  EXPECT_TRUE(holds(text, "adds to no result: OCTET_GROUPED_PRODUCTS=own does")) << text;
}

TEST_F(CkPlugin, NoFile) {
  set("OCTET_CK_PLUGIN", "/nowhere/liboctet_ck.so");
  EXPECT_TRUE(holds(refusal(), "there is no /nowhere/liboctet_ck.so: build it as plugins/ck/CMakeLists.txt says"));
  set("OCTET_CK_PLUGIN", "");  // beside the program
  EXPECT_TRUE(holds(refusal(), "/tests/liboctet_ck.so"));
}

TEST_F(CkPlugin, AFileThatIsNoPlugin) {
  set("OCTET_CK_PLUGIN", OCTET_SIM_HIP);
  EXPECT_TRUE(holds(refusal(), "has no octet_ck_abi_version"));
}

TEST_F(CkPlugin, AnotherVersionAndMissingEntries) {
  set("OCTET_CK_PLUGIN", OCTET_STANDIN_CK_INCOMPLETE);
  EXPECT_TRUE(holds(refusal(), "has no octet_ck_multiply_columns"));
  set("OCTET_STANDIN_CK_VERSION", "2");
  EXPECT_TRUE(holds(refusal(), "speaks version 2 of the plugin's interface, and this octet version 1: build it"));
}

}  // namespace
}  // namespace octet::test
