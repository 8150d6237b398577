// What tests of counts share: an MI300X (gfx942) and an MI350X (gfx950) that count every launch, and matrices on them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fp8/format_family.h"
#include "fp8/scale.h"
#include "hip/code_from_files.h"
#include "hip/counted_gpu.h"
#include "hip/simulator_in_process.h"
#include "io/scratch.h"

namespace octet::test {

inline constexpr std::array<const char*, 2> kProcessors{"gfx942", "gfx950"};

class CountedTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { (void)log(); }

  /// One at a time.
  [[nodiscard]] static CountedGpu open_gpu(std::size_t processor) { return {static_cast<int>(processor), log()}; }

  [[nodiscard]] static fp8::ScaleRule rule(std::size_t processor) {
    return fp8::ScaleRule::of(fp8::forward_format(fp8::family_of_arch(kProcessors.at(processor))), true);
  }

  /// Numbers of both signs, whose magnitudes go over 16 powers of two.
  [[nodiscard]] static std::vector<bf16> values(std::int64_t count) {
    std::vector<bf16> values(static_cast<std::size_t>(count));
    std::uint32_t state = 1;
    for (bf16& x : values) {
      state = state * 1664525U + 1013904223U;
      x.bits = static_cast<std::uint16_t>(((state >> 16) & 0x87FFU) + 0x3800U);
    }
    return values;
  }

 private:
  /// The simulator reads its settings once: all tests of the process share them.
  struct Simulator {
    ScratchDirectory directory;
    Environment environment;

    Simulator() {
      const std::string counts = directory.path() / "launches.jsonl";
      load_simulator(environment, {{"ARCH", "gfx942,gfx950"}, {"COUNTS", counts}, {"TRAFFIC", "1"}});
      std::vector<CodeFile> files;
      for (const char* arch : kProcessors) {
        for (const char* source : {"attention_backward", "attention_forward", "casts", "feed_forward", "folds",
                                   "gather", "grouped_feed_forward", "norms"}) {
          files.push_back(built_code(source, arch));
        }
        files.push_back({"plain_casts", arch, std::string(OCTET_TEST_KERNELS "/plain_casts.") + arch + ".co"});
      }
      set_code(files);
    }
  };
  [[nodiscard]] static std::filesystem::path log() {
    static const Simulator simulator;
    return simulator.directory.path() / "launches.jsonl";
  }
};

}  // namespace octet::test
