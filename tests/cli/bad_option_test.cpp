// Mistakes on the command line itself.
#include "cli/cli_fixture.h"

namespace octet::test {
namespace {

using BadOption = CliTest;

TEST_F(BadOption, UnknownCommand) {
  refuses({"trains"}, {"unknown command trains", "did you mean train?", "octet --help"});
  refuses({"frobnicate"}, {"unknown command frobnicate", "octet --help"});
  refuses({"config", "shwo"}, {"unknown command shwo", "octet --help"});
  refuses({}, {"subcommand is required", "octet --help"});
}

TEST_F(BadOption, UnknownOption) {
  refuses(train("run", {"--stepz", "3"}), {"--stepz", "octet --help"});
  refuses({"train", "--stepz"}, {"unknown option --stepz", "octet --help"});
}

TEST_F(BadOption, MissingArgument) {
  refuses({"train"}, {"config is required", "octet --help"});
  refuses({"generate", "run"}, {"--prompt is required", "octet --help"});
}

TEST_F(BadOption, ResumeTakesNothingOrAuto) {
  refuses(train("run", {"--resume", "always"}), {"--resume", "always", "nothing or \"auto\""});
  refuses({"train", "--resume", OCTET_CONFIGS "/llama3_debug.toml", "--run-dir", "run"},
          {"llama3_debug.toml", "put --resume behind the configuration"});
}

TEST_F(BadOption, MaxMinutes) {
  refuses(train("run", {"--max-minutes", "soon"}), {"--max-minutes", "soon"});
  refuses(train("run", {"--max-minutes", "-1"}), {"training.max_minutes must be at least 0", "-1"});
}

TEST_F(BadOption, Shadow) {
  refuses(train("run", {"--shadow", "fp8"}), {"precision.shadow must be none or bf16", "\"fp8\""});
  refuses(train("run", {"--shadow", "bf16"}), {"precision.shadow_interval = 100", "training.steps = 6", "no step"});
  refuses(train("run", {"--shadow", "bf16", "--shadow-every", "0"}), {"precision.shadow_interval must be 1 to"});
  refuses(train("run", {"--shadow-every", "2"}), {"--shadow-every", "--shadow"});
}

TEST_F(BadOption, Generate) {
  refuses({"generate", "nowhere", "--prompt", "a"}, {"nowhere", "check the path"});
  succeed(train("run", set("training.steps=1")));
  refuses({"generate", "run", "--prompt", ""}, {"--prompt is empty", "give the text"});
  refuses({"generate", "run", "--prompt", "a", "--tokens", "0"}, {"--tokens", "0"});
  refuses({"generate", "run", "--prompt", "a", "--temperature", "-1"}, {"--temperature", "-1"});
}

TEST_F(BadOption, ReportOfWhatIsNoRun) {
  refuses({"report", "nowhere"}, {"nowhere/run.json", "give directories in which octet train has written"});
}

}  // namespace
}  // namespace octet::test
