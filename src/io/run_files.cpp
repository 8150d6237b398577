// Reads run.json, metrics.jsonl and watch.jsonl: every field is checked for presence, type and range where it is read.
// Writes the lines of the latter two.
#include "io/run_files.h"

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"

namespace octet::io {
namespace {

using Json = nlohmann::ordered_json;  // keeps the order in which the run wrote its configuration

constexpr int kMaxDepth = 32;
constexpr const char* kWatchFile = "watch.jsonl";
constexpr std::string_view kRemedy = "train this run again or leave it out of the report";
constexpr std::array<std::pair<std::string_view, double>, 3> kDecibelWords{
    {{"equal", std::numeric_limits<double>::infinity()},
     {"no_signal", -std::numeric_limits<double>::infinity()},
     {"not_finite", std::numeric_limits<double>::quiet_NaN()}}};
constexpr std::array<std::pair<std::string_view, RunStatus>, 4> kStatusNames{{{"running", RunStatus::running},
                                                                              {"finished", RunStatus::finished},
                                                                              {"interrupted", RunStatus::interrupted},
                                                                              {"failed", RunStatus::failed}}};

/// Parses `text`, refusing what nlohmann lets pass: deep nesting (we recurse over it) and a key given twice.
Json parse_strictly(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) throw UserError("{}: nested deeper than {} levels; {}", file, kMaxDepth, kRemedy);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw UserError("{}: field \"{}\" is given twice; {}", file, parsed.get<std::string>(), kRemedy);
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    throw UserError("{}: not valid JSON at byte {}; {}", file, error.byte, kRemedy);
  } catch (const Json::exception&) {
    throw UserError("{}: holds a number too large for a double; {}", file, kRemedy);
  }
}

/// A JSON object that knows its place in the file, so that every complaint names file and field.
class Fields {
 public:
  Fields(const Json& value, std::string file, std::string path)
      : value_(value), file_(std::move(file)), path_(std::move(path)) {
    if (!value_.is_object()) {
      throw UserError("{}: {} must be an object; {}", file_, path_.empty() ? "the content" : path_, kRemedy);
    }
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
    throw UserError("{}: field {} {}; {}", file_, place(key), what, kRemedy);
  }

  /// True where the field is there and not null.
  [[nodiscard]] bool has(std::string_view key) const {
    const auto found = value_.find(key);
    return found != value_.end() && !found->is_null();
  }

  /// True where the field is there, null or not.
  [[nodiscard]] bool contains(std::string_view key) const { return value_.contains(key); }

  [[nodiscard]] std::string text(std::string_view key) const {
    const Json& value = get(key);
    if (!value.is_string()) refuse(key, "must be a string");
    return value.get<std::string>();
  }

  [[nodiscard]] std::string text_or_empty(std::string_view key) const { return has(key) ? text(key) : std::string(); }

  /// A count, a size or a step: a whole number from 0 on.
  [[nodiscard]] std::int64_t count(std::string_view key) const {
    const Json& value = get(key);
    const bool fits = value.is_number_unsigned() &&
                      value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (!fits) refuse(key, "must be a whole number, not negative, below 2^63");
    return value.get<std::int64_t>();
  }

  [[nodiscard]] double number(std::string_view key) const {
    const Json& value = get(key);
    if (!value.is_number()) refuse(key, "must be a number");
    return value.get<double>();
  }

  [[nodiscard]] double not_negative(std::string_view key) const {
    const double value = number(key);
    if (value < 0) refuse(key, "must not be negative");
    return value;
  }

  /// A fraction in [0, 1].
  [[nodiscard]] double share(std::string_view key) const {
    const double value = number(key);
    if (value < 0 || value > 1) refuse(key, "must lie between 0 and 1");
    return value;
  }

  /// A number that training may drive to NaN, which the file holds as null.
  [[nodiscard]] double number_or_nan(std::string_view key) const {
    if (contains(key) && !has(key)) return std::numeric_limits<double>::quiet_NaN();
    return number(key);
  }

  /// False where the field is absent.
  [[nodiscard]] bool flag(std::string_view key) const {
    if (!contains(key)) return false;
    if (!get(key).is_boolean()) refuse(key, "must be true or false");
    return get(key).get<bool>();
  }

