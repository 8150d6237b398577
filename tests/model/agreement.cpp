#include "model/agreement.h"

#include <cmath>
#include <limits>

namespace octet::test {

using ops::reference::View;

double sqnr(View actual, View expected) {
  check(actual.size() == expected.size(), "vectors of equal length are compared");
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    signal += expected[i] * expected[i];
    noise += (actual[i] - expected[i]) * (actual[i] - expected[i]);
  }
  return 10 * std::log10(signal / noise);
}

Agreement agreement(const ModelStep& actual, const ops::reference::LlamaStep& expected) {
  Agreement found{std::abs(actual.loss - expected.loss) / expected.loss,
                  sqnr(actual.logits, expected.logits),
                  std::numeric_limits<double>::infinity(),
                  {}};
  for (const auto& [name, gradient] : expected.gradients) {
    const double here = sqnr(actual.gradients.at(name), gradient);
    if (here >= found.gradient_sqnr) continue;  // false for NaN, which is worst of all
    found.gradient_sqnr = here;
    found.worst_gradient = name;
  }
  return found;
}

}  // namespace octet::test
