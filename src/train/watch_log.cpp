#include "train/watch_log.h"

#include "core/error.h"
#include "train/run_directory.h"

namespace octet {
namespace {

io::CastShares shares(const LayerShadow& layer, LayerCast cast) {
  return {layer.saturated_share(cast), layer.underflowed_share(cast)};
}

io::LayerNumerics describe(const LayerShadow& layer) {
  io::LayerNumerics numerics{.layer = layer.name(),
                             .output_sqnr_db = layer.sqnr_db(LayerResult::output),
                             .input_gradient_sqnr_db = layer.sqnr_db(LayerResult::input_gradient),
                             .weight_gradient_sqnr_db = layer.sqnr_db(LayerResult::weight_gradient),
                             .input = {},
                             .gradient = {},
                             .weight = {}};
  if (!layer.casts()) return numerics;
  numerics.input = shares(layer, LayerCast::input);
  numerics.gradient = shares(layer, LayerCast::gradient);
  numerics.weight = shares(layer, LayerCast::weight);
  return numerics;
}

}  // namespace

io::WatchedStep describe_watched(const Engine& engine, std::int64_t step) {
  const WatchedLosses& losses = engine.watched_losses();
  io::WatchedStep watched{.step = step,
                          .seconds = engine.shadow().seconds(),
                          .loss_bf16 = losses.bf16,
                          .loss = losses.recipe,
                          .layers = {}};
  for (const LayerShadow& layer : engine.shadow().layers()) watched.layers.push_back(describe(layer));
  return watched;
}

WatchLog::WatchLog(const std::filesystem::path& run_directory, std::int64_t last_step)
    : path_(run_directory / "watch.jsonl") {
  drop_lines_after(path_, last_step);
  lines_.open(path_, std::ios::app);
  if (!lines_) throw UserError("cannot write {}: is the directory read-only?", path_.string());
}

void WatchLog::append(const io::WatchedStep& watched) {
  lines_ << io::watch_line(watched) << '\n' << std::flush;
  if (!lines_)
    throw UserError("cannot append to {}: the disk may be full; the last checkpoint is good", path_.string());
}

}  // namespace octet
