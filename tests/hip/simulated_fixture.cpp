#include "hip/simulated_fixture.h"

namespace octet::test {

void SimulatedTest::SetUp() {
  CliTest::SetUp();
  set_environment("LD_LIBRARY_PATH", OCTET_SIM_HIP);
  set_environment("CDNA_SIM_CHECK", "1");
}

}  // namespace octet::test
