#include "train/scale_watch.h"

#include <cmath>

#include "ops/host_access.h"

namespace octet {
namespace {

constexpr std::string_view kScaleSuffix = "_scale";
/// In octaves: fine enough to see scales move, and powers of two have a bucket each.
constexpr double kBucketWidth = 0.125;

}  // namespace

ScaleWatch::ScaleWatch(ops::Executor& executor) : executor_(executor) {
  executor_.set_observer([this](std::string_view name, const Tensor& tensor) { observe(name, tensor); });
}

ScaleWatch::~ScaleWatch() {
  executor_.set_observer({});
}

void ScaleWatch::observe(std::string_view name, const Tensor& tensor) {
  if (!name.ends_with(kScaleSuffix)) return;
  name.remove_suffix(kScaleSuffix.size());
  Histogram& histogram = log2_scales_.try_emplace(std::string(name), kBucketWidth).first->second;
  const auto span = executor_.waiting();
  const ops::HostBytes scales(executor_.backend().device(), tensor);
  for (const float inverse_scale : scales.as<float>()) {
    histogram.add(-std::log2(static_cast<double>(inverse_scale)));
  }
}

}  // namespace octet
