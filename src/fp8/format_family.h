// Which pair of FP8 formats a device multiplies: asked of each device's architecture, never assumed for a whole host.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fp8/formats.h"

namespace octet::fp8 {

/// ocp: e4m3fn and e5m2 (NVIDIA, gfx950, the CPU unless told otherwise). fnuz: e4m3fnuz and e5m2fnuz (MI300).
enum class FormatFamily : std::uint8_t { ocp, fnuz };

/// The family of an AMD architecture as the runtime spells it ("gfx942:sramecc+:xnack-"); any other text, such as
/// "sm_90" or nothing, is ocp.
[[nodiscard]] constexpr FormatFamily family_of_arch(std::string_view gcn_arch) {
  constexpr std::array<std::string_view, 3> kFnuzArchs{"gfx940", "gfx941", "gfx942"};
  for (const std::string_view arch : kFnuzArchs) {
    if (gcn_arch.find(arch) != std::string_view::npos) return FormatFamily::fnuz;
  }
  return FormatFamily::ocp;
}

/// The format of activations and weights: more mantissa.
[[nodiscard]] constexpr Format forward_format(FormatFamily family) {
  return family == FormatFamily::fnuz ? Format::e4m3fnuz : Format::e4m3fn;
}

/// The format of gradients where a recipe gives them more range.
[[nodiscard]] constexpr Format gradient_format(FormatFamily family) {
  return family == FormatFamily::fnuz ? Format::e5m2fnuz : Format::e5m2;
}

/// The format in which a device of that family holds a precision; nothing for bf16.
[[nodiscard]] constexpr std::optional<Format> format_of(Precision precision, FormatFamily family) {
  switch (precision) {
    case Precision::e4m3:
      return forward_format(family);
    case Precision::e5m2:
      return gradient_format(family);
    case Precision::bf16:
      break;
  }
  return std::nullopt;
}

}  // namespace octet::fp8
