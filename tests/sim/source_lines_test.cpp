// Source lines of code objects that have them, that have none, and that are damaged.
#include "sim/elf/source_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/elf/elf_file.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

TEST(SourceLinesTest, NearlyEveryInstructionHasOne) {
  for (const Generation generation : {Generation::cdna3, Generation::cdna4}) {
    const Gpu gpu("faults", generation);
    const Program& program = gpu.program();
    std::set<std::string> lines;
    for (const auto& [name, kernel] : program.object().kernels) {
      std::size_t known = 0;
      std::size_t all = 0;
      for (u64 address = kernel.entry; address < kernel.entry + kernel.code_bytes; address += 4, ++all) {
        const std::string line = program.object().lines.at(address);
        known += line.empty() ? 0 : 1;
        lines.insert(line);
      }
      EXPECT_GT(known, all / 2) << name;
    }
    for (const std::string& line : lines) EXPECT_TRUE(line.empty() || line.starts_with("kernels/")) << line;
    EXPECT_GT(lines.size(), program.object().kernels.size());
  }
}

TEST(SourceLinesTest, ThereAreNoneOutsideOfCodeAndWithoutDebugInformation) {
  const std::vector<std::byte> file = file_bytes(kernel_path("faults", Generation::cdna3));
  const CodeObject object = read_code_object(file, "faults");
  EXPECT_EQ(object.lines.at(0), "");
  EXPECT_EQ(object.lines.at(~u64{0}), "");
  const CodeObject basics = read_code_object(file_bytes(kernel_path("basics", Generation::cdna3)), "basics");
  for (u64 address = basics.code_begin; address < basics.code_end; address += 4) {
    ASSERT_EQ(basics.lines.at(address), "");
  }
  EXPECT_EQ(SourceLines(std::span<const std::byte>{}).at(0), "");
}

TEST(SourceLinesTest, DamageIsHarmless) {
  const std::vector<std::byte> file = file_bytes(kernel_path("faults", Generation::cdna3));
  const u64 code = read_code_object(file, "faults").code_begin;
  std::size_t loaded = 0;  // debug information lies behind it
  for (const Segment& segment : read_elf(file, "faults").segments) {
    const auto begin = static_cast<std::size_t>(segment.bytes.data() - file.data());
    loaded = std::max(loaded, begin + segment.bytes.size());
  }
  std::mt19937 engine(1);
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<std::byte> damaged = file;
    for (int k = 0; k < 4; ++k) {
      damaged[loaded + engine() % (damaged.size() - loaded)] = static_cast<std::byte>(engine());
    }
    const SourceLines lines(damaged);
    for (u64 address = code; address < code + 64; address += 4) std::ignore = lines.at(address);
  }
}

}  // namespace
}  // namespace octet::sim
