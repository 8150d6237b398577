#include "gpu/hip/code_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "fp8/format_family.h"

namespace octet::gpu {

std::string refusal_of_arch(const DeviceFacts& facts) {
  constexpr const char* kSupported = "gfx942 (MI300A, MI300X, MI325X) and gfx950 (MI350X, MI355X)";
  const auto runs = [&](const CodeObject& object) { return object.arch == facts.arch; };
  if (std::ranges::any_of(code_objects(), runs)) return {};
  const std::string who = fmt::format("{} ({})", facts.name, facts.arch);
  const std::string take = fmt::format("this octet runs on {}; take one of those, or run on the CPU", kSupported);
  if (fp8::family_of_arch(facts.arch) == fp8::FormatFamily::fnuz) {
    return fmt::format("{} has FP8 in {}, but is an early MI300 that no kernel is compiled for: {}", who,
                       fp8::name(fp8::forward_format(fp8::FormatFamily::fnuz)), take);
  }
  if (facts.arch == "gfx90a" || facts.arch == "gfx908") return fmt::format("{} has no FP8: {}", who, take);
  return fmt::format("{} is not supported: {}", who, take);
}

}  // namespace octet::gpu
