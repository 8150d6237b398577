// A model's tensors under the names that checkpoints and records know: merged matrices in their parts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"
#include "model/parameters.h"

namespace octet {

struct NamedTensor {
  std::string name;
  Tensor tensor;  ///< views the slab
};

/// One of the slabs' arrays (&Slab::master, say), cut into the parts of its parameters, in the model's order. Names
/// are those of the parts, behind `prefix`.
[[nodiscard]] std::vector<NamedTensor> named_tensors(const Parameters& parameters, std::string_view prefix,
                                                     const Tensor& (Slab::*array)() const);
/// The same of gradients.
[[nodiscard]] std::vector<NamedTensor> named_gradients(const Parameters& parameters, std::string_view prefix);

/// The tensor as a file holds it, with `bytes` on the host; a single row is a vector there.
[[nodiscard]] FileTensor file_tensor(const NamedTensor& named, std::span<const std::byte> bytes);

}  // namespace octet
