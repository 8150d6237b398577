// Checkpoints as octet checkpoint sees them: every kind of damage is a fault of its own, and named.
#include "train/checkpoint_verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "io/scratch.h"
#include "train/checkpoint.h"
#include "train/small_deepseek_run.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CheckpointVerifyTest : public testing::Test {
 protected:
  CheckpointVerifyTest() { save(config_, 3); }

  void save(const Config& config, std::int64_t step) const {
    const Engine engine = small_engine(config);
    save_checkpoint(run_, engine.backend().device(), engine.model().parameters(), config,
                    {step, position_in_data({4, 7}), 2.5});
  }
  [[nodiscard]] fs::path saved(std::string_view name = "step-00000003") const { return run_ / name; }
  [[nodiscard]] std::vector<std::string> faults() const { return verify_checkpoint(saved()).faults; }

  /// Writes a file of the checkpoint again with one tensor changed by `change`, which may empty its name to drop it.
  template <typename Change>
  void rewrite(std::string_view name, std::string_view tensor, Change change) const {
    const SafetensorsFile file = SafetensorsFile::open(saved() / name);
    std::vector<FileTensor> tensors;
    for (FileTensor copy : file.tensors()) {
      if (copy.name == tensor) change(copy);
      if (!copy.name.empty()) tensors.push_back(std::move(copy));
    }
    write_safetensors(saved() / name, tensors);
  }
  template <typename Change>
  void damage(std::string_view name, Change change) const {
    std::string bytes = read_file(saved() / name);
    change(bytes);
    std::ofstream(saved() / name, std::ios::binary) << bytes;
  }

  ScratchDirectory directory_;
  fs::path run_ = directory_.path() / "checkpoints";
  Config config_ = small_config().config;
};

TEST_F(CheckpointVerifyTest, AGoodOneHasNoFaults) {
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  const VerifiedCheckpoint verified = verify_checkpoint(saved(), [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GT(done, last);
    last = done;
    total = of;
  });
  EXPECT_THAT(verified.faults, ElementsAre());
  EXPECT_EQ(verified.tensors, 3 * 21);  // nine in each of two blocks, embedding, last norm, head; and two moments each
  EXPECT_EQ(last, total);
  EXPECT_EQ(verified.bytes, total);
}

TEST_F(CheckpointVerifyTest, SoHasOneOfExpertsInBf16) {
  save(small_deepseek_config({"optimizer.parameters=bf16", "optimizer.moments=bf16"}).config, 3);
  EXPECT_THAT(faults(), ElementsAre());
}

TEST_F(CheckpointVerifyTest, EveryFaultIsNamed) {
  damage(kModelFile, [](std::string& bytes) { bytes.back() ^= 4; });
  damage(kOptimizerFile, [](std::string& bytes) { bytes[bytes.size() - 5000] ^= 4; });
  damage(kOptimizerFile, [](std::string& bytes) { bytes.back() ^= 1; });
  directory_.write("checkpoints/step-00000003/notes.txt", "mine");
  EXPECT_THAT(faults(), ElementsAre(AllOf(HasSubstr("model.safetensors"), HasSubstr("does not match its checksum")),
                                    AllOf(HasSubstr("optimizer.safetensors"), HasSubstr("does not match")),
                                    AllOf(HasSubstr("optimizer.safetensors"), HasSubstr("v.norm.weight")),
                                    HasSubstr("notes.txt: a checkpoint holds no such file")));
}

