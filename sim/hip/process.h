// The way from an exported function into the runtime: one lock, errors into codes, what a thread remembers.
#pragma once

#include <functional>

#include "sim/hip/abi.h"

namespace octet::sim::hip {

struct Runtime;

/// What HIP keeps for each thread of the client.
struct ThreadState {
  int device = 0;
  hipError_t last_error = hipSuccess;  ///< until it is asked for
};
[[nodiscard]] ThreadState& thread_state();

/// Runs `body` on the process's runtime, which the first call makes from the environment, while no other thread is in
/// it. Exceptions become HIP's code; their message is reported.
hipError_t answer(const std::function<void(Runtime&)>& body);

/// For what must run while others may call, within answer(): lets go of the lock meanwhile.
void without_lock(const std::function<void()>& body);

}  // namespace octet::sim::hip
