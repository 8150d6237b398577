// What of a block's forward pass waits for its backward, in which form, and what is made again there.
#pragma once

#include <array>
#include <string_view>

#include "model/linear.h"

namespace octet {

/// Recompute: each flag drops what the op's forward made and makes it again in backward, from the same values and under
/// the same maxima, hence with the same bits. An input of wqkv or w13 that is saved as codes for wgrad cannot be
/// multiplied again, so `qkv` and `gate_up` bring `norm` with them.
struct Recompute {
  bool norm = false;       ///< both norms' outputs
  bool qkv = false;        ///< wqkv and its rotation
  bool attention = false;  ///< attention's output and log-sum-exp
  bool stream = false;     ///< wo and the residual stream between the block's halves
  bool gate_up = false;    ///< w13
  bool swiglu = false;     ///< the activation

  /// Everything but the block's input.
  [[nodiscard]] static constexpr Recompute full() { return {true, true, true, true, true, true}; }
  [[nodiscard]] constexpr bool any() const { return norm || qkv || attention || stream || gate_up || swiglu; }
};

/// The ops that may be named for selective recompute. `stream` has no name: it pays in full recompute only.
struct RecomputeOp {
  std::string_view name;
  bool Recompute::*flag;
  bool brings_norm;
};
inline constexpr std::array<RecomputeOp, 5> kRecomputeOps{{{"norm", &Recompute::norm, false},
                                                           {"qkv", &Recompute::qkv, true},
                                                           {"attention", &Recompute::attention, false},
                                                           {"gate_up", &Recompute::gate_up, true},
                                                           {"swiglu", &Recompute::swiglu, false}}};

struct Saving {
  SavedInput inputs = SavedInput::codes;
  Recompute recompute = {};
};

/// A pass over a block: for the model's output alone, for training, or once more in backward.
enum class Pass : std::uint8_t { inference, training, again };

/// What becomes of a layer's input in a pass: `remade` where backward makes it again, with `product_too` where the
/// layer's forward product runs again as well.
[[nodiscard]] constexpr InputUse input_use(Pass pass, bool remade, bool product_too) {
  if (pass == Pass::inference) return InputUse::inference;
  if (pass == Pass::again || !remade) return InputUse::saved;
  return product_too ? InputUse::remade_for_product : InputUse::remade;
}

}  // namespace octet