TEST_F(CheckpointVerifyTest, TruncatedFiles) {
  damage(kModelFile, [](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  damage(kOptimizerFile, [](std::string& bytes) { bytes.clear(); });
  EXPECT_THAT(faults(), ElementsAre(AllOf(HasSubstr("model.safetensors"), HasSubstr("damaged or cut short")),
                                    AllOf(HasSubstr("optimizer.safetensors"), HasSubstr("hold no header"))));
}

TEST_F(CheckpointVerifyTest, MissingFiles) {
  fs::remove(saved() / kOptimizerFile);
  fs::remove(saved() / kStateFile);
  EXPECT_THAT(faults(), ElementsAre(AllOf(HasSubstr("optimizer.safetensors"), HasSubstr("No such file")),
                                    AllOf(HasSubstr("state.json"), HasSubstr("No such file"))));
}

TEST_F(CheckpointVerifyTest, TensorsThatAreNotTheModels) {
  rewrite(kModelFile, "norm.weight", [](FileTensor& tensor) { tensor.shape = {2, 16}; });
  rewrite(kModelFile, "output.weight", [](FileTensor& tensor) { tensor.name = "head.weight"; });
  rewrite(kOptimizerFile, "m.norm.weight", [](FileTensor& tensor) { tensor.dtype = FileDType::i32; });
  rewrite(kOptimizerFile, "v.norm.weight", [](FileTensor& tensor) { tensor.name.clear(); });
  EXPECT_THAT(faults(),
              testing::UnorderedElementsAre("model.safetensors: tensor \"norm.weight\" is [2, 16], the model has [32]",
                                            "model.safetensors: tensor \"output.weight\" is missing",
                                            "model.safetensors: the model has no tensor \"head.weight\"",
                                            "optimizer.safetensors: tensor \"m.norm.weight\" is I32, not F32 or BF16",
                                            "optimizer.safetensors: tensor \"v.norm.weight\" is missing"));
}

TEST_F(CheckpointVerifyTest, AnotherStepThanItsName) {
  fs::rename(saved(), saved("step-00000004"));
  EXPECT_THAT(verify_checkpoint(saved("step-00000004")).faults,
              ElementsAre("state.json: it is of step 3, its directory is step-00000004"));
}

/// state.json of another model, its checksum right.
TEST_F(CheckpointVerifyTest, AnImpossibleModel) {
  const auto fault_of = [&](const char* key, const nlohmann::json& value) {
    auto state = nlohmann::json::parse(checkpoint_state_text(config_, {3, position_in_data({4, 7})}));
    state.erase("checksum");
    state["model"][key] = value;
    const std::string text = state.dump();
    state["checksum"] = fmt::format("{:016x}", checksum(std::as_bytes(std::span(text))));
    directory_.write("checkpoints/step-00000003/state.json", state.dump());
    const auto found = faults();
    return found.size() == 1 ? found.front() : fmt::format("{} faults", found.size());
  };
  EXPECT_THAT(fault_of("dimension", 64), HasSubstr("this octet knows no model.dimension"));
  EXPECT_THAT(fault_of("dim", 32.5), HasSubstr("model.dim is 32.5, not an integer"));
  EXPECT_THAT(fault_of("dim", "32"), HasSubstr("model.dim is \"32\", not an integer"));
  EXPECT_THAT(fault_of("dim", std::uint64_t{1} << 63), HasSubstr("model.dim"));
  EXPECT_THAT(fault_of("n_heads", 3), HasSubstr("model.n_heads = 3 (default) does not divide model.dim"));
  EXPECT_THAT(fault_of("family", "gpt"), HasSubstr("model.family"));
  EXPECT_THAT(fault_of("rope_scaling", 2), HasSubstr("model.rope_scaling"));
}

/// Whatever becomes of a file, verification ends with faults and nothing else. The model and its moments are small.
TEST_F(CheckpointVerifyTest, NoDamageToTheStateGoesUnnoticed) {
  const std::string good = read_file(saved() / kStateFile);
  for (std::size_t i = 0; i < good.size(); i += 29) {
    damage(kStateFile, [&](std::string& bytes) { bytes = good.substr(0, i); });
    EXPECT_FALSE(faults().empty()) << i;
  }
}

TEST_F(CheckpointVerifyTest, ListsWholeAndPartialOnes) {
  save(config_, 12);
  fs::create_directory(saved("step-00000020.partial"));
  directory_.write("checkpoints/step-00000020.partial/model.safetensors", "half");
  fs::create_directory(saved("notes"));
  directory_.write("checkpoints/step-00000012/state.json", "{");
  for (const fs::path& path : {run_, directory_.path(), fs::path(run_.string() + "/")}) {
    const std::vector<CheckpointInfo> infos = list_checkpoint_infos(path);
    ASSERT_EQ(infos.size(), 3U) << path;
    EXPECT_EQ(infos[0].step, 3);
    EXPECT_TRUE(infos[0].whole);
    EXPECT_EQ(infos[0].val_loss, 2.5);
    EXPECT_EQ(infos[0].dtype, "F32");
    const Engine engine = small_engine(config_);
    EXPECT_EQ(infos[0].parameters, engine.model().parameters().count());
    EXPECT_GT(infos[0].bytes, static_cast<std::uint64_t>(infos[0].parameters) * 12);
    EXPECT_GT(infos[0].written, 1'600'000'000);
    EXPECT_THAT(infos[1].problem, HasSubstr("state.json is damaged"));
    EXPECT_EQ(infos[1].step, 12);
    EXPECT_FALSE(infos[2].whole);
    EXPECT_EQ(infos[2].step, 20);
    EXPECT_EQ(infos[2].bytes, 4U);
  }
  EXPECT_EQ(list_checkpoint_infos(saved()).size(), 1U);
  EXPECT_THAT(find_checkpoints(run_), ElementsAre(saved(), saved("step-00000012")));
}

TEST_F(CheckpointVerifyTest, PlacesThatHoldNone) {
  const auto refusal = [](const fs::path& path) { return user_error([&] { (void)find_checkpoints(path); }); };
  const fs::path empty = directory_.path() / "empty";
  fs::create_directories(empty / "data");
  EXPECT_THAT(refusal(empty), HasSubstr("empty holds no checkpoints: name the directory of a run"));
  EXPECT_THAT(refusal(directory_.path() / "nowhere"), HasSubstr("there is no"));
  EXPECT_THAT(refusal(saved() / kStateFile), HasSubstr("is a file"));
  fs::create_directory(empty / "step-00000001.partial");
  EXPECT_THAT(refusal(empty), HasSubstr("holds no whole checkpoint"));
}

}  // namespace
}  // namespace octet::test
