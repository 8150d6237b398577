// octet: the command line. A user's mistake is one line and exit code 2; a failure is one line and exit code 1.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/error.h"
#include "core/version.h"
#include "io/text.h"

namespace {

/// What is wrong with a command line. Where CLI11 misses something, a word that it could not place is the likely cause.
std::string describe(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const std::vector<std::string> words = command->remaining();
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr || words.empty()) return error.what();
  const std::string& word = words.front();
  if (word.starts_with('-')) return fmt::format("unknown option {}", octet::printable(word));
  std::vector<std::string> names;
  for (const CLI::App* known : command->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(known->get_name());
  }
  const auto nearest = octet::nearest_name(word, std::vector<std::string_view>(names.begin(), names.end()));
  return fmt::format("unknown command {}{}", octet::printable(word),
                     nearest ? fmt::format("; did you mean {}?", *nearest) : "");
}

int run(int argc, char** argv) {
  CLI::App app("Octet trains large language models in FP8 on a CPU, from one binary.", "octet");
  app.set_version_flag("--version", fmt::format("octet {} ({})", octet::kVersion, octet::kCommit));
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of all commands");
  octet::cli::Session session{argc, argv};
  octet::cli::add_train(app, session);
  octet::cli::add_generate(app);
  octet::cli::add_report(app, session);
  octet::cli::add_compare(app, session);
  octet::cli::add_checkpoint(app, session);
  octet::cli::add_convert(app);
  octet::cli::add_tokenize(app);
  octet::cli::add_chat(app);
  octet::cli::add_tokenizer(app);
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
    fmt::print(stderr, "octet: {} (octet --help lists commands and options)\n", describe(app, error));
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
