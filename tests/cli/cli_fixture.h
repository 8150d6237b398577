// What tests of the command line share: a directory of their own with a little text and its shards, small runs of the
// debug model, and what a run leaves.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/octet_process.h"
#include "io/scratch.h"

namespace octet::test {

using Words = std::vector<std::string>;

/// All of `parts` one after another.
[[nodiscard]] Words join(std::initializer_list<Words> parts);

/// The contents of every file below a directory, by path; what octet's own streams were caught in apart.
[[nodiscard]] std::map<std::string, std::string> snapshot(const std::filesystem::path& directory);

class CliTest : public testing::Test {
 protected:
  /// Makes train.tok and validation.tok from a text that is the same in every test.
  void SetUp() override;

  [[nodiscard]] std::filesystem::path path(std::string_view name) const { return scratch_.path() / name; }
  void write(std::string_view name, std::string_view text) const { scratch_.write(name, text); }

  /// Runs octet to its end in the test's directory.
  [[nodiscard]] Outcome octet(const Words& arguments, const std::function<void()>& prepare = {}) const;
  /// The same, which must succeed; its standard output.
  std::string succeed(const Words& arguments) const;
  /// The same, for a command that prints JSON.
  [[nodiscard]] nlohmann::json json_of(const Words& arguments) const;
  /// Runs a command that must fail as a user's mistake: exit code 2, nothing on standard output, one line on standard
  /// error that holds all of `parts`, and every file in the test's directory as it was.
  void refuses(const Words& arguments, const Words& parts) const;

  /// The words of a training of the debug model, 6 steps unless overridden, into `run`.
  [[nodiscard]] static Words train(std::string_view run, const Words& more = {});
  /// Words that override one key: --set KEY=VALUE.
  [[nodiscard]] static Words set(const std::string& assignment) { return {"--set", assignment}; }

  /// run.json of a run.
  [[nodiscard]] nlohmann::json run_json(std::string_view run) const;
  /// Lines that a run's metrics.jsonl holds so far.
  [[nodiscard]] std::size_t metrics_lines(std::string_view run) const;
  /// What each step computed, as JSON text and so bit for bit: step, loss, gradient norm, learning rate, validation
  /// loss.
  [[nodiscard]] Words trajectory(std::string_view run) const;
  /// The checkpoints of a run that look whole, oldest first.
  [[nodiscard]] std::vector<std::filesystem::path> checkpoints(std::string_view run) const;

 private:
  ScratchDirectory scratch_;
};

}  // namespace octet::test
