// The command line: what it prints, as text and JSON, and how it ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/gpu.h"
#include "sim/shell.h"

namespace octet::sim {
namespace {

using Json = nlohmann::json;

const std::string kBasics = kernel_path("basics", Generation::cdna3).string();
const std::string kTraining = kernel_path("training", Generation::cdna4).string();
const std::string kAdd = "run " + kBasics + " vector_add ";

/// Of a command that must succeed.
Json parsed(const std::string& arguments) {
  const Outcome outcome = cdna_sim(arguments + " --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  Json document = Json::parse(outcome.output, nullptr, false);
  EXPECT_EQ(document.at("version"), 1);
  return document;
}

TEST(Tool, RunsAKernelAndWritesBuffers) {
  const auto out = std::filesystem::temp_directory_path() / ("cdna_sim_" + std::to_string(getpid()));
  const auto in = kernel_path("basics", Generation::cdna3);
  const Json run = parsed(kAdd + "--grid 2 --block 256 --arg zeros=2048 --arg file=" + in.string() +
                          " --arg 'zeros=2048>" + out.string() + "' --arg u32=512 --threads 1");
  EXPECT_EQ(run.at("kernel"), "vector_add");
  EXPECT_EQ(run.at("processor"), "gfx942");
  EXPECT_EQ(run.at("launch").at("workgroups"), Json::array({2, 1, 1}));
  EXPECT_EQ(run.at("launch").at("waves"), 8);
  EXPECT_GT(run.at("instructions"), 8 * 5);
  const std::vector<std::byte> sums = file_bytes(out);
  ASSERT_EQ(sums.size(), 2048U);
  std::array<std::byte, 8> first{};  // of an ELF file, whose magic number is a small float; 0 + x = x
  std::memcpy(first.data(), file_bytes(in).data(), sizeof(first));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), sums.begin()));
  std::filesystem::remove(out);
}

TEST(Tool, PrintsValuesOfBuffers) {
  const std::string gather =
      "run " + kBasics + " gather --grid 1 --block 64 --arg range=128 --arg zeros=256 --arg u32=2";
  EXPECT_EQ(parsed(gather + " --print 1:u32:4 --print 0:u16").at("printed"),
            Json::parse(R"([{"argument": 1, "type": "u32", "values": [0, 2, 4, 6]},
                            {"argument": 0, "type": "u16", "values": [0, 0, 1, 0, 2, 0, 3, 0]}])"));
  const Outcome text = cdna_sim(gather + " --print 1:i32:3");
  EXPECT_NE(text.output.find("gather: 1 workgroup of 64 lanes, 1 wave: "), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("argument 1: 0 2 4\n"), std::string::npos) << text.output;
  EXPECT_EQ(parsed(gather + " --print 1:u64:1000").at("printed")[0].at("values").size(), 32U);
  const std::string add = kAdd + "--arg floats=64:7 --arg zeros=256 --arg zeros=256 --arg u32=64";
  const Json printed = parsed(add + " --print 0:f32:64 --print 2:f32:64").at("printed");
  EXPECT_EQ(printed[0].at("values"), printed[1].at("values"));
}

TEST(Tool, RandomBuffersAreTheSameForASeed) {
  const auto values = [](const std::string& word, const std::string& type) {
    const std::string copy = "run " + kBasics + " gather --arg " + word + " --arg zeros=256 --arg u32=1";
    return parsed(copy + " --print 0:" + type + ":4096").at("printed")[0].at("values");
  };
  EXPECT_EQ(values("random=4096:1", "u8"), values("random=4096:1", "u8"));
  EXPECT_NE(values("random=4096:1", "u8"), values("random=4096:2", "u8"));
  EXPECT_EQ(values("random=4096", "u8"), values("random=4096:0", "u8"));
  const Json floats = values("floats=4096:3", "f32");
  const Json rounded = values("bf16=4096:3", "bf16");
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < 4096; ++i) {
    const auto value = floats[i].get<double>();
    sum += value;
    squares += value * value;
    ASSERT_NEAR(rounded[i].get<double>(), value, std::fabs(value) / 256);
  }
  EXPECT_NEAR(sum / 4096, 0, 0.06);      // four deviations of the mean
  EXPECT_NEAR(squares / 4096, 1, 0.09);  // and of the variance
}

