#include "sim/hip/kernel_launch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/error.h"
#include "sim/counters/occupancy.h"
#include "sim/hip/errors.h"
#include "sim/hip/launch_log.h"
#include "sim/hip/runtime.h"
#include "sim/hip/watchers.h"

namespace octet::sim::hip {
namespace {

constexpr std::uint64_t kLargestWorkgroup = 1024;

std::uint64_t lanes_of(const Extent& block) {
  return std::uint64_t{block.x} * block.y * block.z;
}

void check_extents(const Kernel& kernel, const LaunchRequest& request) {
  constexpr auto kLargestX = static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max());
  constexpr std::uint32_t kLargestYz = 65536;
  const Extent& grid = request.grid;
  const Extent& block = request.block;
  require(grid.x != 0 && grid.y != 0 && grid.z != 0, hipErrorInvalidValue);
  require(block.x != 0 && block.y != 0 && block.z != 0, hipErrorInvalidConfiguration);
  require(grid.x <= kLargestX && grid.y <= kLargestYz && grid.z <= kLargestYz, hipErrorInvalidValue);
  require(std::uint64_t{grid.x} * block.x <= std::numeric_limits<std::uint32_t>::max(), hipErrorInvalidConfiguration);
  if (lanes_of(block) > kLargestWorkgroup) {
    refuse(hipErrorInvalidConfiguration, "kernel {} is launched with blocks of {} lanes: there are at most {}",
           kernel.name, lanes_of(block), kLargestWorkgroup);
  }
  if (lanes_of(block) > kernel.largest_workgroup) {
    refuse(hipErrorLaunchFailure, "kernel {} is launched with blocks of {} lanes: its launch bounds allow {}",
           kernel.name, lanes_of(block), kernel.largest_workgroup);
  }
}

void check_lds(const Kernel& kernel, const LaunchRequest& request, const Processor& processor) {
  const std::uint64_t bytes = kernel.lds_bytes + request.dynamic_lds_bytes;
  const auto most = static_cast<std::uint64_t>(processor.lds_bytes);
  if (request.dynamic_lds_bytes > most || bytes > most) {
    refuse(hipErrorInvalidValue, "kernel {} is launched with {} bytes of LDS, {} of them its own: {} has {}",
           kernel.name, bytes, kernel.lds_bytes, processor.name, most);
  }
}

std::vector<Argument> explicit_arguments(const Kernel& kernel) {
  std::vector<Argument> arguments;
  for (const Argument& argument : kernel.arguments) {
    if (!argument.kind.starts_with("hidden_")) arguments.push_back(argument);
  }
  return arguments;
}

/// {HIP_LAUNCH_PARAM_BUFFER_POINTER, buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END}
std::span<const std::byte> argument_buffer(void* const* extra) {
  const auto tag = [&](std::size_t place) { return reinterpret_cast<std::uintptr_t>(extra[place]); };
  require(tag(0) == kLaunchParamBufferPointer && tag(2) == kLaunchParamBufferSize && tag(4) == kLaunchParamEnd,
          hipErrorInvalidValue);
  require(extra[1] != nullptr && extra[3] != nullptr, hipErrorInvalidValue);
  return {static_cast<const std::byte*>(extra[1]), *static_cast<const std::size_t*>(extra[3])};
}

std::vector<std::byte> packed_arguments(const Kernel& kernel, const LaunchRequest& request) {
  const std::vector<Argument> arguments = explicit_arguments(kernel);
  std::size_t size = 0;
  for (const Argument& argument : arguments) size = std::max<std::size_t>(size, argument.offset + argument.size);
  std::vector<std::byte> packed(size);
  require(request.parameters == nullptr || request.extra == nullptr, hipErrorInvalidValue);
  if (arguments.empty()) return packed;
  if (request.extra != nullptr) {
    const std::span<const std::byte> buffer = argument_buffer(request.extra);
    if (buffer.size() < size) {
      refuse(hipErrorInvalidValue, "kernel {} takes {} bytes of arguments, and its launch passes {}", kernel.name, size,
             buffer.size());
    }
    std::copy_n(buffer.begin(), size, packed.begin());
    return packed;
  }
  require(request.parameters != nullptr, hipErrorInvalidValue);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    require(request.parameters[i] != nullptr, hipErrorInvalidValue);
    std::memcpy(packed.data() + arguments[i].offset, request.parameters[i], arguments[i].size);
  }
  return packed;
}

/// Whether a fault's message is of an access to what is not allocated, LDS and scratch included: as launches word it,
/// and Memory::describe().
bool is_illegal_access(std::string_view message) {
  constexpr std::array<std::string_view, 5> kWords{" accesses ", " past the end of '", " bytes before '",
                                                   "in no live allocation", "which was released"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view words) { return message.find(words) != std::string_view::npos; });
}

}  // namespace

KernelWork kernel_work(const ihipModuleSymbol_t& function, const LaunchRequest& request, const Device& device) {
  const Kernel& kernel = *function.kernel;
  const std::shared_ptr<LoadedCode> code = function.code.lock();
  require(code != nullptr, hipErrorInvalidDeviceFunction);
  if (&code->device != &device) {
    refuse(hipErrorInvalidDevice, "kernel {} was loaded for device {} and is launched on device {}", kernel.name,
           code->device.index(), device.index());
  }
  check_extents(kernel, request);
  check_lds(kernel, request, device.processor());
  const LaunchConfig config{request.grid, request.block, static_cast<std::uint32_t>(request.dynamic_lds_bytes)};
  return {code, kernel.name, config, packed_arguments(kernel, request)};
}

int workgroups_per_unit(const ihipModuleSymbol_t& function, std::uint32_t lanes, std::uint32_t dynamic_lds_bytes) {
  const std::shared_ptr<LoadedCode> code = function.code.lock();
  require(code != nullptr, hipErrorInvalidDeviceFunction);
  const Generation generation = code->program.object().generation;
  return static_cast<int>(occupancy(*function.kernel, generation, lanes, dynamic_lds_bytes).workgroups_per_cu);
}

void check_kernel(const KernelWork& work) {
  if (work.code.expired()) {
    refuse(hipErrorInvalidDeviceFunction, "kernel {} is launched after its module was unloaded", work.kernel);
  }
}

void run_kernel(Runtime& runtime, const KernelWork& work) {
  const std::shared_ptr<LoadedCode> code = work.code.lock();
  Watchers watchers(code->program, code->device.memory(), runtime.pool.threads(), runtime.settings.check,
                    runtime.settings.traffic);
  try {
    const LaunchResult result = launch(code->program, work.kernel, work.config, work.arguments, code->device.memory(),
                                       runtime.pool, watchers.listeners());
    if (runtime.settings.counts) {
      append_launch(*runtime.settings.counts, *code, work.config, work.kernel, result, watchers.accesses());
    }
  } catch (const Failure& fault) {
    code->device.fail(is_illegal_access(fault.what()) ? hipErrorIllegalAddress : hipErrorLaunchFailure);
    report(fault.what(), runtime.settings.errors);
  } catch (const UserError& error) {
    refuse(hipErrorNotSupported, "{}", error.what());
  }
}

}  // namespace octet::sim::hip
