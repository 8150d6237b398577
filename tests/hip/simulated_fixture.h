// What tests of the HIP backend share: octet finds the simulator in place of AMD's runtime.
#pragma once

#include "cli/cli_fixture.h"
#include "cli/environment.h"

namespace octet::test {

/// Simulated GPUs, one MI300X (gfx942) until `simulate` says otherwise, that look for faults in every launch.
class SimulatedTest : public CliTest {
 protected:
  void SetUp() override;

  /// Processors of the GPUs there are, with commas between, or "none".
  void simulate(const std::string& processors) { environment_.set("CDNA_SIM_ARCH", processors); }
  void set_environment(const char* name, const std::string& value) { environment_.set(name, value); }

 private:
  Environment environment_;
};

}  // namespace octet::test
