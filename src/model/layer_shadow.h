// What one linear layer computes in bf16, kept until the layer has computed the same in its own precision, and how far
// the two are apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fp8/formats.h"
#include "ops/executor.h"

namespace octet {

/// The two passes over one micro-batch, from the same weights: in bf16, and in the layers' own precision.
enum class ShadowPass : std::uint8_t { shadow, compared };

enum class LayerResult : std::uint8_t { output, input_gradient, weight_gradient };
inline constexpr std::int64_t kLayerResults = 3;
/// Of the shadow's result, and of what the other is off.
inline constexpr std::int64_t kEnergies = 2;

/// The casts whose codes the forward product and dgrad read.
enum class LayerCast : std::uint8_t { input, gradient, weight };
inline constexpr std::int64_t kLayerCasts = 3;
/// Saturated, overflowed, underflowed.
inline constexpr std::int64_t kCastCounts = 3;

class LayerShadow {
 public:
  /// `tokens` in a micro-batch. `gradient_is_shared`: something adds to the weight's gradient after this layer.
  LayerShadow(std::string name, std::int64_t tokens, bool gradient_is_shared)
      : name_(std::move(name)), tokens_(tokens), gradient_is_shared_(gradient_is_shared) {}

  /// Where sums go, zeroed before each shadow: `energies` [3, 2] f64, a row for each LayerResult, and `counts` [3, 3]
  /// u64, a row for each LayerCast.
  void bind(const Tensor& energies, const Tensor& counts);
  void begin(ShadowPass pass);

  // What the layer does, in its order. It may come in pieces of consecutive tokens; what follows after all tokens of a
  // micro-batch is recompute, and is not looked at again.

  /// Codes of x [rows, cols] bf16 were made under `scale_inverse` [rows], or [1] where `one_scale`.
  void saw_cast(ops::Executor& run, LayerCast cast, const Tensor& x, const float* scale_inverse, fp8::Format format,
                bool one_scale);
  /// y [rows, N] bf16.
  void saw_output(ops::Executor& run, const Tensor& y) { see(run, LayerResult::output, y); }
  /// dx [rows, K] bf16.
  void saw_input_gradient(ops::Executor& run, const Tensor& dx) { see(run, LayerResult::input_gradient, dx); }
  /// `gradient` [N, K] bf16 or f32 is about to be overwritten; until then it holds that of the shadow.
  void weight_gradient_begins(ops::Executor& run, const Tensor& gradient);
  /// `rows` more tokens are in it.
  void saw_weight_gradient(ops::Executor& run, const Tensor& gradient, std::int64_t rows);

  /// The sums once both passes are done, in the host's memory: what the figures below are of.
  void read(std::span<const double> energies, std::span<const std::uint64_t> counts);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Signal to quantization noise in dB: 10 log10(sum of squares of the shadow / sum of squared differences from it).
  /// Infinite where the two are equal, minus infinity where the shadow alone is all zeros, NaN where a sum is not
  /// finite.
  [[nodiscard]] double sqnr_db(LayerResult result) const;
  /// Whether the layer has made codes at all.
  [[nodiscard]] bool casts() const { return elements_[0] > 0; }
  /// Of the values that were cast: clipped to the format's largest value; not zero, but with a code that is.
  [[nodiscard]] double saturated_share(LayerCast cast) const { return share(cast, 0); }
  [[nodiscard]] double underflowed_share(LayerCast cast) const { return share(cast, 2); }

 private:
  /// A result of the shadow, and how many of its tokens have been seen in this pass.
  struct Kept {
    Buffer values;
    std::int64_t rows = 0;
  };

  [[nodiscard]] Kept& kept(LayerResult result) { return kept_[static_cast<std::size_t>(result)]; }
  void see(ops::Executor& run, LayerResult result, const Tensor& rows);
  void keep_weight_gradient(ops::Executor& run, const Tensor& gradient);
  void compare(ops::Executor& run, LayerResult result, const Tensor& reference, const Tensor& x) const;
  [[nodiscard]] double share(LayerCast cast, std::size_t count) const;

  std::string name_;
  std::int64_t tokens_;
  bool gradient_is_shared_;
  ShadowPass pass_ = ShadowPass::shadow;
  std::array<Kept, kLayerResults> kept_;
  std::array<std::uint64_t, kLayerCasts> elements_{};  // that each cast has read
  Tensor energies_;                                    // [3, 2] f64
  Tensor counts_;                                      // [3, 3] u64
  std::array<double, kLayerResults * kEnergies> read_energies_{};
  std::array<std::uint64_t, kLayerCasts * kCastCounts> read_counts_{};
};

}  // namespace octet
