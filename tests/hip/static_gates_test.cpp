// Static gates on the machine code that octet carries for AMD's GPUs: what the simulator cannot time, or does not
// model, must not be there. Every kernel of every code object is held against them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "hip/embedded_code.h"
#include "sim/counters/static_counts.h"

namespace octet::test {
namespace {

using sim::CodeCounts;
using sim::Kernel;
using sim::StaticCounts;
using sim::WidthCounts;

/// One of the loops in which a kernel moves its operands: of the loops of its machine code, the one with the most loads
/// and stores of 16 bytes. Rows and matrices whose memory is not aligned are moved element by element in the same
/// loops, which narrow accesses belong to; counts of what aligned ones execute are in traffic_test.cpp.
struct HotLoop {
  std::string_view source;   ///< of src/kernels
  std::string_view kernels;  ///< a regular expression for the names of the instances
  std::uint32_t loads;       ///< of 16 bytes, at least
  std::uint32_t stores;
};

constexpr auto kHotLoops = std::to_array<HotLoop>({
    {"casts", "quantize_rows_.*_1", 2, 0},  // now, or ahead through LDS; codes leave as 8 bytes a lane
    {"casts", "quantize_rows_.*_2", 4, 0},
    {"casts", "quantize_rows_.*_4", 8, 0},
    {"casts", "cast_tiles_.*", 4, 2},  // four rows of a tile; twice sixteen transposed codes
    {"long_rows", "quantize_long_rows_.*", 4, 0},
    {"long_rows", "column_maxima", 4, 0},
    {"norms", "rmsnorm_forward_.*_1", 2, 2},
    {"norms", "rmsnorm_forward_.*_4", 8, 8},
    {"norms", "rmsnorm_backward_.*_1", 3, 1},
    {"norms", "rmsnorm_backward_.*_4", 12, 4},
    {"norms", "rmsnorm_forward_cast_.*", 4, 2},
    {"feed_forward", "swiglu_forward_.*_1", 2, 1},
    {"feed_forward", "swiglu_forward_.*_4", 8, 4},
    {"feed_forward", "swiglu_backward_.*_1", 3, 2},
    {"feed_forward", "swiglu_backward_.*_4", 12, 8},
    {"feed_forward", "swiglu_backward_cast_.*", 12, 6},
    {"rope", "rope_rows_.*_1", 1, 1},
    {"rope", "rope_rows_.*_4", 4, 4},
    {"folds", "fold_columns", 4, 0},
    {"whole_tensor", "sum_(floats|of_squares_.*)", 4, 0},
    {"whole_tensor", "find_non_finite_.*", 4, 0},
    {"loss", "cross_entropy", 4, 4},
    {"products_mfma", "multiply_256x128_.*", 6, 0},  // pieces of both sides
    {"products_mfma", "multiply_128x128_.*", 4, 0},
    {"products_mfma", "multiply_128x64_.*", 3, 0},
    {"products_mfma", "multiply_64x64_.*", 2, 0},
    {"grouped_products_mfma", "grouped_.*_128x128_.*", 4, 0},
    {"grouped_products_mfma", "grouped_.*_64x64_.*", 2, 0},
    {"gather", "gather_rows_.*_1", 1, 1},
    {"gather", "combine_rows.*", 1, 1},
    {"grouped_feed_forward", "grouped_swiglu_forward_.*_1", 2, 1},
    {"grouped_feed_forward", "grouped_swiglu_backward_.*_1", 3, 2},
    {"latent_attention", "assemble_latent.*", 2, 2},
    {"head_norm", "head_norm_rope", 2, 2},
    {"head_norm", "head_norm_rope_backward", 4, 2},
    {"sums", "add_.*", 1, 1},
    {"attention_forward", "attention_forward_.*", 1, 0},
    {"attention_backward", "attention_backward_(queries|keys).*", 1, 0},
});

std::string described(const EmbeddedCode& code, const Kernel& kernel) {
  return fmt::format("{} of {}", kernel.name, code.program().object().name);
}

/// What of a kernel may not be; empty where all is well.
std::string faults(const Kernel& kernel, const CodeCounts& counts) {
  std::string text;
  const auto must_be_none = [&](std::uint32_t count, std::string_view what) {
    if (count > 0) text += fmt::format(" {} {}", count, what);
  };
  must_be_none(kernel.scratch_bytes, "bytes of scratch");
  must_be_none(counts.scratch, "accesses to scratch");
  must_be_none(kernel.spilled_vgprs, "spilled VGPRs");
  must_be_none(kernel.spilled_sgprs, "spilled SGPRs");
  must_be_none(counts.cache_maintenance, "instructions that write back or throw away a cache");
  must_be_none(counts.not_implemented, "instructions that the simulator lacks");
  return text;
}

std::uint32_t of_sixteen(const WidthCounts& counts) {
  const auto found = counts.find(16);
  return found == counts.end() ? 0 : found->second;
}

/// Each code object, decoded once for all tests.
class StaticGates : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const gpu::CodeObject& object : gpu::code_objects()) codes_.emplace_back(object);
  }
  static void TearDownTestSuite() { codes_.clear(); }

  /// Calls `look(code, kernel)` for each kernel of a source, or of all.
  template <typename Look>
  static void each_kernel(std::string_view source, Look look) {
    for (const EmbeddedCode& code : codes_) {
      if (!source.empty() && code.source() != source) continue;
      for (const auto& [name, kernel] : code.kernels()) look(code, kernel);
    }
  }

 private:
  inline static std::list<EmbeddedCode> codes_;
};

