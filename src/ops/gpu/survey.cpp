// How a GPU that was found is described.
#include <fmt/format.h>

#include "ops/gpu/gpu_backend.h"

namespace octet::ops {

FoundGpu describe_gpu(std::string name, const octet::gpu::SurveyedGpu& gpu) {
  const octet::gpu::DeviceFacts& facts = gpu.facts;
  constexpr double kGiB = 1U << 30U;
  return {
      .name = std::move(name),
      .description = fmt::format("{} ({}, {} multiprocessors, {:.1f} GiB), {}", facts.name, facts.arch,
                                 facts.multiprocessors, static_cast<double>(facts.memory_bytes) / kGiB, facts.runtime),
      .arch = facts.arch,
      .family = fp8::family_of_arch(facts.arch),
      .warp_size = facts.warp_size,
      .shared_bytes = facts.shared_bytes,
      .refusal = gpu.refusal};
}

}  // namespace octet::ops
