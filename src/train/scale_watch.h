// The FP8 scales of a step, collected from the tensors that the executor shows.
#pragma once

#include <map>
#include <string>

#include "io/histogram.h"
#include "ops/executor.h"

namespace octet {

/// While it lives, it is the executor's observer; afterwards there is none. Scales have the name of what they are of
/// with "_scale" behind it, such as "layers.0.attention.wqkv.input_scale", and are f32 [1, n], as inverse scales, which
/// is what products apply.
class ScaleWatch {
 public:
  explicit ScaleWatch(ops::Executor& executor);
  ScaleWatch(const ScaleWatch&) = delete;
  ScaleWatch& operator=(const ScaleWatch&) = delete;
  ~ScaleWatch();

  /// log2 of the scales by what they are of ("layers.0.attention.wqkv.input"), those of all micro-batches together.
  /// Scales that are NaN are left out, since the step's loss is NaN too.
  [[nodiscard]] const std::map<std::string, Histogram>& log2_scales() const { return log2_scales_; }

 private:
  void observe(std::string_view name, const Tensor& tensor);

  ops::Executor& executor_;
  std::map<std::string, Histogram> log2_scales_;
};

}  // namespace octet
