#include "train/run_record.h"

#include "core/version.h"
#include "data/shard_set.h"
#include "io/config_text.h"
#include "io/files.h"
#include "ops/gpu/verified_hardware.h"
#include "train/model_setup.h"
#include "train/plan_choices.h"

namespace octet {
namespace {

using nlohmann::ordered_json;

ordered_json describe_result(const RunResult& result) {
  ordered_json described = {{"train_loss", io::number_or_null(result.train_loss)},
                            {"tokens_per_second", result.tokens_per_second},
                            {"ms_per_step", result.ms_per_step},
                            {"fp8_codes_used", result.fp8_codes_used},
                            {"checkpoints",
                             {{"saved", result.saves.saves},
                              {"ms", result.saves.milliseconds},
                              {"stall_ms", result.saves.stall_milliseconds}}}};
  if (result.val_loss) described["val_loss"] = io::number_or_null(*result.val_loss);
  return described;
}

/// The fault shown on purpose: shares of all casts so far, and what Octet says to whoever asks for it otherwise.
ordered_json describe_demonstration(const Engine& engine, const Config& config) {
  const CastCounts& counts = engine.cast_counts();
  const auto all = static_cast<double>(std::max<std::uint64_t>(counts.elements, 1));
  std::string refused;
  try {
    Config asked = config;
    asked.precision.fp8_max = fp8::info(fp8::Format::e4m3fn).max;
    check_fp8_max(asked, fp8::FormatFamily::fnuz);
  } catch (const UserError& error) {
    refused = error.what();
  }
  check(!refused.empty(), "a maximum of 448 for e4m3fnuz is refused");
  return {{"fault", "fnuz_max_448"},
          {"saturated_share", static_cast<double>(counts.saturated()) / all},
          {"nan_share_unsaturated", static_cast<double>(counts.overflowed()) / all},
          {"refused_message", refused}};
}

/// Training and validation together; shards were scanned when the loaders opened them.
std::uint64_t tokenizer_of_data(const Config& config) {
  const auto vocab = static_cast<std::uint64_t>(config.model.vocab_size);
  std::vector<Shard> shards = open_shards(config.data.train, DataSplit::train, vocab, "data.train", ShardScan::header);
  for (Shard& shard :
       open_shards(config.data.validation, DataSplit::validation, vocab, "data.validation", ShardScan::header)) {
    shards.push_back(std::move(shard));
  }
  return common_tokenizer(shards, config.data.tokenizer);
}

}  // namespace

RunFacts gather_facts(const LoadedConfig& loaded, const std::filesystem::path& run_directory,
                      std::vector<std::string> command_line) {
  return {std::filesystem::absolute(run_directory).lexically_normal().filename().string(),
          std::move(command_line),
          iso_time(),
          binary_hash(),
          machine_facts(),
          config_json(loaded.config),
          origins_json(loaded.origins),
          tokenizer_of_data(loaded.config),
          nullptr};
}

ordered_json describe_precision(const Model& model) {
  const PrecisionPlan& plan = model.precision();
  ordered_json layers = ordered_json::array();
  for (const LayerChoice& choice : plan.table()) {
    layers.push_back({{"layer", choice.layer},
                      {"m", choice.m},
                      {"n", choice.n},
                      {"k", choice.k},
                      {"precision", choice.precision},
                      {"reason", choice.reason}});
  }
  ordered_json products = ordered_json::array();
  for (const ProductChoice& choice : plan.products()) {
    products.push_back({{"product", choice.product},
                        {"left", choice.left},
                        {"right", choice.right},
                        {"accumulation", fp8::name(choice.accumulation)}});
  }
  const bool fp8 = plan.options().recipe->uses_fp8();
  return {{"recipe", plan.options().recipe->name},
          {"format", fp8 ? fp8::name(fp8::forward_format(plan.options().family)) : ""},
          {"products", products},
          {"layers_fp8", plan.layers_in_fp8()},
          {"layers", layers}};
}

ordered_json describe_memory(const Engine& engine, const Config& config) {
  ordered_json categories = ordered_json::object();
  for (const auto& [memory_class, bytes] : engine.plan().at_peak()) categories[std::string(name(memory_class))] = bytes;
  const SavedForBackward saved = saved_for_backward(engine.plan());
  ordered_json described = {{"planned_bytes", engine.plan().arena_bytes},
                            {"categories", categories},
                            {"saved_for_backward", {{"bytes", saved.bytes}, {"codes_bytes", saved.codes}}},
                            {"checkpoint_copy_bytes", checkpoint_staging_bytes(config, engine.model().parameters())}};
  if (engine.measured_peak() > 0) described["measured_bytes"] = engine.measured_peak();
  return described;
}

ordered_json describe_optimizer(const Engine& engine, const Config& config) {
  const ParameterBytes bytes = parameter_bytes(engine.storage());
  const GradientElements elements = gradient_elements(engine.model().parameters());
  ordered_json groups = ordered_json::array();
  for (const ParameterGroupSize& size : parameter_group_sizes(config, engine.model())) {
    groups.push_back({{"weight_decay", size.group.weight_decay},
                      {"lr_scale", size.group.lr_scale},
                      {"parameters", size.parameters},
                      {"elements", size.elements}});
  }
  return {
      {"bytes_per_parameter",
       {{"weight", bytes.weight}, {"master", bytes.master}, {"gradient", bytes.gradient}, {"moments", bytes.moments}}},
      {"gradients",
       {{"dtype", name(engine.storage().gradients)},
        {"elements_written_once", elements.written_once},
        {"elements_summed_in_fp32", elements.summed},
        {"kept", bytes.keeps_gradients()}}},
      {"groups", groups}};
}

ordered_json describe_graphs(const Engine& engine) {
  const CapturedStep& step = engine.captured_step();
  return {{"enabled", step.enabled()}, {"replayed_steps", step.replayed_steps()}, {"launches", step.launches()}};
}

ordered_json describe_model(const Model& model, std::int64_t seq_len) {
  return {{"parameters", model.parameters().count()}, {"flops_per_token", model.flops_per_token(seq_len)}};
}

ordered_json describe_records(const RecordRequest& request, const RecordPlan& plan) {
  return {{"gradients", request.gradients},
          {"weights", request.weights},
          {"every", request.every},
          {"files", plan.records},
          {"bytes", plan.bytes()}};
}

ordered_json describe_run(const RunFacts& facts, const std::string& status, const Engine& engine, const Config& config,
                          const std::optional<RunResult>& result, bool demonstrates_fault) {
  ordered_json run = {{"version", 1},
                      {"name", facts.name},
                      {"status", status},
                      {"command_line", facts.command_line},
                      {"commit", kCommit},
                      {"binary_hash", facts.binary_hash},
                      {"started", facts.started}};
  if (status != "running") run["finished"] = iso_time();
  const ops::Device& device = engine.backend().device();
  run["config"] = facts.config;
  run["origins"] = facts.origins;
  if (facts.tokenizer != 0) run["tokenizer"] = fmt::format("{:016x}", facts.tokenizer);
  run["machine"] = {{"cpu", facts.machine.cpu},
                    {"cores", facts.machine.cores},
                    {"isa", facts.machine.isa},
                    {"memory_bytes", facts.machine.memory_bytes},
                    {"device", device.description()},
                    {"device_verified", !ops::verified_on(engine.backend().name(), device.arch()).empty()}};
  run["libraries"] = library_versions();
  run["model"] = describe_model(engine.model(), config.training.seq_len);
  run["precision"] = describe_precision(engine.model());
  run["memory"] = describe_memory(engine, config);
  run["optimizer"] = describe_optimizer(engine, config);
  run["graphs"] = describe_graphs(engine);
  const std::vector<std::string> untuned = device.untuned_products();
  if (!untuned.empty()) run["untuned_products"] = untuned;
  if (!facts.records.is_null()) run["records"] = facts.records;
  if (result) run["result"] = describe_result(*result);
  if (demonstrates_fault && engine.measured_peak() > 0) run["demonstration"] = describe_demonstration(engine, config);
  return run;
}

void write_config(const RunDirectory& directory, const LoadedConfig& loaded) {
  write_file_atomically(directory.path() / "config.toml", show_config(loaded.config, loaded.origins));
}

}  // namespace octet
