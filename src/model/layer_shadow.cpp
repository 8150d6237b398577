#include "model/layer_shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet {
namespace {

std::string_view word(LayerResult result) {
  switch (result) {
    case LayerResult::output:
      return "output";
    case LayerResult::input_gradient:
      return "input_gradient";
    case LayerResult::weight_gradient:
      return "weight_gradient";
  }
  return "unknown";
}

template <typename Which>
Tensor row_of(const Tensor& table, Which which) {
  return table.row_range(static_cast<std::int64_t>(which), 1);
}

void copy(ops::Executor& run, const Tensor& from, const Tensor& to) {
  run(ops::Copy{from.raw(), to.raw(), static_cast<std::int64_t>(from.bytes())});
}

}  // namespace

void LayerShadow::bind(const Tensor& energies, const Tensor& counts) {
  energies_ = energies;
  counts_ = counts;
}

void LayerShadow::begin(ShadowPass pass) {
  pass_ = pass;
  for (Kept& each : kept_) each.rows = 0;
  elements_ = {};
}

void LayerShadow::saw_cast(ops::Executor& run, LayerCast cast, const Tensor& x, const float* scale_inverse,
                           fp8::Format format, bool one_scale) {
  const std::int64_t seen = kept(cast == LayerCast::gradient ? LayerResult::input_gradient : LayerResult::output).rows;
  if (seen == tokens_ || (cast == LayerCast::weight && seen > 0)) return;
  elements_[static_cast<std::size_t>(cast)] += static_cast<std::uint64_t>(x.numel());
  auto* counts = row_of(counts_, cast).ptr<std::uint64_t>();
  run(ops::CastStatistics{x.ptr<bf16>(), scale_inverse, counts, counts + 1, counts + 2, format, x.rows(), x.cols(),
                          one_scale});
}

void LayerShadow::see(ops::Executor& run, LayerResult result, const Tensor& rows) {
  Kept& shadow = kept(result);
  if (shadow.rows == tokens_) return;
  if (pass_ == ShadowPass::shadow && shadow.rows == 0) {
    shadow.values = run.memory().allocate(fmt::format("{}.shadow_{}", name_, word(result)), rows.dtype(), tokens_,
                                          rows.cols(), MemoryClass::activations);
  }
  const Tensor reference = shadow.values.tensor().row_range(shadow.rows, rows.rows());
  shadow.rows += rows.rows();
  if (pass_ == ShadowPass::shadow) return copy(run, rows, reference);
  compare(run, result, reference, rows);
  if (shadow.rows == tokens_) shadow.values.reset();
}

void LayerShadow::keep_weight_gradient(ops::Executor& run, const Tensor& gradient) {
  Kept& shadow = kept(LayerResult::weight_gradient);
  shadow.values = run.memory().allocate(fmt::format("{}.shadow_weight_gradient", name_), gradient.dtype(),
                                        gradient.rows(), gradient.cols(), MemoryClass::gradients);
  copy(run, gradient, shadow.values.tensor());
}

/// The shadow's gradient waits where the gradient is: a copy is needed from the moment on in which that changes.
void LayerShadow::weight_gradient_begins(ops::Executor& run, const Tensor& gradient) {
  if (pass_ == ShadowPass::compared && !kept(LayerResult::weight_gradient).values) keep_weight_gradient(run, gradient);
}

void LayerShadow::saw_weight_gradient(ops::Executor& run, const Tensor& gradient, std::int64_t rows) {
  Kept& shadow = kept(LayerResult::weight_gradient);
  shadow.rows += rows;
  if (shadow.rows < tokens_) return;
  if (pass_ == ShadowPass::compared) {
    compare(run, LayerResult::weight_gradient, shadow.values.tensor(), gradient);
    shadow.values.reset();
  } else if (gradient_is_shared_) {
    keep_weight_gradient(run, gradient);
  }
}

void LayerShadow::compare(ops::Executor& run, LayerResult result, const Tensor& reference, const Tensor& x) const {
  run(ops::Difference{reference.raw(), x.raw(), row_of(energies_, result).ptr<double>(), x.numel(), x.dtype()});
}

void LayerShadow::read(std::span<const double> energies, std::span<const std::uint64_t> counts) {
  check(energies.size() == read_energies_.size() && counts.size() == read_counts_.size(), "a layer's sums are its own");
  std::ranges::copy(energies, read_energies_.begin());
  std::ranges::copy(counts, read_counts_.begin());
}

double LayerShadow::sqnr_db(LayerResult result) const {
  const std::size_t row = static_cast<std::size_t>(result) * kEnergies;
  const double signal = read_energies_[row];
  const double noise = read_energies_[row + 1];
  if (!std::isfinite(signal) || !std::isfinite(noise)) return std::numeric_limits<double>::quiet_NaN();
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

double LayerShadow::share(LayerCast cast, std::size_t count) const {
  const auto row = static_cast<std::size_t>(cast);
  return static_cast<double>(read_counts_[row * kCastCounts + count]) / static_cast<double>(elements_[row]);
}

}  // namespace octet