TEST(Tool, CountsAProduct) {
  const std::string product = "count " + kTraining +
                              " multiply_tiles --block 256 --arg random=8192:1 --arg zeros=8192 " +
                              "--arg zeros=65536 --arg u32=128 --arg u32=64";
  const Json counts = parsed(product + " --elements 16384");
  EXPECT_EQ(counts.at("kernel").at("name"), "multiply_tiles");
  EXPECT_EQ(counts.at("launch").at("waves"), 4);
  EXPECT_EQ(counts.at("matrix").at("operations"), 2 * 128 * 128 * 64);
  EXPECT_EQ(counts.at("matrix").at("mnemonics").at("v_mfma_f32_32x32x16_fp8_fp8").at("instructions"), 4 * 16);
  EXPECT_EQ(counts.at("instructions").at("families").at("matrix"), 4 * 16);
  EXPECT_EQ(counts.at("instructions").at("barriers"), 4 * 2 * 2);
  const Json& read = counts.at("global").at("read");
  EXPECT_EQ(read.at("bytes"), 2 * 8192);
  EXPECT_EQ(read.at("share_64"), 0.5);  // 32 bytes of a row of 64
  EXPECT_EQ(read.at("segments_64"), 2 * read.at("least_segments_64").get<int>());
  EXPECT_EQ(counts.at("global").at("write").at("bytes"), 65536);
  EXPECT_EQ(counts.at("global").at("write").at("share_128"), 1);
  EXPECT_EQ(counts.at("global").at("atomic").at("accesses"), 0);
  EXPECT_EQ(counts.at("lds").at("write").at("bytes"), 2 * 8192);
  EXPECT_EQ(counts.at("scratch").at("bytes"), 0);
  EXPECT_EQ(counts.at("per_element").at("matrix_operations"), 2 * 64);
  EXPECT_EQ(counts.at("per_element").at("bytes_written"), 4);
  std::uint64_t bytes = 0;
  for (const Json& line : counts.at("by_instruction")) {
    if (line.contains("global")) bytes += line.at("global").at("bytes").get<std::uint64_t>();
  }
  EXPECT_EQ(bytes, 2U * 8192 + 65536);
  EXPECT_EQ(counts, parsed(product + " --elements 16384 --threads 3"));
}

TEST(Tool, CountsAsText) {
  const Outcome outcome = cdna_sim("count " + kBasics + " gather --block 256 --lds 32768 --arg range=8192 " +
                                   "--arg zeros=1024 --arg u32=32 --print 1:u32:2");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* part :
       {"gather (gfx942): ",
        "launch: 1 workgroup of 256 lanes, 4 waves; a compute unit holds 2, 8 of 32 waves, limited by lds",
        "instructions: ", "branches 0 (0 taken), barriers 0, ", "atomics 0 global and 0 LDS",
        "  read               4         1024       256        16   0.06       256         8   0.03\n",
        "  write              4         1024        16        16   1.00         8         8   1.00\n",
        ": global_load_dword v", ": 0 32\n"}) {
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  }
}

TEST(Tool, ChecksRacesAndBarriers) {
  const std::string common = " --block 256 --arg bytes=1024 --arg zeros=4 --check";
  EXPECT_EQ(cdna_sim("count " + kBasics + " reduce" + common).exit_code, 0);
  const Outcome race = cdna_sim("run " + kBasics + " reduce_without_barrier" + common + "=lds-races");
  EXPECT_EQ(race.exit_code, 1);
  EXPECT_NE(race.output.find("with no barrier between"), std::string::npos) << race.output;
  const Outcome barrier = cdna_sim("count " + kBasics + " diverge --block 256 --arg zeros=1024 --arg u32=1 --check");
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

TEST(Tool, ListsKernels) {
  const Outcome text = cdna_sim("kernels " + kTraining);
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part :
       {"multiply_tiles (gfx950): ", "12288 bytes of LDS", " workgroups of 256 lanes: a compute unit holds ",
        "  loop from ", "global loads 2 of 16 bytes", "matrix 8", "arguments: 8 bytes, global_buffer; "}) {
    EXPECT_NE(text.output.find(part), std::string::npos) << part << "\n" << text.output;
  }
  const Json kernels = parsed("kernels " + kTraining).at("kernels");
  ASSERT_EQ(kernels.size(), 2U);
  const Json& product = kernels[0];
  EXPECT_EQ(product.at("name"), "multiply_tiles");
  EXPECT_EQ(product.at("scratch_bytes"), 0);
  EXPECT_EQ(product.at("occupancy").at("waves_per_workgroup"), 4);
  EXPECT_EQ(product.at("occupancy").at("workgroups_by").at("lds"), 12);  // 12800 bytes each of 160 KiB
  EXPECT_EQ(product.at("code").at("global_stores"), Json({{"4", 64}}));
  EXPECT_EQ(product.at("code").at("cache_maintenance"), 0);
  EXPECT_EQ(product.at("loops").at(0).at("global_loads"), Json({{"16", 2}}));
  EXPECT_EQ(product.at("loops").at(0).at("matrix"), 8);
  EXPECT_EQ(product.at("not_implemented").size(), 0U);
}

