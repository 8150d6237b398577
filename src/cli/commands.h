// The commands of the octet binary: each file of this room adds one.
#pragma once

#include <CLI/CLI.hpp>

namespace octet::cli {

/// Exit codes: 0 done, 1 a failure, 2 a user's mistake, 128 + signal when interrupted.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitDifferent = 1;  ///< of octet compare, as of diff
inline constexpr int kExitUserError = 2;

/// What a command leaves for main to return.
struct Session {
  int argc = 0;
  char** argv = nullptr;
  int exit_code = 0;
};

void add_train(CLI::App& app, Session& session);
void add_info(CLI::App& app);
void add_selftest(CLI::App& app, Session& session);
void add_bench(CLI::App& app);
void add_generate(CLI::App& app);
void add_config(CLI::App& app);
void add_convert(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_chat(CLI::App& app);
void add_tokenizer(CLI::App& app);
void add_report(CLI::App& app, Session& session);
void add_compare(CLI::App& app, Session& session);
void add_checkpoint(CLI::App& app, Session& session);
void add_export(CLI::App& checkpoint);

}  // namespace octet::cli
