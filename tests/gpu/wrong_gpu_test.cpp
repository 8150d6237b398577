// GPUs that cannot do what is asked of them: another architecture, too little memory, foreign formats, no such index.
#include "gpu/standin_fixture.h"

namespace octet::test {
namespace {

using WrongGpu = StandInTest;

TEST_F(WrongGpu, AnotherArchitecture) {
  set_environment("OCTET_STANDIN_ARCH", "80");
  const Words parts = {"NVIDIA Stand-in (sm_80) is not supported", "compute capability 9.0", "H100, H200",
                       "run on the CPU"};
  refuses(train_on_gpu("run"), parts);
  const std::string reason = reason_left_out("cuda:0");
  for (const std::string& part : parts) EXPECT_TRUE(contains(reason, part));
  EXPECT_EQ(json_of({"info", "--json"}).at("devices").size(), 1U);
}

TEST_F(WrongGpu, NoSuchIndex) {
  refuses(train("run", {"--device", "cuda:1"}), {"there is no cuda:1", "/driver/libcuda.so.1", "one GPU, cuda:0"});
  set_environment("OCTET_STANDIN_GPUS", "2");
  refuses(train("run", {"--device", "cuda:2"}), {"there is no cuda:2", "2 GPUs, cuda:0 to cuda:1"});
  refuses(train("run", {"--device", "cuda:x"}), {"there is no device \"cuda:x\"", "cpu, cuda, cuda:N, hip and hip:N"});
  refuses(train("run", {"--device", "cuda:-1"}), {"there is no cuda:-1"});
  succeed(train("run", {"--device", "cuda:1"}));
}

TEST_F(WrongGpu, FormatsOfAnotherVendor) {
  refuses(train_on_gpu("run", {"--recipe", "rowwise", "--fp8-format", "fnuz"}),
          {"precision.fp8_format = \"fnuz\"", "e4m3fnuz", "device cuda computes in e4m3fn", "use \"auto\""});
}

TEST_F(WrongGpu, TakenByOthers) {
  set_environment("OCTET_STANDIN_CONTEXT", "2");
  refuses(train_on_gpu("run"), {"cuda:0 is taken", "CUDA_ERROR_OUT_OF_MEMORY", "nvidia-smi"});
}

class SmallGpu : public StandInTest {
 protected:
  [[nodiscard]] static Words large(std::string_view run, const Words& more = {}) {
    return train_on_gpu(run, join({set("model.dim=256"), set("model.ffn_dim=1024"), set("training.batch_size=12"),
                                   set("training.steps=1"), more}));
  }

  /// What the message proposes: its words from the first --set on.
  [[nodiscard]] static Words proposal(const std::string& message) {
    Words words;
    std::istringstream text(message.substr(message.find("--set")));
    for (std::string word; text >> word && word != "would";) words.push_back(word);
    return words;
  }
};

TEST_F(SmallGpu, ThePlanIsRefusedWithWhatFits) {
  for (const char* mebibytes : {"572", "562"}) {  // 512 of them for libraries
    set_environment("OCTET_STANDIN_MEMORY_MIB", mebibytes);
    refuses(large("run"), {"the plan takes 0.08 GiB", " GiB are free on cuda", "nvidia-smi",
                           "0.50 GiB are left to libraries", "--set ", "would take 0.0"});
    const Words change = proposal(octet(large("run")).err);
    ASSERT_GE(change.size(), 4U);
    succeed(large(std::string("run_in_") + mebibytes, change));
  }
}

TEST_F(SmallGpu, NothingFits) {
  set_environment("OCTET_STANDIN_MEMORY_MIB", "532");
  refuses(large("run"), {"the plan takes 0.08 GiB", "0.52 GiB are free on cuda", "smaller model or a larger GPU"});
}

/// A plan is no run.
TEST_F(SmallGpu, TheDryRunPlansAllTheSame) {
  set_environment("OCTET_STANDIN_MEMORY_MIB", "20");
  succeed(large("run", {"--dry-run"}));
}

}  // namespace
}  // namespace octet::test