TEST(Tool, DisassemblesWithLabels) {
  const Outcome text = cdna_sim("disasm " + kBasics);
  EXPECT_NE(text.output.find("vector_add:\n"), std::string::npos);
  EXPECT_NE(text.output.find("v_add_f32_e32"), std::string::npos);
  const Outcome one = cdna_sim("disasm " + kBasics + " --kernel vector_add");
  EXPECT_EQ(one.output.find("vector_add:\n"), 0U) << one.output;
  EXPECT_EQ(one.output.find("reduce"), std::string::npos);
  EXPECT_NE(one.output.find("s_cbranch_execz L1\n"), std::string::npos) << one.output;
  EXPECT_NE(one.output.find("\nL1:\n"), std::string::npos) << one.output;
  EXPECT_EQ(one.output.find("L2"), std::string::npos) << one.output;
  const Json lines = parsed("disasm " + kBasics + " --kernel reduce").at("instructions");
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const Json& line) {
    return line.at("text") == "s_barrier" && line.at("family") == "control" && line.at("implemented") == true;
  }));
  for (const Json& line : lines) {
    if (!line.contains("target")) continue;
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                            [&](const Json& other) { return other.at("address") == line.at("target"); }));
  }
}

TEST(Tool, HelpNamesEveryKindOfArgument) {
  const Outcome help = cdna_sim("count --help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* kind : {"zeros=", "bytes=", "range=", "random=", "floats=", "bf16=", "file=", "f64=", "u8="}) {
    EXPECT_NE(help.output.find(kind), std::string::npos) << kind;
  }
}

TEST(Tool, MistakesEndWith2AndFaultsOfAKernelWith1) {
  const std::string buffers = "--arg zeros=256 --arg zeros=256 --arg zeros=256 ";
  const std::string good = buffers + "--arg u32=64 ";
  EXPECT_EQ(cdna_sim(kAdd + good).exit_code, 0);
  const Outcome fault = cdna_sim(kAdd + "--arg zeros=256 --arg zeros=255 --arg zeros=256 --arg u32=64");
  EXPECT_EQ(fault.exit_code, 1);
  EXPECT_NE(fault.output.find("lane 63 accesses 4 bytes"), std::string::npos) << fault.output;
  for (const std::string& mistake : {std::string("fly"),
                                     std::string("kernels /nowhere"),
                                     "kernels " + std::string(OCTET_CDNA_SIM),
                                     "run " + kBasics + " subtract",
                                     "disasm " + kBasics + " --kernel subtract",
                                     kAdd,
                                     kAdd + good + "--grid 0",
                                     kAdd + good + "--grid 1,2,3,4",
                                     kAdd + good + "--block 1,x",
                                     kAdd + good + "--threads 0",
                                     kAdd + good + "--block 257",
                                     kAdd + good + "--lds 65537",
                                     kAdd + buffers + "--arg u64=64",
                                     kAdd + buffers + "--arg u32=-1",
                                     kAdd + buffers + "--arg u8=64",
                                     kAdd + buffers + "--arg x32=1",
                                     kAdd + buffers + "--arg 64",
                                     kAdd + "--arg zeros=0 --arg zeros=256 --arg zeros=256 --arg u32=64",
                                     kAdd + "--arg zeros=256:1 --arg zeros=256 --arg zeros=256 --arg u32=64",
                                     kAdd + "--arg floats=64:x --arg zeros=256 --arg zeros=256 --arg u32=64",
                                     kAdd + "--arg zeros=256 --arg file=/nowhere --arg zeros=256 --arg u32=64",
                                     kAdd + good + "--print 3:u32",
                                     kAdd + good + "--print 2",
                                     kAdd + good + "--print 2:f31",
                                     kAdd + good + "--print 2:f32:x",
                                     kAdd + good + "--elements 3",
                                     "count " + kAdd.substr(4) + good + "--elements 0"}) {
    const Outcome outcome = cdna_sim(mistake);
    EXPECT_EQ(outcome.exit_code, 2) << mistake << ": " << outcome.output;
    EXPECT_EQ(outcome.output.rfind("cdna-sim: ", 0), 0U) << mistake << ": " << outcome.output;
    EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << mistake << ": " << outcome.output;
  }
}

}  // namespace
}  // namespace octet::sim
