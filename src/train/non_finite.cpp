#include "train/non_finite.h"

#include <fmt/format.h>

#include <algorithm>

namespace octet {
namespace {

/// The index of the first NaN or inf, or -1.
std::int64_t first_non_finite(const ops::Backend& backend, const Tensor& tensor) {
  const auto allocate = backend.device().shared_allocator();  // looking for a fault is no part of the planned step
  const auto result = allocate(sizeof(std::int64_t));
  auto* first = reinterpret_cast<std::int64_t*>(result.get());
  const ops::FindNonFinite op{tensor.raw(), first, tensor.numel(), tensor.dtype()};
  const std::size_t bytes = std::max(backend.workspace_bytes(op), sizeof(std::int64_t));
  const auto workspace = allocate(bytes);
  backend.run(op, {workspace.get(), bytes});
  backend.device().finish();
  return *first;
}

std::string place(std::string_view name, const Tensor& tensor, std::int64_t index) {
  return fmt::format("{} [row {}, column {}]", name, index / tensor.cols(), index % tensor.cols());
}

}  // namespace

std::string find_first_non_finite(Engine& engine) {
  const ops::Backend& backend = engine.backend();
  for (const Slab& slab : engine.model().parameters().slabs()) {
    for (std::size_t i = 0; i < slab.parameters().size(); ++i) {
      const Tensor weight = slab.view(i).weight;
      const std::int64_t index = first_non_finite(backend, weight);
      if (index >= 0) return place(slab.parameters()[i].name, weight, index);
    }
  }
  std::string found;
  engine.executor().set_observer([&](std::string_view name, const Tensor& tensor) {
    if (!found.empty()) return;
    const std::int64_t index = first_non_finite(backend, tensor);
    if (index >= 0) found = place(name, tensor, index);
  });
  (void)engine.compute_gradients();
  engine.executor().set_observer({});
  return found.empty() ? "the norm of gradients that are finite one by one (it overflowed)" : found;
}

}  // namespace octet
