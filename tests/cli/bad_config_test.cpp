// Mistakes in a configuration: each is told in one line and nothing is written.
#include "cli/cli_fixture.h"

namespace octet::test {
namespace {

using BadConfig = CliTest;

TEST_F(BadConfig, UnknownKey) {
  refuses(train("run", set("training.stepz=3")), {"training.stepz", "did you mean training.steps?"});
  refuses(train("run", set("flux.capacity=3")), {"flux.capacity", "docs/configuration.md"});
}

TEST_F(BadConfig, WrongType) {
  refuses(train("run", set("training.steps=many")), {"training.steps", "expected an integer", "many"});
  refuses(train("run", set("data.shuffle=1")), {"data.shuffle", "expected true or false", "1"});
}

TEST_F(BadConfig, ImpossibleValue) {
  refuses(train("run", set("model.n_heads=5")), {"model.n_heads = 5", "model.dim = 64", "change one of them"});
  refuses(train("run", set("training.steps=-1")), {"training.steps must be 1 to", "-1"});
  refuses(train("run", set("optimizer.lr=nan")), {"optimizer.lr must be finite"});
}

TEST_F(BadConfig, BrokenTomlNamesLineAndColumn) {
  write("broken.toml", "version = 1\n[model\ndim = 64\n");
  refuses({"train", "broken.toml"}, {"broken.toml:2:7", "not valid TOML"});
  write("twice.toml", "version = 1\n[model]\ndim = 64\ndim = 32\n");
  refuses({"config", "show", "twice.toml"}, {"twice.toml:4:7"});
}

TEST_F(BadConfig, MissingFileOrKey) {
  refuses({"train", "nowhere.toml"}, {"nowhere.toml", "No such file", "check the path"});
  write("short.toml", "version = 1\n");
  refuses({"train", "short.toml"}, {"short.toml", "model.dim is missing", "--set model.dim="});
}

TEST_F(BadConfig, UnknownChoice) {
  refuses(train("run", {"--recipe", "nonsense"}), {"nonsense", "bf16 or tensorwise or rowwise or rowwise_hp_wgrad"});
  refuses(train("run", {"--fp8-format", "nonsense"}), {"nonsense", "auto or ocp or fnuz"});
  refuses(train("run", {"--device", "toaster"}), {"toaster", "the devices are cpu, cuda, cuda:N, hip and hip:N"});
}

TEST_F(BadConfig, DeviceThatThisBuildLacksNamesWhatExists) {
  refuses(train("run", {"--device", "cuda"}), {"run on the CPU"});
}

TEST_F(BadConfig, PrecisionWithoutEffect) {
  refuses(train("run", set("precision.skip=foo.*")), {"precision.skip \"foo.*\" matches no layer", "layers.0."});
  refuses(train("run", set("precision.min_size=-1")),
          {"recipe rowwise converts no layer", "layers.0.attention.wqkv", "precision.min_size = 0"});
  refuses({"train", OCTET_CONFIGS "/llama3_quickstart.toml", "--set", "precision.min_size=-1", "--set",
           "data.train=train.tok", "--set", "data.validation=validation.tok"},
          {"converts no layer", "precision.min_size = 0"});
}

TEST_F(BadConfig, MaximumOfAnotherFormat) {
  refuses(train("run", {"--fp8-format", "fnuz", "--set", "precision.fp8_max=448"}),
          {"precision.fp8_max = 448", "e4m3fnuz ends at 240", "remove the key"});
}

TEST_F(BadConfig, DemonstrationOfAnotherFormat) {
  refuses(train("run", {"--demonstrate", "fnuz_max_448"}), {"--demonstrate fnuz_max_448", "add", "--fp8-format fnuz"});
  refuses(train("run", {"--demonstrate", "smoke"}), {"smoke", "fnuz_max_448"});
}

}  // namespace
}  // namespace octet::test
