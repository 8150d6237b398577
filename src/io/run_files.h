// What a training run leaves in its directory: run.json (what was run, where, and how it ended), metrics.jsonl (one
// line a step) and watch.jsonl (one line a watched step), read strictly into a RunRecord; and how the lines are
// written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::io {

enum class RunStatus { running, finished, interrupted, failed };

/// The word that run.json uses for `status`.
[[nodiscard]] std::string_view to_string(RunStatus status);

/// A checkpoint that was saved: how long that took, and for how long of it training stood still.
struct SavedCheckpoint {
  std::int64_t step = 0;
  double milliseconds = 0;
  double stall_milliseconds = 0;

  bool operator==(const SavedCheckpoint&) const = default;
};

/// One line of metrics.jsonl. Losses are in nats per token; a null in the file (JSON has no NaN) is NaN here.
struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  double tokens_per_second = 0;
  double milliseconds = 0;
  std::int64_t memory_bytes = 0;
  std::optional<double> val_loss;  // only at validated steps
  // of the tokens of the step, how many times the mean the busiest expert got, in the layer where that is most; only of
  // a model with experts
  std::optional<double> worst_expert_load = {};
  std::optional<double> balance_loss = {};  // of experts, with its weight; only where it has one
  std::optional<double> mtp_loss = {};      // of further tokens, the mean over their depths; only where there are any
  bool skipped = false;                     // the update was left out because of a NaN or inf
  std::optional<SavedCheckpoint> checkpoint = {};  // that was completed since the line before
};

/// A number for JSON: null where it is not finite.
[[nodiscard]] nlohmann::ordered_json number_or_null(double value);

/// A line of metrics.jsonl without its end. Finite numbers come back from it with the same bits.
[[nodiscard]] std::string metrics_line(const StepMetrics& step);

/// What a cast did to its values: fractions of them, in [0, 1].
struct CastShares {
  double saturated = 0;    // clipped to the format's largest value
  double underflowed = 0;  // not zero, but with a code that is

  bool operator==(const CastShares&) const = default;
};

/// How far a layer's results are from those in bf16, as signal to quantization noise ratios in dB: infinite where both
/// are equal, minus infinity where those in bf16 alone are zero, NaN where either holds a NaN or an infinity.
struct LayerNumerics {
  std::string layer;
  double output_sqnr_db = 0;
  double input_gradient_sqnr_db = 0;
  double weight_gradient_sqnr_db = 0;
  std::optional<CastShares> input, gradient, weight;  // absent in a layer that casts nothing
};

/// One line of watch.jsonl. Losses in nats per token of the watched micro-batch, NaN where the file has null.
struct WatchedStep {
  std::int64_t step = 0;
  double seconds = 0;  // that the watch took beyond the step
  double loss_bf16 = 0;
  double loss = 0;
  std::vector<LayerNumerics> layers;
};

/// A line of watch.jsonl without its end.
[[nodiscard]] std::string watch_line(const WatchedStep& watched);

/// A configuration value under its dotted key, written as JSON (strings without quotes), and where it was set.
struct ConfigValue {
  std::string key;
  std::string value;
  std::string origin;  // "configs/x.toml:12"; empty where the run names none
};

struct Machine {
  std::string cpu;
  std::string isa;
  std::int64_t cores = 0;
  std::int64_t memory_bytes = 0;

  bool operator==(const Machine&) const = default;
};

struct Library {
  std::string name;
  std::string version;

  bool operator==(const Library&) const = default;
};

/// The precision of one linear layer's products: an [m, k] input times a [k, n] weight.
struct LayerPrecision {
  std::string layer;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string precision;
  std::string reason;
};

struct PrecisionPlan {
  std::string recipe;  // "bf16" for the runs that the others are compared with
  std::string format;  // FP8 format; empty where the recipe uses none
  std::int64_t layers_fp8 = 0;
  std::vector<LayerPrecision> layers;
};

struct MemoryCategory {
  std::string name;
  std::int64_t bytes = 0;
};

struct MemoryUse {
  std::int64_t planned_bytes = 0;
  std::optional<std::int64_t> measured_bytes;
  std::vector<MemoryCategory> categories;
};

/// How a run ended. Losses are in nats per token, NaN where the file has null.
struct RunResult {
  double train_loss = 0;
  std::optional<double> val_loss;  // absent where the run does not validate
  double tokens_per_second = 0;
  double ms_per_step = 0;
  std::int64_t fp8_codes_used = 0;  // 0 means that nothing was quantised
};

/// A fault that a run shows on purpose. Shares are fractions of all codes, in [0, 1].
struct Demonstration {
  std::string fault;
  double saturated_share = 0;
  double nan_share_unsaturated = 0;
  std::string refused_message;  // what octet says when it is asked for this without the demonstration
};

struct Sample {
  std::string prompt;
  std::string text;
};

struct RunRecord {
  std::filesystem::path directory;
  std::string name;
  RunStatus status = RunStatus::running;
  std::vector<std::string> command_line;
  std::string commit;
  std::string binary_hash;
  std::string started;   // ISO 8601
  std::string finished;  // ISO 8601; empty where the run has not ended
  std::vector<ConfigValue> config;
  Machine machine;
  std::vector<Library> libraries;
  std::int64_t parameters = 0;
  double flops_per_token = 0;
  PrecisionPlan precision;
  MemoryUse memory;
  std::optional<RunResult> result;  // always present in a finished run
  std::optional<Demonstration> demonstration;
  std::optional<Sample> sample;
  std::vector<StepMetrics> metrics;     // steps strictly increasing
  std::int64_t half_written_lines = 0;  // 1 where the last line of metrics.jsonl was cut short by a kill
  std::int64_t superseded_lines = 0;    // lines of steps that a resumed run went through again
  std::vector<WatchedStep> watched;     // steps strictly increasing; empty where nothing was watched
};

/// Reads run.json, metrics.jsonl and, where there is one, watch.jsonl of `directory`. Fields that version 1 does not
/// name are ignored. Throws UserError naming file, line and field where one is missing, of the wrong type or out of
/// range.
[[nodiscard]] RunRecord read_run(const std::filesystem::path& directory);

/// The same from text already in memory; `directory` is kept and named in errors, not read.
[[nodiscard]] RunRecord parse_run(const std::filesystem::path& directory, std::string_view run_json,
                                  std::string_view metrics_jsonl, std::string_view watch_jsonl = {});

}  // namespace octet::io
