#include "sim/detectors/divergent_barriers.h"

#include <bit>

#include "core/error.h"

namespace octet::sim {

void DivergentBarriers::on_barrier(std::span<const Waiting> waiting, std::size_t ended) {
  if (waiting.empty()) return;
  const Waiting& first = waiting.front();
  for (const Waiting& wave : waiting) {
    if (wave.instruction != first.instruction) {
      throw Failure("divergent barriers: wave {} waits at {}; wave {} at {}", first.wave,
                    program_.place(first.instruction), wave.wave, program_.place(wave.instruction));
    }
    if (wave.absent_lanes != 0) {
      throw Failure("divergent barrier: lane {} of wave {}, and {} lanes in all, do not reach {}",
                    std::countr_zero(wave.absent_lanes), wave.wave, std::popcount(wave.absent_lanes),
                    program_.place(wave.instruction));
    }
  }
  if (ended > 0) {
    throw Failure("divergent barrier: {} waves have ended without reaching it, wave {} waits at {}", ended, first.wave,
                  program_.place(first.instruction));
  }
}

}  // namespace octet::sim
