// The numerics watch: one micro-batch computed twice from the same weights, first with every linear layer in bf16 (its
// shadow), then in the layers' own precision, which is the training itself and gives the bits that it gives unwatched.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layer_shadow.h"
#include "model/model.h"

namespace octet {

class Shadow {
 public:
  /// `tokens` in a micro-batch. `model` must outlive the shadow.
  Shadow(Model& model, std::int64_t tokens);

  /// Persistent memory for sums.
  void allocate(Memory& memory);

  /// As Model::train() that writes its gradients, with the shadow before it. What the shadow keeps is planned like
  /// every other piece of the program that this is called in: all outputs and input gradients of linear layers, [T, N]
  /// and [T, K] bf16 each, and one weight gradient at a time.
  void train(ops::Executor& run, const Batch& batch, float gradient_scale, double* loss_sum);

  // Of the last micro-batch:

  /// In the order of the precision table.
  [[nodiscard]] const std::vector<LayerShadow>& layers() const { return layers_; }
  /// Sum of the targets' losses in bf16.
  [[nodiscard]] double loss_sum() const { return read_loss_sum_; }
  /// What the watch has taken beyond the training.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  class PassScope;
  void clear(ops::Executor& run) const;
  void run_pass(ops::Executor& run, ShadowPass pass, const Batch& batch, float gradient_scale, double* loss_sum);
  void read_sums(ops::Executor& run);

  Model& model_;
  std::vector<LayerShadow> layers_;
  Buffer energies_;  // [3 layers, 2] f64
  Buffer counts_;    // [3 layers, 3] u64
  Buffer loss_sum_;  // [1] f64
  double read_loss_sum_ = 0;
  double seconds_ = 0;
};

}  // namespace octet
