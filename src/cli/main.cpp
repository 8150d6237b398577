// octet: the command line. A user's mistake is one line and exit code 2; a failure is one line and exit code 1.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "core/error.h"
#include "core/version.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Octet trains large language models in FP8 on a CPU, from one binary.", "octet");
  app.set_version_flag("--version", fmt::format("octet {} ({})", octet::kVersion, octet::kCommit));
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of all commands");
  octet::cli::Session session{argc, argv};
  octet::cli::add_train(app, session);
  octet::cli::add_generate(app);
  octet::cli::add_report(app, session);
  octet::cli::add_tokenize(app);
  octet::cli::add_config(app);
  octet::cli::add_info(app);
  octet::cli::add_selftest(app, session);
  octet::cli::add_bench(app);
  try {
    app.parse(argc, argv);
    return session.exit_code;
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "octet: {} (octet --help lists commands and options)\n", error.what());
    return octet::cli::kExitUserError;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const octet::UserError& error) {
    fmt::print(stderr, "octet: {}\n", error.what());
    return octet::cli::kExitUserError;
  } catch (const std::exception& error) {
    fmt::print(stderr, "octet: failed: {}\n", error.what());
    return octet::cli::kExitFailure;
  }
}
