// octet train CONFIG: trains, resumes, or with --dry-run prints what a run would be.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/plan_text.h"
#include "cli/signals.h"
#include "core/error.h"
#include "train/model_setup.h"
#include "train/plan_record.h"
#include "train/trainer.h"

namespace octet::cli {
namespace {

struct TrainOptions {
  std::string config;
  std::vector<std::string> set;
  std::string recipe, fp8_format, device, run_directory, init_from, resume, demonstrate, shadow;
  std::string profile, record;
  std::optional<double> max_minutes;
  std::optional<std::int64_t> record_every, shadow_every;
  bool dry_run = false;
  bool json = false;
};

/// Short options are overrides like --set; they win since they come last.
std::vector<std::string> overrides_of(const TrainOptions& options) {
  std::vector<std::string> overrides = options.set;
  if (!options.recipe.empty()) overrides.push_back("precision.recipe=" + options.recipe);
  if (!options.fp8_format.empty()) overrides.push_back("precision.fp8_format=" + options.fp8_format);
  if (!options.device.empty()) overrides.push_back("runtime.device=" + options.device);
  if (!options.shadow.empty()) overrides.push_back("precision.shadow=" + options.shadow);
  if (options.shadow_every) overrides.push_back(fmt::format("precision.shadow_interval={}", *options.shadow_every));
  if (options.max_minutes) overrides.push_back(fmt::format("training.max_minutes={}", *options.max_minutes));
  return overrides;
}

std::filesystem::path run_directory_of(const TrainOptions& options) {
  if (!options.run_directory.empty()) return options.run_directory;
  return std::filesystem::path("runs") / std::filesystem::path(options.config).stem();
}

nlohmann::ordered_json plan_json(const Engine& engine, const Config& config) {
  nlohmann::ordered_json cards = nlohmann::ordered_json::array();
  const PlannedRun run = planned_run(engine);
  CapacityPlanner planner(config, run.keeps_gradients);
  for (const Card& card : kCards) cards.push_back(describe_capacity(planner.of(card)));
  return {{"model", describe_model(engine.model(), config.training.seq_len)},
          {"precision", describe_precision(engine.model())},
          {"memory", describe_memory(engine, config)},
          {"choices", describe_choices(weigh_choices(config, run))},
          {"optimizer", describe_optimizer(engine, config)},
          {"cards", cards}};
}

constexpr const char* kRecordLosses = "losses";

/// What --record and --record-every ask for. Losses need no record of their own: metrics.jsonl has them bit for bit.
RecordRequest record_request(const TrainOptions& options, std::int64_t steps) {
  const std::int64_t every = options.record_every.value_or(1);
  if (options.record_every && options.record == kRecordLosses) {
    throw UserError("--record-every {} has no effect on losses, which metrics.jsonl keeps of every step: remove it",
                    every);
  }
  if (every > steps) {
    throw UserError("--record-every {} records nothing: the run ends at step {} (training.steps)", every, steps);
  }
  const bool all = options.record == "all";
  return {all || options.record == "gradients", all || options.record == "weights", every};
}

void print_plan(const TrainOptions& options, const LoadedConfig& loaded) {
  const Config& config = loaded.config;
  auto backend = make_backend(config);
  auto model = make_model(config, *backend);
  const RecordRequest record = record_request(options, config.training.steps);
  const Engine engine(config, std::move(backend), std::move(model), record.gradients);
  if (options.json) {
    fmt::print("{}\n", plan_json(engine, config).dump(2));
  } else {
    fmt::print("{}", plan_text(engine, config, PlanDetail::full));
  }
}

constexpr const char* kResume = "yes";  // --resume with nothing behind it

Resume resume_mode(const std::string& text) {
  if (text.empty()) return Resume::never;
  return text == kResume ? Resume::must : Resume::when_there;
}

/// Runs before CLI11 asks for the configuration, which a --resume in front of it has taken.
std::string check_resume(const std::string& text) {
  if (text == kResume || text == "auto") return {};
  return fmt::format("takes nothing or \"auto\", not \"{}\": put --resume behind the configuration", text);
}

TrainRequest train_request(const TrainOptions& options, const LoadedConfig& loaded, const Session& session) {
  if (!options.init_from.empty() && options.resume == kResume) {
    throw UserError("--init-from has no effect with --resume, which goes on from a checkpoint: remove one of them");
  }
  const std::int64_t steps = loaded.config.training.steps;
  TrainRequest request{loaded, run_directory_of(options), resume_mode(options.resume),
                       std::vector<std::string>(session.argv, session.argv + session.argc),
                       !options.demonstrate.empty()};
  if (!options.profile.empty()) request.profile = parse_step_range("--profile", options.profile, steps);
  request.record = record_request(options, steps);
  if (!options.init_from.empty()) request.init_from = options.init_from;
  return request;
}

void run_training(const TrainOptions& options, const LoadedConfig& loaded, Session& session) {
  if (!options.demonstrate.empty() && options.demonstrate != "fnuz_max_448") {
    throw UserError("--demonstrate \"{}\" is unknown: the one fault it shows is fnuz_max_448", options.demonstrate);
  }
  const Config& config = loaded.config;
  Console console(config);
  catch_stop_signals();
  Trainer trainer(train_request(options, loaded, session), console, pending_stop_signal);
  const TrainOutcome outcome = trainer.train();
  const std::string directory = run_directory_of(options).string();
  if (outcome.finished) {
    fmt::print("done: {}\n", directory);
    return;
  }
  fmt::print("stopped after step {} of {}; go on with: octet train {} --run-dir {} --resume (and the same options)\n",
             outcome.steps_done, config.training.steps, options.config, directory);
  session.exit_code = outcome.signal != 0 ? 128 + outcome.signal : 0;
}

}  // namespace

void add_train(CLI::App& app, Session& session) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = app.add_subcommand("train", "Train a model from a configuration file");
  command->add_option("config", options->config, "TOML file, such as configs/llama3_quickstart.toml")->required();
  command->add_option("--set", options->set, "Override one key: --set training.steps=50 (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--recipe", options->recipe, "precision.recipe: bf16, tensorwise, rowwise, rowwise_hp_wgrad");
  command->add_option("--fp8-format", options->fp8_format, "precision.fp8_format: auto, ocp, fnuz");
  command->add_option("--device", options->device, "runtime.device: cpu, cuda or hip (the first GPU), cuda:N or hip:N");
  command->add_option("--run-dir", options->run_directory, "Directory of the run (default runs/<config's name>)");
  command->add_option("--init-from", options->init_from,
                      "Begin with the weights of a model: a directory of Hugging Face's, a run, a checkpoint");
  command
      ->add_option("--resume", options->resume,
                   "Go on from the newest checkpoint; with \"auto\" begin where there is none")
      ->expected(0, 1)
      ->default_str(kResume)
      ->check(check_resume, "");
  command->add_option("--max-minutes", options->max_minutes, "Checkpoint and stop after this many minutes");
  command->add_option("--profile", options->profile,
                      "Write RUN/profile.json, a trace of some steps: --profile steps=10-12");
  CLI::Option* record =
      command->add_option("--record", options->record, "Keep what octet compare reads, in RUN/records")
          ->check(CLI::IsMember({kRecordLosses, "gradients", "weights", "all"}));
  command->add_option("--record-every", options->record_every, "With --record: every so many steps (default 1)")
      ->check(CLI::PositiveNumber)
      ->needs(record);
  CLI::Option* shadow = command->add_option("--shadow", options->shadow,
                                            "precision.shadow: bf16 computes some steps in bf16 too and writes "
                                            "RUN/watch.jsonl on the difference, layer by layer");
  command->add_option("--shadow-every", options->shadow_every, "With --shadow: precision.shadow_interval (default 100)")
      ->needs(shadow);
  command->add_option("--demonstrate", options->demonstrate, "Train with a known fault on purpose: fnuz_max_448");
  command->add_flag("--dry-run", options->dry_run,
                    "Print parameters, FLOPs, precision table and memory plan, then stop");
  command->add_flag("--json", options->json, "With --dry-run: print JSON");
  command->callback([options, &session] {
    const LoadedConfig loaded = load_config(options->config, overrides_of(*options));
    if (options->dry_run) {
      print_plan(*options, loaded);
    } else {
      run_training(*options, loaded, session);
    }
  });
}

}  // namespace octet::cli
