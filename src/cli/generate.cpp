// octet generate MODEL --prompt "...": continues texts with a trained model.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/plan_text.h"
#include "core/error.h"
#include "io/files.h"
#include "train/generator.h"
#include "train/prompts.h"

namespace octet::cli {
namespace {

using nlohmann::ordered_json;

struct GenerateOptions {
  std::filesystem::path model;
  std::string prompt;
  std::filesystem::path prompts;
  std::string weights;
  GeneratorOptions generator;
  GenerationOptions generation;
  bool plan_only = false;
  bool record = false;
  bool json = false;
};

std::string json_text(const ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

/// Puts the sample into run.json, from where the report takes it.
void record_sample(const GenerateOptions& options, const std::string& text) {
  const auto path = options.model / "run.json";
  auto run = ordered_json::parse(read_file(path), nullptr, false);
  if (!run.is_object()) throw UserError("{} is damaged: it is no JSON object", path.string());
  run["sample"] = {{"prompt", options.prompt}, {"text", text}};
  write_file_atomically(path, json_text(run, 2));
}

ordered_json pass_json(std::int64_t tokens, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  return {{"tokens", tokens}, {"seconds", seconds}, {"tokens_per_second", rate}};
}

ordered_json generation_json(const std::string& prompt, const Generation& made, std::uint64_t seed,
                             std::size_t memory_bytes) {
  return {{"prompt", prompt},
          {"text", prompt + made.text},
          {"continuation", made.text},
          {"finish_reason", made.finish == FinishReason::stop ? "stop" : "length"},
          {"seed", seed},
          {"tokens", made.tokens},
          {"prefill", pass_json(made.prompt_tokens, made.prefill_seconds)},
          {"decode", pass_json(made.steps, made.decode_seconds)},
          {"memory_bytes", memory_bytes}};
}

/// What it takes, by class; keys and values are the part of activations that grows with the context.
std::string memory_text(const MemoryPlan& plan) {
  const auto bytes_of = [](std::size_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  std::string text = fmt::format("memory      {}\n", bytes_of(plan.arena_bytes));
  for (const auto& [kind, bytes] : plan.at_peak())
    text += fmt::format("            {} {}\n", bytes_of(bytes), name(kind));
  std::size_t caches = 0;
  for (const PlannedPiece& piece : plan.persistent) {
    if (piece.name.ends_with(".cache_k") || piece.name.ends_with(".cache_v")) caches += piece.bytes;
  }
  return text + fmt::format("            of the activations, {} keys and values\n", bytes_of(caches));
}

std::vector<std::string> prompts_of(const GenerateOptions& options) {
  if (!options.prompts.empty()) return parse_prompts(read_file(options.prompts), options.prompts);
  if (options.prompt.empty()) throw UserError("--prompt is empty: give the text to continue");
  return {options.prompt};
}

void check_options(const GenerateOptions& options) {
  if (!std::isfinite(options.generation.sampling.temperature)) throw UserError("--temperature must be a finite number");
  for (const std::string& stop : options.generation.stops) {
    if (stop.empty()) throw UserError("--stop is empty: give the text to stop before");
  }
}

void run(GenerateOptions options) {
  check_options(options);
  const std::vector<std::string> prompts = prompts_of(options);
  if (options.weights == "bf16") options.generator.weights = WeightsIn::bf16;
  if (options.weights == "fp8") options.generator.weights = WeightsIn::fp8;
  Generator generator(options.model, options.generator);
  const MemoryPlan& plan = generator.plan(prompts, options.generation.max_tokens);
  if (options.plan_only) return fmt::print("{}", memory_text(plan));
  generator.load();
  const auto show = [&](std::string_view piece) {
    if (options.json) return;
    fmt::print("{}", piece);
    std::fflush(stdout);
  };
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    show(prompts[i]);
    const Generation made = generator.generate(i, options.generation, show);
    show(i + 1 < prompts.size() ? "\n\n" : "\n");
    if (options.json) {
      const auto json = generation_json(prompts[i], made, options.generation.sampling.seed, plan.arena_bytes);
      fmt::print("{}", json_text(json));
    }
    if (options.record) record_sample(options, prompts[i] + made.text);
  }
}

void add_sampling_options(CLI::App& command, SamplingOptions& sampling) {
  command.add_option("--temperature", sampling.temperature, "0 takes the likeliest token (default 0.8)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--top-k", sampling.top_k, "Consider only the likeliest k tokens, 0 = all (default 40)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--top-p", sampling.top_p, "Then only the likeliest that come to this probability (default 1)")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--min-p", sampling.min_p,
                  "Then only those at least so many times as likely as the first (default 0)")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--seed", sampling.seed, "Seed of the draw (default 1)");
}

void add_model_options(CLI::App& command, GenerateOptions& options) {
  command.add_option("--device", options.generator.device,
                     "runtime.device: cpu, cuda or hip (the first GPU), cuda:N or hip:N");
  command.add_option("--weights", options.weights, "Compute in bf16, or in fp8 (default: as the model trained)")
      ->check(CLI::IsMember({"bf16", "fp8"}));
  command.add_option("--tokenizer", options.generator.tokenizer,
                     "Tokenizer (default: the file beside the model, or bytes)");
  command.add_option("--begin-token", options.generator.begin_token, "Special token to put before each prompt");
  command.add_option("--end-token", options.generator.end_tokens, "Special token that ends a text (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Continue texts with a trained model");
  command->add_option("model", options->model, "Directory of a run, a checkpoint or a model")->required();
  CLI::Option* prompt = command->add_option("--prompt", options->prompt, "Text to continue");
  CLI::Option* prompts =
      command->add_option("--prompts", options->prompts, "File of texts to continue: one a line, or JSONL")
          ->excludes(prompt);
  command->add_option("--max-tokens,--tokens", options->generation.max_tokens, "Tokens to write (default 300)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--stop", options->generation.stops, "Text to stop before (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  add_sampling_options(*command, options->generation.sampling);
  add_model_options(*command, *options);
  command->add_flag("--plan", options->plan_only, "Print what memory it takes, and stop");
  command->add_flag("--record", options->record, "Keep the text in run.json for the report")->needs(prompt);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, prompt, prompts] {
    if (prompt->count() + prompts->count() == 0) throw CLI::RequiredError("--prompt");
    run(*options);
  });
}

}  // namespace octet::cli
