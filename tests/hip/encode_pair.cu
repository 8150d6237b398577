// Encodes in OCTET_FORMAT, which the command line names: compiles for processors that have the format, and for no
// other.
#include "kernels/prelude.h"

namespace octet::kernels {

struct Pairs {
  const float* x;        // [pairs, 2]
  std::uint16_t* codes;  // [pairs]
};

OCTET_KERNEL(64) encode_pairs(OCTET_ARGUMENTS(Pairs) pairs) {
  const int i = thread_index();
  pairs.codes[i] = encode_pair<fp8::Format::OCTET_FORMAT>(pairs.x[2 * i], pairs.x[2 * i + 1]);
}

}  // namespace octet::kernels
