#include "train/named_tensors.h"

namespace octet {
namespace {

FileDType file_dtype_of(DType dtype) {
  check(dtype == DType::f32 || dtype == DType::bf16, "a slab holds fp32 or bf16");
  return dtype == DType::f32 ? FileDType::f32 : FileDType::bf16;
}

/// `tensor_of` takes a slab and the place of a parameter in it.
template <typename TensorOf>
std::vector<NamedTensor> cut_into_parts(const Parameters& parameters, std::string_view prefix,
                                        const TensorOf& tensor_of) {
  std::vector<NamedTensor> tensors;
  for (const Slab& slab : parameters.slabs()) {
    for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
      const Tensor whole = tensor_of(slab, i);
      std::int64_t row = 0;
      for (const ParameterPart& part : slab.parameters()[i].parts) {
        tensors.push_back({std::string(prefix) + part.name, whole.row_range(row, part.rows)});
        row += part.rows;
      }
    }
  }
  return tensors;
}

}  // namespace

std::vector<NamedTensor> named_tensors(const Parameters& parameters, std::string_view prefix,
                                       const Tensor& (Slab::*array)() const) {
  return cut_into_parts(parameters, prefix, [array](const Slab& slab, std::size_t i) {
    return part_of((slab.*array)(), slab.parameters()[i]);
  });
}

std::vector<NamedTensor> named_gradients(const Parameters& parameters, std::string_view prefix) {
  return cut_into_parts(parameters, prefix, [](const Slab& slab, std::size_t i) { return slab.gradient(i); });
}

FileTensor file_tensor(const NamedTensor& named, std::span<const std::byte> bytes) {
  const Tensor& tensor = named.tensor;
  const auto cols = static_cast<std::uint64_t>(tensor.cols());
  std::vector<std::uint64_t> shape = {cols};
  if (tensor.rows() != 1) shape = {static_cast<std::uint64_t>(tensor.rows()), cols};
  return {named.name, file_dtype_of(tensor.dtype()), std::move(shape), bytes};
}

}  // namespace octet
