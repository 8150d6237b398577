// Which products hipBLASLt computes, and by which of its proposals: those for which it was measured to be faster than
// our own MFMA kernels. There are none, as nothing was measured: own kernels compute every product that is not here.
//
// Lines are made by `OCTET_PRODUCTS=hipblaslt octet bench step --device hip --tune`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace octet::gpu {

/// `choice` counts the heuristic's proposals from 0, for that library version (major * 100000 + minor * 100 + patch)
/// and architecture. The letters are those of gpu/product_key.h.
struct HipblasltChoice {
  std::string_view arch;
  int version;
  std::int64_t m, n, k;
  char operands;
  char layout;
  char output;
  int choice;
};

inline constexpr std::array<HipblasltChoice, 0> kHipblasltChoices{};

}  // namespace octet::gpu
