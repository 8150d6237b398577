// The two sums of a signal to noise ratio, element by element.
#include "ops/reference/difference.h"

namespace octet::ops::reference {

Energies difference(View reference, View x) {
  Energies energies;
  for (Index i = 0; i < std::ssize(reference); ++i) {
    const double error = x[i] - reference[i];
    energies.signal += reference[i] * reference[i];
    energies.noise += error * error;
  }
  return energies;
}

}  // namespace octet::ops::reference
