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

TEST_F(BadOption, Profile) {
  const auto profile = [](const std::string& steps) { return train("run", {"--profile", steps}); };
  refuses(profile("steps=3-2"), {"--profile steps=3-2", "ends before it begins"});
  refuses(profile("steps=6-7"), {"--profile steps=6-7", "the run ends at step 6"});
  refuses(profile("steps=two"), {"--profile steps=two", "as in steps=10-12"});
}

TEST_F(BadOption, Record) {
  refuses(train("run", {"--record", "lossez"}), {"--record", "lossez", "gradients"});
  refuses(train("run", {"--record-every", "2"}), {"--record-every requires --record"});
  refuses(train("run", {"--record", "all", "--record-every", "0"}), {"--record-every", "0"});
  refuses(train("run", {"--record", "all", "--record-every", "7"}), {"--record-every 7", "the run ends at step 6"});
  refuses(train("run", {"--record", "losses", "--record-every", "2"}), {"--record-every 2", "no effect on losses"});
}

TEST_F(BadOption, Shadow) {
  refuses(train("run", {"--shadow", "fp8"}), {"precision.shadow must be none or bf16", "\"fp8\""});
  refuses(train("run", {"--shadow", "bf16"}), {"precision.shadow_interval = 100", "training.steps = 6", "no step"});
  refuses(train("run", {"--shadow", "bf16", "--shadow-every", "0"}), {"precision.shadow_interval must be 1 to"});
  refuses(train("run", {"--shadow-every", "2"}), {"--shadow-every", "--shadow"});
}

TEST_F(BadOption, ReportOfWhatIsNoRun) {
  refuses({"report", "nowhere"}, {"nowhere/run.json", "give directories in which octet train has written"});
}

}  // namespace
}  // namespace octet::test