  /// A number, or the word for one that JSON lacks.
  [[nodiscard]] double decibels(std::string_view key) const {
    if (get(key).is_number()) return number(key);
    for (const auto& [word, value] : kDecibelWords) {
      if (get(key) == word) return value;
    }
    refuse(key, "must be a number, \"equal\", \"no_signal\" or \"not_finite\"");
  }

  [[nodiscard]] Fields object(std::string_view key) const { return {get(key), file_, place(key)}; }

  [[nodiscard]] Fields element(std::string_view key, std::size_t index) const {
    return {array(key)[index], file_, fmt::format("{}[{}]", place(key), index)};
  }

  [[nodiscard]] const Json& array(std::string_view key) const {
    const Json& value = get(key);
    if (!value.is_array()) refuse(key, "must be an array");
    return value;
  }

  [[nodiscard]] const Json& json() const { return value_; }

 private:
  [[nodiscard]] const Json& get(std::string_view key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) refuse(key, "is missing");
    return *found;
  }

  [[nodiscard]] std::string place(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  const Json& value_;
  std::string file_;
  std::string path_;
};

RunStatus read_status(const Fields& run) {
  const std::string word = run.text("status");
  for (const auto& [name, status] : kStatusNames) {
    if (word == name) return status;
  }
  run.refuse("status", "must be running, finished, interrupted or failed");
}

std::vector<std::string> read_command_line(const Fields& run) {
  std::vector<std::string> words;
  for (const Json& word : run.array("command_line")) {
    if (!word.is_string()) run.refuse("command_line", "must hold strings only");
    words.push_back(word.get<std::string>());
  }
  return words;
}

/// Appends the leaves of the nested configuration under their dotted keys; an array is one leaf.
void flatten_config(const Json& node, const std::string& key, const Fields& origins, std::vector<ConfigValue>& leaves) {
  if (!node.is_object()) {
    const std::string value = node.is_string() ? node.get<std::string>() : node.dump();
    leaves.push_back({key, value, origins.text_or_empty(key)});
    return;
  }
  for (const auto& [name, child] : node.items()) {
    flatten_config(child, key.empty() ? name : fmt::format("{}.{}", key, name), origins, leaves);
  }
}

std::vector<Library> read_libraries(const Fields& libraries) {
  std::vector<Library> read;
  for (const auto& [name, version] : libraries.json().items()) read.push_back({name, libraries.text(name)});
  return read;
}

PrecisionPlan read_precision(const Fields& precision) {
  PrecisionPlan plan{.recipe = precision.text("recipe"),
                     .format = precision.text_or_empty("format"),
                     .layers_fp8 = precision.count("layers_fp8"),
                     .layers = {}};
  const std::size_t layers = precision.array("layers").size();
  for (std::size_t i = 0; i < layers; ++i) {
    const Fields layer = precision.element("layers", i);
    plan.layers.push_back({layer.text("layer"), layer.count("m"), layer.count("n"), layer.count("k"),
                           layer.text("precision"), layer.text("reason")});
  }
  if (plan.layers_fp8 > static_cast<std::int64_t>(layers)) {
    precision.refuse("layers_fp8", "exceeds the number of layers listed");
  }
  return plan;
}

MemoryUse read_memory(const Fields& memory) {
  MemoryUse use{.planned_bytes = memory.count("planned_bytes"), .measured_bytes = {}, .categories = {}};
  if (memory.has("measured_bytes")) use.measured_bytes = memory.count("measured_bytes");
  const Fields categories = memory.object("categories");
  for (const auto& [name, bytes] : categories.json().items()) use.categories.push_back({name, categories.count(name)});
  return use;
}

RunResult read_result(const Fields& result) {
  RunResult read{.train_loss = result.number_or_nan("train_loss"),
                 .val_loss = {},
                 .tokens_per_second = result.not_negative("tokens_per_second"),
                 .ms_per_step = result.not_negative("ms_per_step"),
                 .fp8_codes_used = result.count("fp8_codes_used")};
  if (result.contains("val_loss")) read.val_loss = result.number_or_nan("val_loss");
  return read;
}

Demonstration read_demonstration(const Fields& demonstration) {
  return {demonstration.text("fault"), demonstration.share("saturated_share"),
          demonstration.share("nan_share_unsaturated"), demonstration.text("refused_message")};
}

