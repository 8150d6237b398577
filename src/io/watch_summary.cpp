#include "io/watch_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace octet::io {
namespace {

/// A strict order in which a NaN, which hides what it stands for, comes first.
bool is_worse(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a < b;
}

double worse(double a, double b) {
  return is_worse(b, a) ? b : a;
}

double worst_sqnr_db(const LayerNumerics& layer) {
  return worse(layer.output_sqnr_db, gradient_sqnr_db(layer));
}

template <typename Ratio>
std::string worst_layer_text(const WatchedStep& watched, std::string_view what, const Ratio& ratio) {
  const auto worst =
      std::min_element(watched.layers.begin(), watched.layers.end(),
                       [&](const LayerNumerics& a, const LayerNumerics& b) { return is_worse(ratio(a), ratio(b)); });
  return fmt::format("worst {} {} ({})", what, decibels_text(ratio(*worst)), worst->layer);
}

}  // namespace

double gradient_sqnr_db(const LayerNumerics& layer) {
  return worse(layer.input_gradient_sqnr_db, layer.weight_gradient_sqnr_db);
}

std::vector<const LayerNumerics*> worst_first(const WatchedStep& watched) {
  std::vector<const LayerNumerics*> layers;
  layers.reserve(watched.layers.size());
  for (const LayerNumerics& layer : watched.layers) layers.push_back(&layer);
  std::stable_sort(layers.begin(), layers.end(), [](const LayerNumerics* a, const LayerNumerics* b) {
    return is_worse(worst_sqnr_db(*a), worst_sqnr_db(*b));
  });
  return layers;
}

std::string decibels_text(double ratio) {
  if (std::isfinite(ratio)) return fmt::format("{:.1f} dB", ratio);
  if (std::isnan(ratio)) return "not finite";
  return ratio > 0 ? "equal" : "no signal";
}

std::string watch_summary(const WatchedStep& watched) {
  if (watched.layers.empty()) return "no layers";
  return worst_layer_text(watched, "output", [](const LayerNumerics& layer) { return layer.output_sqnr_db; }) + ", " +
         worst_layer_text(watched, "gradient", gradient_sqnr_db);
}

}  // namespace octet::io
