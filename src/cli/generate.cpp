// octet generate RUN --prompt "...": continues a text with a trained model.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/error.h"
#include "io/files.h"
#include "train/generator.h"

namespace octet::cli {
namespace {

struct GenerateOptions {
  std::filesystem::path run;
  std::string prompt;
  SamplingOptions sampling;
  bool record = false;
  bool json = false;
};

/// Puts the sample into run.json, from where the report takes it.
void record_sample(const GenerateOptions& options, const std::string& text) {
  const auto path = options.run / "run.json";
  auto run = nlohmann::ordered_json::parse(read_file(path), nullptr, false);
  if (!run.is_object()) throw UserError("{} is damaged: it is no JSON object", path.string());
  run["sample"] = {{"prompt", options.prompt}, {"text", text}};
  write_file_atomically(path, run.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void run(const GenerateOptions& options) {
  Generator generator(options.run);
  const std::string text = generator.generate(options.prompt, options.sampling, [&](std::string_view piece) {
    if (options.json) return;
    fmt::print("{}", piece);
    std::fflush(stdout);
  });
  if (options.json) {
    const nlohmann::ordered_json json = {{"prompt", options.prompt}, {"text", text}, {"seed", options.sampling.seed}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("\n");
  }
  if (options.record) record_sample(options, text);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue a text with a trained run's newest checkpoint");
  command->add_option("run", options->run, "Run directory")->required();
  command->add_option("--prompt", options->prompt, "Text to continue")->required();
  command->add_option("--tokens", options->sampling.tokens, "Tokens to write (default 300)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--temperature", options->sampling.temperature, "0 takes the likeliest token (default 0.8)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--top-k", options->sampling.top_k, "Consider only the likeliest k tokens, 0 = all (default 40)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seed", options->sampling.seed, "Seed of the draw (default 1)");
  command->add_flag("--record", options->record, "Keep the text in run.json for the report");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace octet::cli
