// Faults planted in kernels of src/kernels: a copy of a source with one small change is compiled for a simulated GPU
// and runs behind the real host code, a case of the op's own check looks at it, and the complaint must be the right
// one.
#include <array>
#include <fstream>
#include <memory>
#include <span>

#include "hip/code_from_files.h"
#include "hip/simulator_in_process.h"
#include "io/scratch.h"
#include "ops/gpu/gpu_backend.h"
#include "ops/selftest/checks/attention_checks.h"
#include "ops/selftest/checks/cast_checks.h"
#include "ops/selftest/checks/gemm_checks.h"
#include "ops/selftest/trial.h"

namespace octet::test {
namespace {

using ops::selftest::CastCase;
using ops::selftest::Content;
using ops::selftest::GemmCase;
using ops::selftest::OpCheck;
using ops::selftest::Trial;

struct Fault {
  std::string_view name;
  std::string_view arch;
  std::string_view kernels;  ///< the source of src/kernels that is compiled
  std::string_view file;     ///< in which the change is made: the source, or a header of its
  std::string_view right, wrong;
  void (*check)(Trial& trial);
  std::string_view complaint;  ///< of a detector, or of the comparison with the oracle
};

template <typename Op, ops::selftest::Index Rows, ops::selftest::Index Cols, fp8::Format F>
void check_cast(Trial& trial) {
  OpCheck<Op>::run(trial, {Rows, Cols, F, true, Content::ordinary});
}

void check_fp8_product(Trial& trial) {
  constexpr ops::selftest::GemmSide kSide{DType::e4m3fnuz, ops::ScaleAxis::row};
  OpCheck<ops::Gemm>::run(trial, GemmCase{48, 32, 80, kSide, kSide, DType::bf16});
}

/// Documents that begin inside of tiles and blocks of 64 rows, and beside their edges.
template <typename Op>
void check_packed_attention(Trial& trial) {
  OpCheck<Op>::run(trial, {{1, 200, 2, 1, 32}, 1, false, ops::selftest::Packing{0, {50, 65, 127, 150}}});
}
constexpr auto check_attention = check_packed_attention<ops::AttentionForward>;
constexpr auto check_attention_backward = check_packed_attention<ops::AttentionBackward>;

constexpr auto kFnuz = fp8::Format::e4m3fnuz;
constexpr auto kOcp = fp8::Format::e4m3fn;

/// Where a wave reads LDS before another has written it, that it was not written is what is found; where it was written
/// for an earlier use, that two waves race.
const auto kFaults = std::to_array<Fault>({
    {"AWrongStride", "gfx942", "casts", "cast_tiles.h", "Index{place.first_col + col} * rows + row",
     "Index{place.first_col + col} * (rows - 1) + row", check_cast<ops::Cast, 67, 33, kFnuz>, "codes transposed["},
    {"AMissingBarrier", "gfx950", "casts", "casts.cu", "sync_block();  // all have read the scales", "// all have",
     check_cast<ops::Cast, 67, 33, kOcp>, "of LDS: byte 0x4020 was not written before"},
    {"OneBufferForTwoFolds", "gfx942", "cast_statistics", "block_fold.h", "turn_ ^= kParts / 2;", "",
     check_cast<ops::CastStatistics, 3, 2056, kFnuz>, "with no barrier between"},
    {"AScaleFor448", "gfx942", "long_rows", "measured.h", "fp8::bits_of(rule.max())", "fp8::bits_of(448.0F)",
     check_cast<ops::QuantizeRows, 2, 32776, kFnuz>, "scale_inverse["},
    {"ARangeOf448", "gfx942", "casts", "prelude_hip.h", "kMax = fp8::Limits<F>::max;", "kMax = 448.0F;",
     check_cast<ops::Cast, 67, 33, kFnuz>, "is 0x80, expected 0x7f"},  // NaN for the largest number
    {"AReadPastTheEnd", "gfx950", "casts", "casts.cu", "part.has(r, a.rows, a.cols));", "true);",
     check_cast<ops::Cast, 67, 64, kOcp>, "hipErrorIllegalAddress"},
    {"AMissingBarrierOfAProduct", "gfx942", "products_mfma", "mfma_tile.h", "sync_block();", "", check_fp8_product,
     "of LDS"},
    {"AWrongStrideOfAProduct", "gfx942", "products_mfma", "mfma_tile.h", "row * product.b.outer + col",
     "row * (product.b.outer - 4) + col", check_fp8_product, "d["},
    {"ATileOfKeysSkippedOfAttention", "gfx942", "attention_forward", "attention_forward.cu",
     "begin_key = seen.first_of(first_query)", "begin_key = seen.first_of(first_query + 1)", check_attention, "out["},
    {"DocumentsThatBeginATokenLateOfAttention", "gfx942", "attention_forward", "attention.h",
     "starts_[query < seq_len_ ? query : seq_len_ - 1]",
     "starts_[query > 0 ? (query < seq_len_ ? query : seq_len_) - 1 : 0]", check_attention, "out["},
    {"KeysWithoutTheMaskOfDocumentsOfAttention", "gfx942", "attention_backward", "attention_backward.cu",
     "return seen.first_of(first_query + 16 * n + Tile::col(i)) <= key;", "return key >= 0;", check_attention_backward,
     "dqkv["},
    {"ATileOfQueriesSkippedOfAttention", "gfx942", "attention_backward", "attention_backward.cu",
     "end_query = seen.end_of_queries(last_key)", "end_query = seen.end_of_queries(last_key) - kRows",
     check_attention_backward, "dqkv["},
    {"AStepOfKeysSkippedOfAttention", "gfx942", "attention_backward", "attention_backward.cu",
     "first_step = seen.first_of(first_query) / kRows", "first_step = (seen.first_of(first_query) + 15) / kRows",
     check_attention_backward, "dqkv["},
});

/// The faulty copy, compiled as src/kernels is: headers that it does not change are the tree's.
CodeFile compile(const Fault& fault, const ScratchDirectory& directory) {
  namespace fs = std::filesystem;
  const fs::path kernels = directory.path() / "kernels";
  fs::create_directory(kernels);
  const std::string source = std::string(fault.kernels) + ".cu";
  fs::copy_file(fs::path(OCTET_KERNEL_SOURCES) / source, kernels / source);
  std::string text = read_file(fs::path(OCTET_KERNEL_SOURCES) / fault.file);
  const std::size_t place = text.find(fault.right);
  EXPECT_NE(place, std::string::npos) << fault.file << " no longer holds: " << fault.right;
  if (place != std::string::npos) text.replace(place, fault.right.size(), fault.wrong);
  std::ofstream(kernels / fault.file) << text;
  const fs::path object = directory.path() / "faulty.co";
  const std::string command = fmt::format(
      "{} --offload-arch={} -I {} -I {} -o {} {}", OCTET_KERNEL_COMPILER, fault.arch, directory.path().string(),
      fs::path(OCTET_KERNEL_SOURCES).parent_path().string(), object.string(), (kernels / source).string());
  EXPECT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe)
  return {std::string(fault.kernels), std::string(fault.arch), object};
}

/// The simulator has eight GPUs. One that has failed is of no more use: the first faults have one each, and those
/// behind them, which compute what is wrong and no more, share the first, a gfx942.
constexpr std::size_t kGpus = 8;

class PlantedFaults : public testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<Shared>();
    std::string processors;
    for (const Fault& fault : std::span(kFaults).first(kGpus)) {
      processors += (processors.empty() ? "" : ",") + std::string(fault.arch);
    }
    load_simulator(shared_->environment, {{"ARCH", processors}, {"CHECK", "1"}, {"ERRORS", errors().string()}});
  }
  static void TearDownTestSuite() { shared_.reset(); }

  /// What the detectors said, and what the check did; empty where neither found a fault.
  [[nodiscard]] static std::string complaints(const std::vector<CodeFile>& code) {
    const Fault& fault = kFaults.at(GetParam());
    const std::ofstream emptied(errors());
    set_code(code);
    const auto backend = ops::make_hip_backend(GetParam() < kGpus ? static_cast<int>(GetParam()) : 0);
    Trial trial(*backend);
    try {
      fault.check(trial);
    } catch (const ops::selftest::Refused& refused) {
      trial.fail(refused.reason);
    } catch (const std::exception& error) {
      trial.fail(error.what());
    }
    return read_file(errors()) + trial.failure();
  }

 private:
  struct Shared {
    ScratchDirectory directory;
    Environment environment;
  };
  [[nodiscard]] static std::filesystem::path errors() { return shared_->directory.path() / "errors.txt"; }

  inline static std::unique_ptr<Shared> shared_;
};

TEST_P(PlantedFaults, AreNamed) {
  const Fault& fault = kFaults.at(GetParam());
  const CodeFile folds = built_code("folds", std::string(fault.arch));
  ASSERT_EQ(complaints({built_code(std::string(fault.kernels), std::string(fault.arch)), folds}), "")
      << "without the fault";
  const ScratchDirectory directory;
  EXPECT_TRUE(contains(complaints({compile(fault, directory), folds}), fault.complaint));
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFaults, testing::Range(std::size_t{0}, kFaults.size()),
                         [](const auto& fault) { return std::string(kFaults.at(fault.param).name); });

}  // namespace
}  // namespace octet::test
