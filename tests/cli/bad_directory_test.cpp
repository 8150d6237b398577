// Run directories that are taken, no run, or cannot be written.
#include <unistd.h>

#include "cli/cli_fixture.h"

namespace octet::test {
namespace {

using BadDirectory = CliTest;

TEST_F(BadDirectory, HoldsARun) {
  succeed(train("run", set("training.steps=1")));
  refuses(train("run"), {"run already holds a run", "--resume", "another --run-dir"});
}

TEST_F(BadDirectory, HoldsSomethingElse) {
  std::filesystem::create_directory(path("thesis"));
  write("thesis/chapter.tex", "all I have");
  refuses(train("thesis"), {"thesis is not empty and holds no run", "another --run-dir"});
  refuses(train("thesis", {"--resume"}), {"thesis holds no checkpoint", "start without --resume", "--resume auto"});
  refuses(train("thesis", {"--resume", "auto"}), {"thesis is not empty and holds no run", "another --run-dir"});
}

TEST_F(BadDirectory, EmptyIsFine) {
  std::filesystem::create_directory(path("run"));
  succeed(train("run", set("training.steps=1")));
}

TEST_F(BadDirectory, BelowAFile) {
  refuses(train("text.txt/run"), {"text.txt/run", "Not a directory", "choose another path"});
}

TEST_F(BadDirectory, IsAFile) {
  refuses(train("text.txt"), {"text.txt", "another --run-dir"});
}

/// Root may write anywhere, so that the child becomes nobody.
TEST_F(BadDirectory, NotWritable) {
  const auto become_nobody = [] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(126);
  };
  std::filesystem::permissions(path(""), std::filesystem::perms(0755));
  std::filesystem::create_directory(path("locked"));
  std::filesystem::permissions(path("locked"), std::filesystem::perms(0555));
  if (octet({"--version"}, become_nobody).exit_code != 0) GTEST_SKIP() << "nobody may not run " << program();
  const Outcome outcome = octet(train("locked/run"), become_nobody);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "octet: cannot create directory locked/run: Permission denied; choose a place that this user may use, or "
            "change its permissions\n");
  EXPECT_TRUE(std::filesystem::is_empty(path("locked")));
}

}  // namespace
}  // namespace octet::test
