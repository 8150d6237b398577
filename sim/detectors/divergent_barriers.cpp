#include "sim/detectors/divergent_barriers.h"

#include <bit>
#include <cstdint>

#include "core/error.h"

namespace octet::sim {

class DivergentBarrierDetector::OfThread : public AccessListener {
 public:
  explicit OfThread(const Program& program) : program_(program) {}

  void on_barrier(std::span<const Waiting> waiting, std::size_t ended) override {
    if (waiting.empty()) return;
    const Waiting& first = waiting.front();
    for (const Waiting& wave : waiting) {
      if (wave.instruction != first.instruction) {
        throw Failure("divergent barriers: wave {} waits at {:#x}, wave {} at {:#x}", first.wave,
                      program_.address(first.instruction), wave.wave, program_.address(wave.instruction));
      }
      if (wave.absent_lanes != 0) {
        throw Failure("divergent barrier: lane {} of wave {}, and {} lanes in all, do not reach {:#x}",
                      std::countr_zero(wave.absent_lanes), wave.wave, std::popcount(wave.absent_lanes),
                      program_.address(wave.instruction));
      }
    }
    if (ended > 0) {
      throw Failure("divergent barrier: wave {} waits at {:#x}, and {} waves have ended without reaching it",
                    first.wave, program_.address(first.instruction), ended);
    }
  }

 private:
  const Program& program_;
};

DivergentBarrierDetector::DivergentBarrierDetector(const Program& program, int threads) {
  for (int thread = 0; thread < threads; ++thread) threads_.push_back(std::make_shared<OfThread>(program));
}

std::vector<AccessListener*> DivergentBarrierDetector::listeners() const {
  std::vector<AccessListener*> listeners;
  for (const auto& thread : threads_) listeners.push_back(thread.get());
  return listeners;
}

}  // namespace octet::sim
