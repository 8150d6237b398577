// The command line: what it prints, as text and JSON, and how it ends.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/gpu.h"

namespace octet::sim {
namespace {

struct Outcome {
  int exit_code;
  std::string output;  ///< both streams
};

Outcome cdna_sim(const std::string& arguments) {
  FILE* pipe = popen((std::string(OCTET_CDNA_SIM) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

const std::string kBasics = kernel_path("basics", Generation::cdna3).string();
const std::string kAdd = "run " + kBasics + " vector_add ";

TEST(Tool, RunsAKernelAndWritesBuffers) {
  const auto out = std::filesystem::temp_directory_path() / ("cdna_sim_" + std::to_string(getpid()));
  const auto in = kernel_path("basics", Generation::cdna3);
  const Outcome outcome = cdna_sim(kAdd + "--grid 2 --block 256 --arg zeros=2048 --arg file=" + in.string() +
                                   " --arg 'zeros=2048>" + out.string() + "' --arg u32=512 --json --threads 1");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json.at("name"), "vector_add");
  EXPECT_EQ(json.at("counts").at("families").at("global"), 3 * 8);  // two loads and a store of eight waves
  EXPECT_EQ(json.at("counts").at("mnemonics").at("global_store_dword"), 8);
  EXPECT_EQ(json.at("not_implemented").size(), 0U);
  const std::vector<std::byte> sums = file_bytes(out);
  ASSERT_EQ(sums.size(), 2048U);
  std::array<std::byte, 8> first{};  // of an ELF file, whose magic number is a small float; 0 + x = x
  std::memcpy(first.data(), file_bytes(in).data(), sizeof(first));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), sums.begin()));
  std::filesystem::remove(out);
}

TEST(Tool, CountsTrafficAndChecks) {
  const std::string common = " --block 256 --arg bytes=1024 --arg zeros=4 --traffic --json ";
  const Outcome good = cdna_sim("run " + kBasics + " reduce" + common + "--check");
  ASSERT_EQ(good.exit_code, 0) << good.output;
  const nlohmann::json traffic = nlohmann::json::parse(good.output).at("traffic");
  ASSERT_EQ(traffic.size(), 2U);
  EXPECT_EQ(traffic[0].at("bytes"), 1024);
  EXPECT_EQ(traffic[0].at("segments_64"), traffic[0].at("least_segments_64"));
  EXPECT_EQ(traffic[1].at("bytes"), 4);
  const Outcome race = cdna_sim("run " + kBasics + " reduce_without_barrier" + common + "--check=lds-races");
  EXPECT_EQ(race.exit_code, 1);
  EXPECT_NE(race.output.find("with no barrier between"), std::string::npos) << race.output;
  const Outcome barrier = cdna_sim("run " + kBasics + " diverge --block 256 --arg zeros=1024 --arg u32=1 --check");
  EXPECT_EQ(barrier.exit_code, 1);
  EXPECT_NE(barrier.output.find("divergent barrier"), std::string::npos) << barrier.output;
}

TEST(Tool, ChecksByNameAndNamesSourceLines) {
  const std::string faults = kernel_path("faults", Generation::cdna3).string();
  const std::string load = "run " + faults + " load --arg unwritten=256 --arg unwritten=256 --arg u32=0 ";
  const Outcome all = cdna_sim(load + "--check");
  EXPECT_EQ(all.exit_code, 1) << all.output;
  EXPECT_NE(all.output.find("cdna-sim: kernel load, workgroup (0, 0, 0), wave 0: kernels/faults.hip:"),
            std::string::npos)
      << all.output;
  EXPECT_NE(all.output.find("of 'argument 0' was not written before\n"), std::string::npos) << all.output;
  EXPECT_EQ(cdna_sim(load + "--check=misaligned,lds-races").exit_code, 0);
  EXPECT_EQ(cdna_sim(load + "--check=misaligned,uninitialised").exit_code, 1);
  EXPECT_EQ(cdna_sim(load).exit_code, 0);
  const Outcome unknown = cdna_sim(load + "--check=races");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.output.find("no detector 'races': choose from all, misaligned, "), std::string::npos)
      << unknown.output;
  const Outcome text = cdna_sim("disasm " + faults);
  EXPECT_NE(text.output.find("\n; kernels/faults.hip:"), std::string::npos);
}

TEST(Tool, ListsKernelsAndDisassembles) {
  const Outcome kernels = cdna_sim("kernels " + kBasics);
  EXPECT_EQ(kernels.exit_code, 0);
  EXPECT_NE(kernels.output.find("reduce (gfx942): "), std::string::npos) << kernels.output;
  EXPECT_NE(kernels.output.find("16 bytes of LDS"), std::string::npos) << kernels.output;
  const Outcome text = cdna_sim("disasm " + kBasics);
  EXPECT_NE(text.output.find("vector_add:\n"), std::string::npos);
  EXPECT_NE(text.output.find("v_add_f32_e32"), std::string::npos);
  const Outcome json = cdna_sim("disasm --json " + kBasics);
  bool has_barrier = false;
  for (const nlohmann::json& line : nlohmann::json::parse(json.output)) {
    has_barrier = has_barrier || (line.at("text") == "s_barrier" && line.at("family") == "control");
  }
  EXPECT_TRUE(has_barrier);
}

TEST(Tool, MistakesEndWith2AndFaultsOfAKernelWith1) {
  const std::string good = "--arg zeros=256 --arg zeros=256 --arg zeros=256 --arg u32=64";
  EXPECT_EQ(cdna_sim(kAdd + good).exit_code, 0);
  const Outcome fault = cdna_sim(kAdd + "--arg zeros=256 --arg zeros=255 --arg zeros=256 --arg u32=64");
  EXPECT_EQ(fault.exit_code, 1);
  EXPECT_NE(fault.output.find("lane 63 accesses 4 bytes"), std::string::npos) << fault.output;
  for (const std::string& mistake :
       {std::string("fly"), std::string("kernels /nowhere"), "kernels " + std::string(OCTET_CDNA_SIM),
        "run " + kBasics + " subtract", kAdd, kAdd + good + " --grid 0", kAdd + good + " --grid 1,2,3,4",
        kAdd + good + " --block 1,x", kAdd + good + " --threads 0", kAdd + good + " --block 257",
        kAdd + "--arg zeros=256 --arg zeros=256 --arg zeros=256 --arg u64=64",
        kAdd + "--arg zeros=256 --arg zeros=256 --arg zeros=256 --arg u32=-1",
        kAdd + "--arg zeros=0 --arg zeros=256 --arg zeros=256 --arg u32=64",
        kAdd + "--arg zeros=256 --arg file=/nowhere --arg zeros=256 --arg u32=64"}) {
    const Outcome outcome = cdna_sim(mistake);
    EXPECT_EQ(outcome.exit_code, 2) << mistake << ": " << outcome.output;
    EXPECT_EQ(outcome.output.rfind("cdna-sim: ", 0), 0U) << outcome.output;
    EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
  }
}

}  // namespace
}  // namespace octet::sim