RunRecord read_run_json(std::string_view text, const std::string& file) {
  const Json json = parse_strictly(text, file);
  const Fields fields(json, file, "");
  if (fields.count("version") != 1) fields.refuse("version", "must be 1, the only one that this octet reads");
  const Fields machine = fields.object("machine");
  const Fields model = fields.object("model");

  RunRecord run;
  run.name = fields.text("name");
  run.status = read_status(fields);
  run.command_line = read_command_line(fields);
  run.commit = fields.text("commit");
  run.binary_hash = fields.text("binary_hash");
  run.started = fields.text("started");
  run.machine = {machine.text("cpu"), machine.text("isa"), machine.count("cores"), machine.count("memory_bytes")};
  run.libraries = read_libraries(fields.object("libraries"));
  run.parameters = model.count("parameters");
  run.flops_per_token = model.not_negative("flops_per_token");
  run.precision = read_precision(fields.object("precision"));
  run.memory = read_memory(fields.object("memory"));
  flatten_config(fields.object("config").json(), "", fields.object("origins"), run.config);

  const bool ended = run.status == RunStatus::finished;
  run.finished = ended ? fields.text("finished") : fields.text_or_empty("finished");
  if (ended || fields.has("result")) run.result = read_result(fields.object("result"));
  if (fields.has("demonstration")) run.demonstration = read_demonstration(fields.object("demonstration"));
  if (fields.has("sample")) {
    const Fields sample = fields.object("sample");
    run.sample = Sample{sample.text("prompt"), sample.text("text")};
  }
  return run;
}

StepMetrics read_step(std::string_view line, const std::string& place) {
  const Json json = parse_strictly(line, place);
  const Fields fields(json, place, "");
  StepMetrics step{.step = fields.count("step"),
                   .loss = fields.number_or_nan("loss"),
                   .grad_norm = fields.number_or_nan("grad_norm"),
                   .learning_rate = fields.not_negative("lr"),
                   .tokens_per_second = fields.not_negative("tokens_per_second"),
                   .milliseconds = fields.not_negative("ms"),
                   .memory_bytes = fields.count("memory_bytes"),
                   .val_loss = {},
                   .worst_expert_load = {},
                   .balance_loss = {},
                   .mtp_loss = {},
                   .skipped = fields.flag("skipped"),
                   .checkpoint = {}};
  if (fields.contains("val_loss")) step.val_loss = fields.number_or_nan("val_loss");
  if (fields.contains("balance_loss")) step.balance_loss = fields.number_or_nan("balance_loss");
  if (fields.contains("mtp_loss")) step.mtp_loss = fields.number_or_nan("mtp_loss");
  if (fields.has("checkpoint")) {
    const Fields saved = fields.object("checkpoint");
    step.checkpoint = {saved.count("step"), saved.not_negative("ms"), saved.not_negative("stall_ms")};
  }
  if (fields.contains("worst_expert_load")) step.worst_expert_load = fields.not_negative("worst_expert_load");
  return step;
}

std::optional<CastShares> read_shares(const Fields& layer, std::string_view cast) {
  if (!layer.contains(cast)) return std::nullopt;
  const Fields shares = layer.object(cast);
  return CastShares{shares.share("saturated"), shares.share("underflowed")};
}

WatchedStep read_watched_step(std::string_view line, const std::string& place) {
  const Json json = parse_strictly(line, place);
  const Fields fields(json, place, "");
  WatchedStep watched{.step = fields.count("step"),
                      .seconds = fields.not_negative("seconds"),
                      .loss_bf16 = fields.number_or_nan("loss_bf16"),
                      .loss = fields.number_or_nan("loss"),
                      .layers = {}};
  const std::size_t layers = fields.array("layers").size();
  for (std::size_t i = 0; i < layers; ++i) {
    const Fields layer = fields.element("layers", i);
    watched.layers.push_back({layer.text("layer"), layer.decibels("output_sqnr_db"),
                              layer.decibels("input_gradient_sqnr_db"), layer.decibels("weight_gradient_sqnr_db"),
                              read_shares(layer, "input"), read_shares(layer, "gradient"),
                              read_shares(layer, "weight")});
  }
  return watched;
}

/// What the lines of a file hold, by step.
template <typename Step>
struct Lines {
  std::vector<Step> steps;
  std::int64_t half_written = 0;  // 1 where a kill has cut the last line short
  std::int64_t superseded = 0;    // of steps that a resumed run went through again
};