TEST_F(StaticGates, NoScratchNoSpillsNoCacheMaintenance) {
  std::map<std::string_view, int> kernels;  // by architecture
  each_kernel("", [&](const EmbeddedCode& code, const Kernel& kernel) {
    ++kernels[code.arch()];
    EXPECT_EQ(faults(kernel, static_counts(code.program(), kernel).whole), "") << described(code, kernel);
  });
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_GT(kernels["gfx942"], 60);
  EXPECT_EQ(kernels["gfx942"], kernels["gfx950"]);
}

TEST_F(StaticGates, HotLoopsMoveSixteenBytesALane) {
  for (const HotLoop& hot : kHotLoops) {
    std::set<std::string_view> archs;
    const std::regex names(std::string(hot.kernels));
    each_kernel(hot.source, [&](const EmbeddedCode& code, const Kernel& kernel) {
      if (!std::regex_match(kernel.name, names)) return;
      archs.insert(code.arch());
      std::uint32_t loads = 0;
      std::uint32_t stores = 0;
      for (const sim::LoopCounts& loop : static_counts(code.program(), kernel).loops) {
        loads = std::max(loads, of_sixteen(loop.counts.global_loads));
        stores = std::max(stores, of_sixteen(loop.counts.global_stores));
      }
      EXPECT_GE(loads, hot.loads) << described(code, kernel);
      EXPECT_GE(stores, hot.stores) << described(code, kernel);
    });
    EXPECT_EQ(archs.size(), 2U) << hot.kernels << " of " << hot.source;
  }
}

TEST_F(StaticGates, OnlyCountsThatNobodyReadsWithinTheLaunchAreAtomic) {
  std::set<std::string> with_atomics;
  each_kernel("", [&](const EmbeddedCode& code, const Kernel& kernel) {
    if (static_counts(code.program(), kernel).whole.global_atomics > 0) with_atomics.insert(kernel.name);
  });
  EXPECT_EQ(with_atomics, (std::set<std::string>{"cast_statistics", "count_choices", "route"}));
}

/// Adds a file of src/kernels, and what it includes of these, to `texts`.
void read_sources(const std::string& name, std::map<std::string, std::string>& texts) {
  if (name == "prelude_cuda.h" || texts.contains(name)) return;
  const std::string& text = texts[name] = read_file(std::filesystem::path(OCTET_KERNEL_SOURCES) / name);
  const std::regex include(R"re(#include "kernels/([a-z_0-9]+\.h)")re");
  for (std::sregex_iterator found(text.begin(), text.end(), include), end; found != end; ++found) {
    read_sources((*found)[1], texts);
  }
}

TEST_F(StaticGates, NoInlineAssembly) {
  std::map<std::string, std::string> texts;
  for (const gpu::CodeObject& object : gpu::code_objects()) read_sources(std::string(object.name) + ".cu", texts);
  EXPECT_TRUE(texts.contains("prelude_hip.h"));
  const std::regex assembly(R"(\b(asm|__asm__)\b)");
  for (const auto& [name, text] : texts) EXPECT_FALSE(std::regex_search(text, assembly)) << name;
}

}  // namespace
}  // namespace octet::test
