#include "sim/hip/watchers.h"

#include <cstddef>
#include <utility>

namespace octet::sim::hip {

Watchers::Watchers(const Program& program, const Memory& memory, int threads, bool check, bool count) {
  if (!check && !count) return;
  if (check) checks_.emplace(program, memory, threads);
  if (count) counter_.emplace(program, threads);
  for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) {
    std::vector<AccessListener*> of_thread;
    if (counter_) of_thread.push_back(counter_->listeners()[thread]);
    if (checks_) of_thread.push_back(checks_->listeners()[thread]);
    broadcasts_.emplace_back(std::move(of_thread));
  }
}

std::vector<AccessListener*> Watchers::listeners() {
  std::vector<AccessListener*> listeners;
  for (Broadcast& broadcast : broadcasts_) listeners.push_back(&broadcast);
  return listeners;
}

std::optional<std::vector<AccessCounts>> Watchers::accesses() const {
  return counter_ ? std::optional(counter_->by_instruction()) : std::nullopt;
}

}  // namespace octet::sim::hip