template <typename Step>
Lines<Step> read_lines(std::string_view text, const std::string& file,
                       Step (*read)(std::string_view line, const std::string& place)) {
  Lines<Step> lines;
  for (std::int64_t line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    const bool whole = end != std::string_view::npos;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(whole ? end + 1 : text.size());
    if (!whole && line.starts_with('{') && !Json::accept(line)) {  // the run was killed while it wrote this line
      ++lines.half_written;
      break;
    }
    Step step = read(line, fmt::format("{}:{}", file, line_number));
    // A run resumed from a checkpoint goes through the steps after it again; what it wrote last counts.
    while (!lines.steps.empty() && lines.steps.back().step >= step.step) {
      lines.steps.pop_back();
      ++lines.superseded;
    }
    lines.steps.push_back(std::move(step));
  }
  return lines;
}

Json decibels_json(double value) {
  if (std::isfinite(value)) return value;
  for (const auto& [word, meaning] : kDecibelWords) {
    if (value == meaning) return word;
  }
  return "not_finite";
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw UserError("{}: cannot be opened; give directories in which octet train has written", file.string());
  }
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) throw UserError("{}: cannot be read; check the disk and the permissions", file.string());
  return text;
}

}  // namespace

std::string_view to_string(RunStatus status) {
  for (const auto& [name, value] : kStatusNames) {
    if (value == status) return name;
  }
  check_failed("a run status is one of four", std::source_location::current());
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::string metrics_line(const StepMetrics& step) {
  Json line = {{"step", step.step},
               {"loss", number_or_null(step.loss)},
               {"grad_norm", number_or_null(step.grad_norm)},
               {"lr", step.learning_rate},
               {"tokens_per_second", step.tokens_per_second},
               {"ms", step.milliseconds},
               {"memory_bytes", step.memory_bytes}};
  if (step.val_loss) line["val_loss"] = number_or_null(*step.val_loss);
  if (step.worst_expert_load) line["worst_expert_load"] = *step.worst_expert_load;
  if (step.balance_loss) line["balance_loss"] = number_or_null(*step.balance_loss);
  if (step.mtp_loss) line["mtp_loss"] = number_or_null(*step.mtp_loss);
  if (step.checkpoint) {
    line["checkpoint"] = {{"step", step.checkpoint->step},
                          {"ms", step.checkpoint->milliseconds},
                          {"stall_ms", step.checkpoint->stall_milliseconds}};
  }
  if (step.skipped) line["skipped"] = true;
  return line.dump();
}

std::string watch_line(const WatchedStep& watched) {
  Json layers = Json::array();
  for (const LayerNumerics& layer : watched.layers) {
    Json described = {{"layer", layer.layer},
                      {"output_sqnr_db", decibels_json(layer.output_sqnr_db)},
                      {"input_gradient_sqnr_db", decibels_json(layer.input_gradient_sqnr_db)},
                      {"weight_gradient_sqnr_db", decibels_json(layer.weight_gradient_sqnr_db)}};
    const auto add = [&](const char* cast, const std::optional<CastShares>& shares) {
      if (shares) described[cast] = {{"saturated", shares->saturated}, {"underflowed", shares->underflowed}};
    };
    add("input", layer.input);
    add("gradient", layer.gradient);
    add("weight", layer.weight);
    layers.push_back(std::move(described));
  }
  return Json{{"step", watched.step},
              {"seconds", watched.seconds},
              {"loss_bf16", number_or_null(watched.loss_bf16)},
              {"loss", number_or_null(watched.loss)},
              {"layers", std::move(layers)}}
      .dump();
}

RunRecord parse_run(const std::filesystem::path& directory, std::string_view run_json, std::string_view metrics_jsonl,
                    std::string_view watch_jsonl) {
  RunRecord run = read_run_json(run_json, (directory / "run.json").string());
  run.directory = directory;
  auto metrics = read_lines(metrics_jsonl, (directory / "metrics.jsonl").string(), read_step);
  run.metrics = std::move(metrics.steps);
  run.half_written_lines = metrics.half_written;
  run.superseded_lines = metrics.superseded;
  run.watched = read_lines(watch_jsonl, (directory / kWatchFile).string(), read_watched_step).steps;
  return run;
}

RunRecord read_run(const std::filesystem::path& directory) {
  const std::string run_json = read_file(directory / "run.json");
  const std::string watch = std::filesystem::exists(directory / kWatchFile) ? read_file(directory / kWatchFile) : "";
  return parse_run(directory, run_json, read_file(directory / "metrics.jsonl"), watch);
}

}  // namespace octet::io
