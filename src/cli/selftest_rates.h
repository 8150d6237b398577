// The rates of octet selftest: what a device reaches in copies, casts, products and attention, and whether that can be
// true.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ops/backend.h"

namespace octet::cli {

/// Of what is measured. full: matrices that no cache holds, and products and attention of Llama 3 8B over 8192 tokens.
/// quick: every extent a sixteenth of that, which a CPU does in seconds.
enum class RateSizes : std::uint8_t { full, quick };

struct MeasuredRate {
  std::string kind;      ///< "copy", "cast", "product", "attention"
  std::string what;      ///< "rowwise w13 forward"
  std::string text;      ///< extents and types
  double bytes = 0;      ///< that a call must move; what counts of copies and casts
  double flops = 0;      ///< of a call; what counts of the rest
  double seconds = 0;    ///< of a call, the median of some rounds
  double of_copy = 0;    ///< of copies and casts: bytes a second over those of the copy
  std::string doubt;     ///< why the rate cannot be true; empty where it can
  std::string left_out;  ///< why it was not measured; empty where it was

  [[nodiscard]] double rate() const { return (flops > 0 ? flops : bytes) / seconds; }
};

/// In under a minute on a GPU. `progress` hears of each kind before it begins. UserError where the device has too
/// little memory: full sizes take 3 GiB.
[[nodiscard]] std::vector<MeasuredRate> measure_rates(const ops::Backend& backend, RateSizes sizes,
                                                      const std::function<void(std::string_view)>& progress);

[[nodiscard]] std::string rates_text(const std::vector<MeasuredRate>& rates);
[[nodiscard]] nlohmann::ordered_json rates_json(const std::vector<MeasuredRate>& rates);

}  // namespace octet::cli
