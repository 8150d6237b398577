#include "gpu/complaints.h"

#include <fmt/format.h>

namespace octet::gpu {

std::string out_of_memory(const DeviceFacts& facts, const DeviceMemory& has, std::size_t bytes) {
  constexpr double kGiB = 1U << 30U;
  return fmt::format(
      "the plan takes {:.2f} GiB, and {} cannot give it: {:.2f} GiB of its {:.2f} are free; lower training.seq_len or "
      "batch_size, or see what octet train --dry-run proposes",
      static_cast<double>(bytes) / kGiB, facts.name, static_cast<double>(has.free_bytes) / kGiB,
      static_cast<double>(has.total_bytes) / kGiB);
}

std::string no_such_gpu(std::string_view kind, int index, int count, std::string_view library) {
  return fmt::format("there is no {0}:{1}: {2} sees {3}, {0}:0{4}", kind, index, library,
                     count == 1 ? "one GPU" : fmt::format("{} GPUs", count),
                     count == 1 ? "" : fmt::format(" to {}:{}", kind, count - 1));
}

}  // namespace octet::gpu
