// A copy of all that a checkpoint holds, in host memory, from which it is written while training goes on.
//
// Steps change parameters and moments in their update alone, slab by slab. So the copy is made behind the next step's
// forward and backward, in the order of the update, which waits for no more than the slab that it is about to change.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "io/config.h"
#include "io/safetensors.h"
#include "model/parameters.h"
#include "train/named_tensors.h"

namespace octet {

/// Bytes of the copy that a run keeps; 0 where none of its saves has a step behind it, or where they are synchronous.
[[nodiscard]] std::size_t checkpoint_staging_bytes(const Config& config, const Parameters& parameters);

class CheckpointStaging {
 public:
  /// Takes its memory; the system provides it as it is first written to. Throws UserError where it has none.
  CheckpointStaging(ops::Device& device, const Parameters& parameters);

  /// Before a copy: from now on no slab is copied.
  void begin() { copied_ = 0; }
  /// Copies slab after slab. Any thread may do so where the device computes in the host's memory; elsewhere it is the
  /// loop's, which waits for the device.
  void copy();
  /// Waits until slab `index` is copied, and with slab 0 what is trained without gradients. Seconds that took.
  [[nodiscard]] double wait_for(std::size_t index) const;

  /// The copies of tensors that view the slabs, as files hold them.
  [[nodiscard]] std::vector<FileTensor> file_tensors(const std::vector<NamedTensor>& tensors) const;

 private:
  struct Array {
    const std::byte* from;
    std::size_t bytes;
    std::size_t offset;  ///< in the copy
  };

  ops::Device& device_;
  std::vector<std::vector<Array>> slabs_;         ///< in the order of the update
  std::map<const std::byte*, Array> by_address_;  ///< the same
  std::unique_ptr<std::byte[]> bytes_;
  std::atomic<std::size_t> copied_ = 0;  ///< slabs so far
};

}  // namespace octet
