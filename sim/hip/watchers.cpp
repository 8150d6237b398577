#include "sim/hip/watchers.h"

#include <cstddef>
#include <utility>

namespace octet::sim::hip {

Watchers::Watchers(const Program& program, int threads, bool check, bool traffic) {
  if (!check && !traffic) return;
  if (check) {
    races_.emplace(program, threads);
    barriers_.emplace(program, threads);
  }
  if (traffic) traffic_.emplace(program.instructions().size(), threads);
  for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) {
    std::vector<AccessListener*> of_thread;
    if (traffic_) of_thread.push_back(traffic_->listeners()[thread]);
    if (races_) of_thread.push_back(races_->listeners()[thread]);
    if (barriers_) of_thread.push_back(barriers_->listeners()[thread]);
    broadcasts_.emplace_back(std::move(of_thread));
  }
}

std::vector<AccessListener*> Watchers::listeners() {
  std::vector<AccessListener*> listeners;
  for (Broadcast& broadcast : broadcasts_) listeners.push_back(&broadcast);
  return listeners;
}

std::optional<std::vector<Traffic>> Watchers::traffic() const {
  return traffic_ ? std::optional(traffic_->by_instruction()) : std::nullopt;
}

}  // namespace octet::sim::hip
