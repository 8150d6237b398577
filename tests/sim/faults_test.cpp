// Kernels with planted faults: what a developer reads, from the first word to the last; and kernels without any.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/detectors/checks.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

/// Where a file of the test kernels has the mark, from the line that has `begin` on: "kernels/faults.hip:17".
std::string marked_line(const std::string& name, const std::string& begin, const std::string& mark) {
  std::ifstream file(std::filesystem::path(OCTET_SIM_KERNEL_SOURCES) / name);
  std::string line;
  bool begun = false;
  for (int number = 1; std::getline(file, line); ++number) {
    begun = begun || line.find(begin) != std::string::npos;
    if (begun && line.find(mark) != std::string::npos) return fmt::format("kernels/{}:{}", name, number);
  }
  return "no such line";
}

std::string fault_line(const std::string& kernel, const std::string& mark = "// fault") {
  return marked_line("faults.hip", "KERNEL " + kernel + "(", mark);
}

/// Whether a text begins "LINE: 0x...: MNEMONIC" and ends in `rest`.
testing::AssertionResult is_place_and(const std::string& text, const std::string& line, const std::string& mnemonic,
                                      const std::string& rest) {
  std::size_t at = line.size() + 4;
  if (!text.starts_with(line + ": 0x")) return testing::AssertionFailure() << "not at " << line << ": " << text;
  while (at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
  const bool right = text.compare(at, mnemonic.size() + 2, ": " + mnemonic) == 0 && text.ends_with(rest);
  if (!right) return testing::AssertionFailure() << "not '" << mnemonic << " ...: " << rest << "': " << text;
  return testing::AssertionSuccess();
}

class Faults : public testing::TestWithParam<Generation> {
 protected:
  Faults() : gpu_("faults", GetParam()) {
    gpu_.memory().track_writes();
    watch("all");
  }

  void watch(const std::string& names) {
    checks_.emplace(gpu_.program(), gpu_.memory(), 2, names);
    gpu_.listen(checks_->listeners());
  }

  [[nodiscard]] u64 unwritten(u64 bytes, const std::string& name) { return gpu_.memory().allocate(bytes, name); }

  /// What ends a launch of `workgroups` of `lanes`; empty where nothing does.
  template <typename... Arguments>
  std::string fault(const std::string& kernel, u32 workgroups, u32 lanes, const Arguments&... arguments) {
    try {
      gpu_.launch(kernel, {{workgroups, 1, 1}, {lanes, 1, 1}, 0}, arguments...);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }

  /// Whether a message is "kernel K, workgroup (X, 0, 0), wave W: FILE:LINE: 0x...: MNEMONIC ...: REST".
  static testing::AssertionResult is(const std::string& message, const std::string& kernel, u32 workgroup, u32 wave,
                                     const std::string& mnemonic, const std::string& rest,
                                     const std::string& line = "") {
    const std::string begin = fmt::format("kernel {}, workgroup ({}, 0, 0), wave {}: ", kernel, workgroup, wave);
    if (!message.starts_with(begin)) return testing::AssertionFailure() << "not " << begin << ": " << message;
    return is_place_and(message.substr(begin.size()), line.empty() ? fault_line(kernel) : line, mnemonic, ": " + rest);
  }

  Gpu gpu_;
  std::optional<Checks> checks_;
};

TEST_P(Faults, PastTheEndOfAnAllocation) {
  const u64 values = gpu_.upload(std::vector<u32>(64), "values");
  EXPECT_TRUE(is(fault("load", 1, 64, values, unwritten(256, "out"), 1U), "load", 0, 0, "global_load_dword ",
                 fmt::format("lane 63 accesses 4 bytes at {:#x}: 4 bytes past the end of 'values' (256 bytes at {:#x})",
                             values + 256, values)));
  EXPECT_EQ(fault("load", 1, 64, values, unwritten(256, "out"), 0U), "");
}

TEST_P(Faults, AnAllocationThatWasReleased) {
  const u64 values = gpu_.upload(std::vector<u32>(64), "values");
  gpu_.memory().release(values);
  EXPECT_TRUE(
      is(fault("load", 1, 64, values, unwritten(256, "out"), 4U), "load", 0, 0, "global_load_dword ",
         fmt::format("lane 0 accesses 4 bytes at {:#x}: byte 16 of 'values', which was released", values + 16)));
}

TEST_P(Faults, GlobalMemoryThatNobodyHasWritten) {
  const u64 values = unwritten(1024, "values");
  const u64 out = unwritten(1024, "out");
  gpu_.memory().fill(values, std::byte{1}, 128);
  EXPECT_TRUE(is(fault("load", 1, 64, values, out, 0U), "load", 0, 0, "global_load_dword ",
                 fmt::format("lane 32 reads 4 bytes at {0:#x}: byte 128 of 'values' (1024 bytes at {1:#x}): byte 128 "
                             "of 'values' was not written before",
                             values + 128, values)));
  gpu_.memory().fill(values + 128, std::byte{1}, 50);
  EXPECT_TRUE(is(fault("load_vectors", 1, 64, values, out), "load_vectors", 0, 0, "global_load_dwordx4 ",
                 fmt::format("lane 11 reads 16 bytes at {0:#x}: byte 176 of 'values' (1024 bytes at {1:#x}): byte 178 "
                             "of 'values' was not written before",
                             values + 176, values)));
  EXPECT_EQ(fault("load", 1, 44, values, out, 0U), "");
  EXPECT_EQ(fault("load", 1, 44, out, values, 0U), "") << "what a kernel wrote is written";
}

TEST_P(Faults, AScalarLoadOfWhatNobodyHasWritten) {
  const u64 scale = unwritten(4, "scale");
  EXPECT_TRUE(is(fault("load_uniformly", 1, 64, scale, unwritten(256, "out")), "load_uniformly", 0, 0, "s_load_dword ",
                 fmt::format("the wave reads 4 bytes at {0:#x}: byte 0 of 'scale' (4 bytes at {0:#x}): byte 0 of "
                             "'scale' was not written before",
                             scale)));
}

TEST_P(Faults, AnInlinedFunctionIsNamedWithItsCall) {
  const u64 values = unwritten(256, "values");
  const std::string message = fault("load_by_function", 1, 64, values, unwritten(256, "out"));
  const std::string line =
      marked_line("faults.hip", "DEVICE u32 element", "// inlined") + " inlined at " + fault_line("load_by_function");
  EXPECT_TRUE(is(message, "load_by_function", 0, 0, "global_load_dword ",
                 fmt::format("lane 0 reads 4 bytes at {0:#x}: byte 0 of 'values' (256 bytes at {0:#x}): byte 0 of "
                             "'values' was not written before",
                             values),
                 line));
}

TEST_P(Faults, LdsThatNobodyHasWrittenOrThatThereIsNot) {
  const u64 out = unwritten(1024, "out");
  EXPECT_TRUE(is(fault("load_lds", 1, 256, out, 100U, 0U), "load_lds", 0, 1, "ds_read_b32 ",
                 "lane 36 reads 4 bytes at 0x190 of LDS: byte 0x190 was not written before"));
  EXPECT_TRUE(is(fault("load_lds", 1, 256, out, 256U, 1U), "load_lds", 0, 3, "ds_read_b32 ",
                 "lane 63 accesses 4 bytes at 0x400 of the workgroup's 1024 bytes of LDS"));
  EXPECT_EQ(fault("load_lds", 1, 256, out, 256U, 0U), "");
}

TEST_P(Faults, LdsIsUnwrittenAgainInTheNextWorkgroup) {
  watch("uninitialised");
  EXPECT_TRUE(is(fault("load_lds", 2, 256, unwritten(1024, "out"), 256U, 0U), "load_lds", 1, 3, "ds_read_b32 ",
                 "lane 63 reads 4 bytes at 0x3fc of LDS: byte 0x3fc was not written before"));
}

TEST_P(Faults, ScratchThatNobodyHasWrittenOrThatThereIsNot) {
  const u64 out = unwritten(256, "out");
  EXPECT_EQ(fault("load_scratch", 1, 64, out, 8U, 7U), "");
  const std::string message = fault("load_scratch", 1, 64, out, 7U, 7U);
  const std::size_t at = message.find("0x", message.find("lane 0 reads"));
  const std::string address = message.substr(at, message.find(' ', at) - at);  // clang decides where arrays lie
  EXPECT_TRUE(is(message, "load_scratch", 0, 0, "scratch_load_dword ",
                 fmt::format("lane 0 reads 4 bytes at {0} of its scratch: byte {0} was not written before", address)));
  const u32 bytes = gpu_.program().object().kernel("load_scratch").scratch_bytes;
  const std::string outside = fault("load_scratch", 1, 64, out, 7U, 1000U);
  EXPECT_NE(outside.find(fault_line("load_scratch") + ": 0x"), std::string::npos) << outside;
  EXPECT_NE(outside.find(": lane 0 accesses 4 bytes at 0x"), std::string::npos) << outside;
  EXPECT_TRUE(outside.ends_with(fmt::format(" of its {} bytes of scratch", bytes))) << outside;
}

TEST_P(Faults, MisalignedAccesses) {
  const u64 bytes = gpu_.upload(std::vector<std::uint8_t>(300), "bytes");
  const u64 out = unwritten(4096, "out");
  EXPECT_EQ(fault("load_misaligned", 1, 64, bytes, out, 4U), "");
  EXPECT_TRUE(is(fault("load_misaligned", 1, 64, bytes, out, 6U), "load_misaligned", 0, 0, "global_load_dword ",
                 fmt::format("lane 0 reads 4 bytes at {:#x}: byte 6 of 'bytes' (300 bytes at {:#x}): not aligned to 4",
                             bytes + 6, bytes)));
  EXPECT_TRUE(
      is(fault("update_misaligned", 1, 64, bytes, 6U), "update_misaligned", 0, 0, "global_atomic_add ",
         fmt::format("lane 0 updates 4 bytes at {:#x}: byte 6 of 'bytes' (300 bytes at {:#x}): not aligned to 4",
                     bytes + 6, bytes)));
  EXPECT_EQ(fault("load_lds_misaligned", 1, 256, out, 16U), "");
  EXPECT_TRUE(is(fault("load_lds_misaligned", 1, 256, out, 8U), "load_lds_misaligned", 0, 0, "ds_read_b128 ",
                 "lane 0 reads 16 bytes at 0x8 of LDS: not aligned to 16"));
}

TEST_P(Faults, WritesToCodeAndArguments) {
  const u64 code = gpu_.program().code().address;
  const std::string image = fmt::format("'faults' ({} bytes at {:#x})", gpu_.program().object().image.size(),
                                        code - gpu_.program().object().code_begin);
  EXPECT_TRUE(is(fault("store", 1, 64, code), "store", 0, 0, "global_store_dword ",
                 fmt::format("lane 0 writes 4 bytes at {:#x}: byte {} of {}: is only to be read", code,
                             gpu_.program().object().code_begin, image)));
  const std::string message = fault("store_to_arguments", 1, 64, 7U);
  EXPECT_NE(message.find(": byte 0 of 'kernel arguments' ("), std::string::npos) << message;
  EXPECT_TRUE(is(message, "store_to_arguments", 0, 0, "global_store_dword ", "is only to be read")) << message;
}

TEST_P(Faults, WavesThatRaceInLds) {
  const std::string message = fault("exchange_without_barrier", 1, 256, unwritten(1024, "out"));
  const std::string middle = "lane 0 writes byte 0x100 of LDS, which wave 0 reads with no barrier between: ";
  const std::size_t other = message.find(middle);
  ASSERT_NE(other, std::string::npos) << message;
  EXPECT_TRUE(is(message.substr(0, other + middle.size()), "exchange_without_barrier", 0, 1, "ds_write_b32 ", middle));
  EXPECT_TRUE(is_place_and(message.substr(other + middle.size()), fault_line("exchange_without_barrier", "// other"),
                           "ds_read_b32 ", ""));
}

TEST_P(Faults, WorkgroupsThatRaceInGlobalMemory) {
  const u64 values = gpu_.upload(std::vector<u32>(512), "values");
  const u64 out = unwritten(2048, "out");
  const auto is_race = [&](const std::string& kernel, const std::string& mnemonic, const std::string& middle,
                           const std::string& other_mnemonic, const std::string& other_mark, u64 address) {
    const std::string message = kernel == "store" ? fault(kernel, 2, 256, values) : fault(kernel, 2, 256, values, out);
    const std::string tail = fmt::format(" byte {:#x} in the same launch: ", address);
    const std::size_t end = message.find(tail);
    if (end == std::string::npos) return testing::AssertionFailure() << message;
    testing::AssertionResult first = is(message.substr(0, end + tail.size()), kernel, 1, 0, mnemonic, middle + tail);
    if (!first) return first;
    return is_place_and(message.substr(end + tail.size()), fault_line(kernel, other_mark), other_mnemonic, "");
  };
  EXPECT_TRUE(is_race("read_of_another_workgroup", "global_store_dword ",
                      fmt::format("lane 0 writes 4 bytes at {:#x}: byte 1024 of 'values' (2048 bytes at {:#x}): "
                                  "workgroup (0, 0, 0) reads",
                                  values + 1024, values),
                      "global_load_dword ", "// other", values + 1024));
  EXPECT_TRUE(is_race("store", "global_store_dword ",
                      fmt::format("lane 0 writes 4 bytes at {0:#x}: byte 0 of 'values' (2048 bytes at {0:#x}): "
                                  "workgroup (0, 0, 0) writes",
                                  values),
                      "global_store_dword ", "// fault", values));
  EXPECT_TRUE(is_race("count_and_read", "global_atomic_add ",
                      fmt::format("lane 0 updates 4 bytes at {0:#x}: byte 0 of 'values' (2048 bytes at {0:#x}): "
                                  "workgroup (0, 0, 0) reads",
                                  values),
                      "global_load_dword ", "// other", values));
  EXPECT_EQ(fault("pass_flags", 2, 256, values, out), "");
  EXPECT_EQ(fault("count_and_read", 1, 256, values, out), "");
  watch("barriers,lds-races,misaligned,read-only,uninitialised");
  EXPECT_EQ(fault("store", 2, 256, values), "");
}

TEST_P(Faults, ABarrierThatNotAllLanesReach) {
  const std::string message = fault("diverge_within_a_wave", 1, 256, unwritten(1024, "out"));
  const std::string begin =
      "kernel diverge_within_a_wave, workgroup (0, 0, 0): divergent barrier: lane 32 of wave 0, and 32 lanes in all, "
      "do "
      "not reach ";
  ASSERT_TRUE(message.starts_with(begin)) << message;
  EXPECT_TRUE(is_place_and(message.substr(begin.size()),
                           marked_line("device.h", "DEVICE void barrier", "s_barrier") + " inlined at " +
                               fault_line("diverge_within_a_wave"),
                           "s_barrier", ""));
}

TEST_P(Faults, TheMessageIsTheSameForAnyNumberOfThreads) {
  std::vector<std::string> messages;
  for (const int threads : {1, 2, 5}) {
    Gpu gpu("faults", GetParam(), threads);
    const Checks checks(gpu.program(), gpu.memory(), threads);
    gpu.listen(checks.listeners());
    const u64 values = gpu.upload(std::vector<u32>(16 * 256), "values");
    const u64 out = gpu.upload(std::vector<u32>(16 * 256), "out");
    try {
      gpu.launch("read_of_another_workgroup", {{16, 1, 1}, {256, 1, 1}, 0}, values, out);
    } catch (const Failure& failure) {
      messages.emplace_back(failure.what());
    }
  }
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(messages[0], messages[2]);
}

TEST(OrderOfWorkgroups, OneThreadRunsThemWhereAListenerAsksForThat) {
  class Count : public AccessListener {
   public:
    [[nodiscard]] bool needs_order() const override { return true; }
    void on_launch(const LaunchShape& shape) override { expected = shape.workgroups[0]; }
    void on_workgroup(std::size_t /*lds_bytes*/) override { ++begun; }
    u32 expected = 0;
    u32 begun = 0;
  };
  constexpr u32 kWorkgroups = 2000;
  Gpu gpu("basics", Generation::cdna3, 3);
  Count first;
  Count second;
  Count third;
  gpu.listen({&first, &second, &third});
  const u64 values = gpu.upload(std::vector<float>(kWorkgroups * 64), "values");
  gpu.launch("vector_add", {{kWorkgroups, 1, 1}, {64, 1, 1}, 0}, values, values, values, kWorkgroups * 64);
  EXPECT_EQ(first.expected, kWorkgroups);
  EXPECT_EQ(first.begun, kWorkgroups);
  EXPECT_EQ(third.expected, kWorkgroups);
  EXPECT_EQ(second.begun + third.begun, 0U);
}

/// Launches of a source's kernels under all detectors, into memory that nobody has written: they throw where one finds
/// something.
class Watched {
 public:
  Watched(const std::string& source, Generation generation) : gpu_(source, generation) {
    gpu_.memory().track_writes();
    checks_.emplace(gpu_.program(), gpu_.memory(), 2);
    gpu_.listen(checks_->listeners());
  }
  template <typename... Arguments>
  void run(const std::string& kernel, u32 workgroups, const Arguments&... arguments) {
    EXPECT_NO_THROW(gpu_.launch(kernel, {{workgroups, 1, 1}, {256, 1, 1}, 0}, arguments...)) << kernel;
  }
  template <typename T>
  [[nodiscard]] u64 zeros(std::size_t count) {
    return gpu_.upload(std::vector<T>(count), "zeros");
  }
  [[nodiscard]] u64 unwritten(u64 bytes) { return gpu_.memory().allocate(bytes, "unwritten"); }

 private:
  Gpu gpu_;
  std::optional<Checks> checks_;
};

class NoFaults : public testing::TestWithParam<Generation> {};

TEST_P(NoFaults, AreFoundInKernelsWithoutAny) {
  Watched basics("basics", GetParam());
  const u64 values = basics.zeros<u32>(16 * 256);
  const u64 sums = basics.unwritten(4000);
  basics.run("vector_add", 4, values, values, sums, 1000U);
  basics.run("reduce", 3, sums, basics.unwritten(12));
  basics.run("places", 2, basics.unwritten(u64{2} * 256 * 12 * 4));
  basics.run("count_in_lds", 2, values, basics.unwritten(2048), 1U);
  basics.run("permute_in_scratch", 2, values, basics.unwritten(2048));
  basics.run("accumulate", 16, values, basics.zeros<u32>(16), basics.zeros<float>(1));
  basics.run("diverge", 1, basics.unwritten(1024), 3U);
  Watched training("training", GetParam());
  training.run("quantize_rows", 16, training.zeros<std::uint16_t>(16 * 512), training.unwritten(16 * 512),
               training.unwritten(64), 512U);
  const u64 codes = training.zeros<std::uint8_t>(256 * 128);
  training.run("multiply_tiles", 4, codes, codes, training.unwritten(256 * 256 * 4), 256U, 128U);
}

INSTANTIATE_TEST_SUITE_P(Generations, Faults, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });
INSTANTIATE_TEST_SUITE_P(Generations, NoFaults, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
