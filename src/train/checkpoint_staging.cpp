#include "train/checkpoint_staging.h"

#include <iterator>
#include <new>

#include "core/error.h"
#include "core/timing.h"
#include "ops/backend.h"

namespace octet {
namespace {

/// The arrays that a checkpoint holds, slab by slab; with the first slab what is trained without gradients.
std::vector<std::vector<Tensor>> checkpointed_arrays(const Parameters& parameters) {
  std::vector<std::vector<Tensor>> slabs;
  for (const Slab& slab : parameters.slabs()) {
    slabs.push_back({slab.values(), slab.first_moment(), slab.second_moment()});
  }
  for (const TrainedState& state : parameters.states()) slabs.front().push_back(state.values.tensor());
  return slabs;
}

std::size_t bytes_of(const std::vector<std::vector<Tensor>>& slabs) {
  std::size_t bytes = 0;
  for (const std::vector<Tensor>& arrays : slabs) {
    for (const Tensor& array : arrays) bytes += array.bytes();
  }
  return bytes;
}

}  // namespace

std::size_t checkpoint_staging_bytes(const Config& config, const Parameters& parameters) {
  const bool saves_before_the_end =
      config.checkpoint.interval > 0 && config.checkpoint.interval < config.training.steps;
  if (!config.checkpoint.asynchronous || !saves_before_the_end) return 0;
  return bytes_of(checkpointed_arrays(parameters));
}

CheckpointStaging::CheckpointStaging(ops::Device& device, const Parameters& parameters) : device_(device) {
  std::size_t offset = 0;
  for (const std::vector<Tensor>& arrays : checkpointed_arrays(parameters)) {
    std::vector<Array>& slab = slabs_.emplace_back();
    for (const Tensor& tensor : arrays) {
      const Array array = {static_cast<const std::byte*>(tensor.raw()), tensor.bytes(), offset};
      slab.push_back(array);
      by_address_.emplace(array.from, array);
      offset += array.bytes;
    }
  }
  try {
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(offset);
  } catch (const std::bad_alloc&) {
    throw UserError(
        "the copy from which checkpoints are written while training goes on takes {:.2f} GiB, which the host has not: "
        "--set checkpoint.asynchronous=false does without",
        static_cast<double>(offset) / (1U << 30U));
  }
}

void CheckpointStaging::copy() {
  for (const std::vector<Array>& arrays : slabs_) {
    for (const Array& array : arrays) device_.download(bytes_.get() + array.offset, array.from, array.bytes);
    ++copied_;
    copied_.notify_all();
  }
}

double CheckpointStaging::wait_for(std::size_t index) const {
  std::size_t copied = copied_;
  if (copied > index) return 0;
  const double begin = monotonic_seconds();
  for (; copied <= index; copied = copied_) copied_.wait(copied);
  return monotonic_seconds() - begin;
}

std::vector<FileTensor> CheckpointStaging::file_tensors(const std::vector<NamedTensor>& tensors) const {
  std::vector<FileTensor> copies;
  for (const NamedTensor& named : tensors) {
    const auto* from = static_cast<const std::byte*>(named.tensor.raw());
    const Array& array = std::prev(by_address_.upper_bound(from))->second;
    const std::size_t offset = array.offset + static_cast<std::size_t>(from - array.from);
    copies.push_back(file_tensor(named, {bytes_.get() + offset, named.tensor.bytes()}));
  }
  return copies;
}

}  // namespace octet
