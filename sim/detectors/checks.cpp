#include "sim/detectors/checks.h"

#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "sim/detectors/divergent_barriers.h"
#include "sim/detectors/lds_races.h"
#include "sim/detectors/misaligned_accesses.h"
#include "sim/detectors/read_only_writes.h"
#include "sim/detectors/uninitialised_reads.h"
#include "sim/detectors/workgroup_races.h"

namespace octet::sim {
namespace {

using Made = std::unique_ptr<AccessListener>;

template <typename Detector>
Made make(const Program& program, const Memory& memory) {
  if constexpr (std::is_constructible_v<Detector, const Program&, const Memory&>) {
    return std::make_unique<Detector>(program, memory);
  } else if constexpr (std::is_constructible_v<Detector, const Program&>) {
    return std::make_unique<Detector>(program);
  } else {
    return std::make_unique<Detector>(memory);
  }
}

struct Kind {
  std::string_view name;
  Made (*make)(const Program& program, const Memory& memory);
};

/// In the order in which they look at an access.
constexpr std::array kKinds = std::to_array<Kind>({
    {"misaligned", make<MisalignedAccesses>},
    {"read-only", make<ReadOnlyWrites>},
    {"lds-races", make<LdsRaces>},
    {"workgroup-races", make<WorkgroupRaces>},
    {"uninitialised", make<UninitialisedReads>},
    {"barriers", make<DivergentBarriers>},
});

std::vector<std::string_view> split(std::string_view names) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = names.find(',');
    parts.push_back(names.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    names.remove_prefix(comma + 1);
  }
}

/// For each of kKinds, whether it is wanted.
std::array<bool, kKinds.size()> wanted_kinds(std::string_view names) {
  std::array<bool, kKinds.size()> wanted{};
  for (const std::string_view name : split(names)) {
    bool known = false;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      if (name != "all" && name != kKinds[i].name) continue;
      wanted[i] = known = true;
    }
    if (known) continue;
    std::vector<std::string_view> choices{"all"};
    for (const Kind& kind : kKinds) choices.push_back(kind.name);
    throw UserError("there is no detector '{}': choose from {}", name, fmt::join(choices, ", "));
  }
  return wanted;
}

}  // namespace

Checks::Checks(const Program& program, const Memory& memory, int threads, std::string_view names) : threads_(threads) {
  const std::array wanted = wanted_kinds(names);
  std::vector<AccessListener*> listeners;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (!wanted[i]) continue;
    detectors_.push_back(kKinds[i].make(program, memory));
    listeners.push_back(detectors_.back().get());
  }
  all_ = std::make_unique<Broadcast>(std::move(listeners));
}

std::vector<AccessListener*> Checks::listeners() const {
  return std::vector<AccessListener*>(static_cast<std::size_t>(threads_), all_.get());
}

}  // namespace octet::sim
