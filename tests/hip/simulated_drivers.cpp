#include "hip/simulated_drivers.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "gpu/hip/hip_driver.h"

namespace octet::test {
namespace {

/// The simulator reads its settings once, and is loaded before anything looks for libamdhip64 by its name: the system's
/// loader then finds it in its place.
void load_simulator() {
  static void* const simulator = [] {
    ::setenv("CDNA_SIM_ARCH", "gfx942,gfx950", 1);
    ::setenv("CDNA_SIM_CHECK", "1", 1);
    return dlopen(OCTET_SIM_HIP, RTLD_NOW | RTLD_LOCAL);
  }();
  check(simulator != nullptr, "the simulator can be loaded");
}

gpu::Driver& open(int index) {
  load_simulator();
  static int current = -1;
  static std::unique_ptr<gpu::Driver> driver;
  if (index != current) {
    driver.reset();
    driver = gpu::open_hip(index);
    current = index;
  }
  return *driver;
}

}  // namespace

gpu::Driver& simulated_gfx942() {
  return open(0);
}

gpu::Driver& simulated_gfx950() {
  return open(1);
}

}  // namespace octet::test
