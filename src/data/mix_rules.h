// Which files of the training data form a source, and how often it is drawn: data.mix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// Shares of a mix are fractions of this, in integers: every machine draws the same.
inline constexpr std::uint64_t kWholeMix = std::uint64_t{1} << 32U;

struct MixSource {
  std::string rule;                 ///< as written, "web*: 0.7"; empty without a mix
  std::uint64_t share = kWholeMix;  ///< of sequences, at least 1; those of all sources sum to kWholeMix
  std::vector<std::string> paths;   ///< at least one
};

/// Gives each of `paths` to the first of `rules`, "GLOB: WEIGHT", whose pattern matches it. Weights are relative: 7 and
/// 3 are 0.7 and 0.3. Without rules all paths are one source. Sources are in the order of the rules.
/// Throws UserError for a rule of another form, a weight that is not above 0 or below a 2^-32nd of the whole, a rule
/// that takes no path, and a path that no rule takes.
[[nodiscard]] std::vector<MixSource> assign_sources(const std::vector<std::string>& paths,
                                                    const std::vector<std::string>& rules);

}  // namespace octet
