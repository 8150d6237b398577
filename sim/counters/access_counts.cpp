#include "sim/counters/access_counts.h"

#include <bit>

namespace octet::sim {

AccessCounts& AccessCounts::operator+=(const AccessCounts& other) {
  global += other.global;
  lds += other.lds;
  scratch_accesses += other.scratch_accesses;
  scratch_bytes += other.scratch_bytes;
  return *this;
}

class AccessCounter::OfThread : public AccessListener {
 public:
  explicit OfThread(const Program& program)
      : counts(program.instructions().size()), generation_(program.object().generation) {}

  void on_access(const Access& access) override {
    AccessCounts& count = counts[access.instruction.number];
    count.global.of(access.kind) += traffic_of(access);
    count.lds.of(access.kind) += lds_cost(access, generation_);
    if (access.space == Space::scratch && access.lanes != 0) {
      ++count.scratch_accesses;
      count.scratch_bytes += std::uint64_t{access.bytes} * static_cast<std::uint64_t>(std::popcount(access.lanes));
    }
  }

  std::vector<AccessCounts> counts;  // [instructions]

 private:
  Generation generation_;
};

AccessCounter::AccessCounter(const Program& program, int threads) {
  for (int thread = 0; thread < threads; ++thread) threads_.push_back(std::make_shared<OfThread>(program));
}

std::vector<AccessListener*> AccessCounter::listeners() const {
  std::vector<AccessListener*> listeners;
  for (const auto& thread : threads_) listeners.push_back(thread.get());
  return listeners;
}

std::vector<AccessCounts> AccessCounter::by_instruction() const {
  std::vector<AccessCounts> sums(threads_.front()->counts.size());
  for (const auto& thread : threads_) {
    for (std::size_t number = 0; number < sums.size(); ++number) sums[number] += thread->counts[number];
  }
  return sums;
}

AccessCounts AccessCounter::total() const {
  AccessCounts sum;
  for (const AccessCounts& count : by_instruction()) sum += count;
  return sum;
}

}  // namespace octet::sim
