// Checkpoints that are damaged, of another model or of other data: refused by name, and left as they are.
#include "cli/cli_fixture.h"
#include "io/files.h"

namespace octet::test {
namespace {

class BadCheckpoint : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    succeed(train("run", set("training.steps=1")));
  }

  /// Replaces a file of the run's only checkpoint by what `change` makes of it.
  template <typename Change>
  void damage(const std::string& file, Change change) const {
    std::string bytes = read_file(checkpoints("run").at(0) / file);
    change(bytes);
    write("run/checkpoints/step-00000001/" + file, bytes);
  }

  void resume_refuses(const Words& parts, const Words& more = {}) const {
    refuses(train("run", join({{"--resume"}, more})), parts);
  }
  void generate_refuses(const Words& parts) const { refuses({"generate", "run", "--prompt", "a"}, parts); }
};

TEST_F(BadCheckpoint, TruncatedModel) {
  damage("model.safetensors", [](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  const Words parts = {"model.safetensors", "tensor", "damaged or cut short", "write it again"};
  resume_refuses(parts);
  generate_refuses(parts);
}

TEST_F(BadCheckpoint, EmptyModel) {
  damage("model.safetensors", [](std::string& bytes) { bytes.clear(); });
  resume_refuses({"model.safetensors", "damaged"});
  generate_refuses({"model.safetensors", "damaged"});
}

TEST_F(BadCheckpoint, FlippedBitNamesTheTensor) {
  damage("model.safetensors", [](std::string& bytes) { bytes.back() ^= 4; });
  const Words parts = {"model.safetensors", "tensor \"norm.weight\" does not match its checksum"};
  resume_refuses(parts);
  generate_refuses(parts);
}

TEST_F(BadCheckpoint, FlippedBitInAMomentStopsResumeAlone) {
  damage("optimizer.safetensors", [](std::string& bytes) { bytes.back() ^= 4; });
  resume_refuses({"optimizer.safetensors", "tensor \"v.norm.weight\" does not match its checksum"});
  succeed({"generate", "run", "--prompt", "a", "--tokens", "1"});
}

TEST_F(BadCheckpoint, FlippedBitInTheState) {
  damage("state.json", [](std::string& bytes) { bytes[bytes.find("\"next\": ") + 8] ^= 1; });
  resume_refuses({"state.json is damaged", "checksum"});
  generate_refuses({"state.json is damaged", "checksum"});
}

TEST_F(BadCheckpoint, MissingFile) {
  std::filesystem::remove(checkpoints("run").at(0) / "optimizer.safetensors");
  resume_refuses({"optimizer.safetensors", "No such file"});
}

TEST_F(BadCheckpoint, AnotherModelListsTheFirstDifferences) {
  resume_refuses({"step-00000001 is a checkpoint of another model", "dim is 64 in the checkpoint and 128 here",
                  "n_layers is 2 in the checkpoint and 3 here"},
                 {"--set", "model.dim=128", "--set", "model.n_layers=3"});
}

TEST_F(BadCheckpoint, AnotherOrderOfTheData) {
  resume_refuses({"trained on another order of the data", "seed is 1 in the checkpoint and 2 here"},
                 set("data.seed=2"));
  resume_refuses({"trained on another order of the data", "shuffle is true in the checkpoint and false here"},
                 set("data.shuffle=false"));
  resume_refuses({"trained on another order of the data", "seq_len is 64 in the checkpoint and 32 here"},
                 set("training.seq_len=32"));
}

TEST_F(BadCheckpoint, FinishedRun) {
  resume_refuses({"run has trained all its 1 steps", "raise training.steps"}, set("training.steps=1"));
}

}  // namespace
}  // namespace octet::test
