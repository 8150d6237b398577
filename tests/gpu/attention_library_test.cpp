// Attention where cuDNN is there but does not do it: its refusals are told, its failures are failures.
#include <set>

#include "gpu/standin_fixture.h"

namespace octet::test {
namespace {

class AttentionLibrary : public StandInTest {
 protected:
  void SetUp() override {
    StandInTest::SetUp();
    set_environment("OCTET_ATTENTION", "cudnn");
    set_environment("OCTET_LIBRARY_PATH", stand_in("attention") + ":" + stand_in("products"));
    set_environment("CUDNN_FRONTEND_CUDART_LIB_NAME", stand_in("attention") + "/libcudart.so.13");
    if (library("cuDNN", "path") != stand_in("attention") + "/libcudnn.so.9") {
      GTEST_SKIP() << "the program is built without cuDNN";
    }
  }
};

TEST_F(AttentionLibrary, ARefusalIsTold) {
  const std::string out = succeed(train_on_gpu("run"));
  const std::string device = run_json("run").at("machine").at("device");
  for (const char* what : {"own kernels for attention of ", "own kernels for its backward of ",
                           "own kernels where documents are packed"}) {
    EXPECT_TRUE(contains(out, what));
    EXPECT_TRUE(contains(device, what));
  }
}

TEST_F(AttentionLibrary, ABenchSaysWhoComputed) {
  const auto bench = json_of({"bench", "attention", OCTET_CONFIGS "/llama3_debug.toml", "--device", "cuda", "--json"});
  std::map<std::string, std::set<std::string>> computed;
  for (const auto& row : bench.at("rows")) computed[row.at("asked")].insert(row.at("by"));
  EXPECT_EQ(computed.at("library"), std::set<std::string>{"own, library refused"});
  EXPECT_EQ(computed.at("library, deterministic"), std::set<std::string>{"own, library refused"});
  EXPECT_EQ(computed.at("own kernels"), std::set<std::string>{"own kernels"});
}

/// It would refuse, and the device would say so.
TEST_F(AttentionLibrary, IsNotAskedForPackedDocuments) {
  const auto bench = json_of(
      {"bench", "attention", OCTET_CONFIGS "/llama3_debug.toml", "--device", "cuda", "--document", "16", "--json"});
  for (const auto& row : bench.at("rows")) EXPECT_EQ(row.at("document_length"), 16);
  for (const auto& contender : bench.at("contenders")) {
    EXPECT_FALSE(contains(contender.at("device").get<std::string>(), "own kernels for attention of ")) << contender;
  }
}

TEST_F(AttentionLibrary, AFailureIsNoRefusal) {
  set_environment("OCTET_STANDIN_CUDNN_STATUS", "4000");
  const Outcome outcome = octet(train_on_gpu("run"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (const char* part :
       {"octet: failed: cuDNN failed at planning attention: ", "CUDNN_STATUS_INTERNAL_ERROR", "OCTET_ATTENTION=own"}) {
    EXPECT_TRUE(contains(outcome.err, part));
  }
}

}  // namespace
}  // namespace octet::test
