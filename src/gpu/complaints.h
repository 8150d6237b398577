// What is said, whoever made the GPU, where a user asks for more than there is.
#pragma once

#include <string>
#include <string_view>

#include "gpu/driver.h"

namespace octet::gpu {

/// An allocation of a run's memory that `facts`' device refused.
[[nodiscard]] std::string out_of_memory(const DeviceFacts& facts, const DeviceMemory& has, std::size_t bytes);

/// Device `index` of `count`: "there is no cuda:3: ... sees 2 GPUs, cuda:0 to cuda:1".
[[nodiscard]] std::string no_such_gpu(std::string_view kind, int index, int count, std::string_view library);

}  // namespace octet::gpu
