// What one GPU holds: whether a plan fits a card, which settings would make it fit, and the largest batch that does.
// Everything is found by planning, nothing by formula.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/config.h"
#include "model/stream.h"
#include "train/plan_choices.h"

namespace octet {

struct Card {
  std::string_view name;
  std::size_t bytes;
};
inline constexpr std::array<Card, 2> kCards{{{"H200", 141'000'000'000}, {"MI300X", 192'000'000'000}}};

/// Of every card, for what no plan holds: the context, libraries, and the workspace of ops.
inline constexpr std::size_t kCardReserve = std::size_t{2} << 30;

/// A key and the value that saves memory.
struct Remedy {
  std::string_view key, value;
  friend bool operator==(const Remedy&, const Remedy&) = default;
};

/// From the least drastic on: those that change no bit and little work, those that add work, those that round.
inline constexpr std::array<Remedy, 7> kRemedies{{{"precision.saved_inputs", "codes"},
                                                  {"precision.weight_codes", "per_use"},
                                                  {"training.recompute", "selective"},
                                                  {"training.recompute", "full"},
                                                  {"optimizer.gradients", "bf16"},
                                                  {"optimizer.moments", "bf16"},
                                                  {"optimizer.parameters", "bf16"}}};

/// The smallest micro-batch worth proposing is one sequence of so many tokens; lengths are multiples of the step.
inline constexpr std::int64_t kFloorSeqLen = 2048;
inline constexpr std::int64_t kSeqLenStep = 1024;

/// A plan that fits.
struct FittingPlan {
  std::vector<Remedy> remedies;  ///< what it changes, in the order of kRemedies
  BatchShape shape;
  std::size_t bytes = 0;
};

struct Capacity {
  Card card;
  std::size_t usable = 0;             ///< bytes of the card less the reserve
  std::size_t planned = 0;            ///< bytes of the plan as configured, without op workspace
  std::optional<FittingPlan> remedy;  ///< the least drastic, where the plan does not fit and something helps
  std::optional<BatchShape> largest;  ///< with every option as given: the batch at its seq_len, else seq_len alone
  [[nodiscard]] bool fits() const { return planned <= usable; }
};

/// Plans for one configuration on a GPU. Plans are kept: cards share them.
class CapacityPlanner {
 public:
  CapacityPlanner(Config config, bool keeps_gradients)
      : config_(std::move(config)), run_{PlannedMemory::device, keeps_gradients} {}

  [[nodiscard]] Capacity of(const Card& card);
  /// The least drastic plan of at most `usable` bytes, op workspace not counted; nothing where no setting helps.
  [[nodiscard]] std::optional<FittingPlan> find_remedy(std::size_t usable);

 private:
  [[nodiscard]] std::size_t planned_bytes(const Config& config);
  [[nodiscard]] Config with(const std::vector<Remedy>& remedies, const BatchShape& shape) const;
  [[nodiscard]] std::vector<Remedy> useful_remedies() const;
  [[nodiscard]] std::optional<BatchShape> largest_shape(const std::vector<Remedy>& remedies, std::size_t usable);

  Config config_;
  PlannedRun run_;
  std::vector<std::pair<Config, std::size_t>> known_;
};

}  // namespace octet
