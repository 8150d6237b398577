// run.json: everything one needs to know about a run to trust it, compare it and run it again.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/config.h"
#include "train/checkpoint_saver.h"
#include "train/engine.h"
#include "train/machine.h"
#include "train/recorder.h"
#include "train/run_directory.h"

namespace octet {

/// How a run ended. Losses in nats per token.
struct RunResult {
  double train_loss = 0;  ///< mean of the last steps
  std::optional<double> val_loss;
  double tokens_per_second = 0;  ///< median over steps
  double ms_per_step = 0;        ///< median over steps
  std::uint64_t fp8_codes_used = 0;
  SaveTotals saves;  ///< of checkpoints, since the run's last start
};

/// What is known before the first step.
struct RunFacts {
  std::string name;
  std::vector<std::string> command_line;
  std::string started;
  std::string binary_hash;
  MachineFacts machine;
  nlohmann::ordered_json config;
  nlohmann::ordered_json origins;
  std::uint64_t tokenizer = 0;     ///< fingerprint of the data's; 0: unknown
  nlohmann::ordered_json records;  ///< what the run keeps for comparisons; null where nothing
};

/// Throws UserError where the data are of several tokenizers, or of another than data.tokenizer.
[[nodiscard]] RunFacts gather_facts(const LoadedConfig& loaded, const std::filesystem::path& run_directory,
                                    std::vector<std::string> command_line);

/// The precision table: {"recipe", "format", "layers_fp8", "layers": [...]}.
[[nodiscard]] nlohmann::ordered_json describe_precision(const Model& model);
/// The plan and, once measured, the peak: {"planned_bytes", "measured_bytes", "categories", "saved_for_backward",
/// "checkpoint_copy_bytes"}.
[[nodiscard]] nlohmann::ordered_json describe_memory(const Engine& engine, const Config& config);
/// What is kept of each parameter and how the parameters group: {"bytes_per_parameter", "groups": [...]}.
[[nodiscard]] nlohmann::ordered_json describe_optimizer(const Engine& engine, const Config& config);
/// How many steps were replayed since the run's last start, and what one of them starts: {"enabled", "replayed_steps",
/// "launches"}.
[[nodiscard]] nlohmann::ordered_json describe_graphs(const Engine& engine);
/// {"parameters", "flops_per_token"}.
[[nodiscard]] nlohmann::ordered_json describe_model(const Model& model, std::int64_t seq_len);

/// {"gradients", "weights", "every", "files", "bytes"}: what a run keeps for comparisons, in files written by its end.
[[nodiscard]] nlohmann::ordered_json describe_records(const RecordRequest& request, const RecordPlan& plan);

[[nodiscard]] nlohmann::ordered_json describe_run(const RunFacts& facts, const std::string& status,
                                                  const Engine& engine, const Config& config,
                                                  const std::optional<RunResult>& result, bool demonstrates_fault);

/// Leaves the resolved configuration as config.toml, so that `octet generate RUN` needs no other file.
void write_config(const RunDirectory& directory, const LoadedConfig& loaded);

}  // namespace octet
