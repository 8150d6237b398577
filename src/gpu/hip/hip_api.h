// The functions of AMD's HIP runtime that Octet calls, found when the program runs, and what is said where they fail.
#pragma once

#include <memory>
#include <string>

#include "core/error.h"
#include "gpu/driver.h"
#include "gpu/dynamic_library.h"
#include "gpu/hip/hip_types.h"

namespace octet::gpu {

/// The functions of libamdhip64 that we call.
struct HipApi {
  DynamicLibrary library;
  hip::Result (*init)(unsigned flags) = nullptr;
  hip::Result (*runtime_get_version)(int* version) = nullptr;
  const char* (*get_error_name)(hip::Result result) = nullptr;
  const char* (*get_error_string)(hip::Result result) = nullptr;
  hip::Result (*get_device_count)(int* count) = nullptr;
  hip::Result (*get_device_properties)(hip::DeviceProperties* properties, hip::Device device) = nullptr;
  hip::Result (*set_device)(hip::Device device) = nullptr;
  hip::Result (*mem_get_info)(std::size_t* free, std::size_t* total) = nullptr;
  hip::Result (*malloc)(void** pointer, std::size_t bytes) = nullptr;
  hip::Result (*free)(void* pointer) = nullptr;
  hip::Result (*host_malloc)(void** pointer, std::size_t bytes, unsigned flags) = nullptr;
  hip::Result (*host_free)(void* pointer) = nullptr;
  hip::Result (*memcpy_to_device)(void* to, void* from, std::size_t bytes, hip::Stream stream) = nullptr;
  hip::Result (*memcpy_to_host)(void* to, void* from, std::size_t bytes, hip::Stream stream) = nullptr;
  hip::Result (*memcpy_on_device)(void* to, void* from, std::size_t bytes, hip::Stream stream) = nullptr;
  hip::Result (*memset_bytes)(void* to, int value, std::size_t bytes, hip::Stream stream) = nullptr;
  hip::Result (*module_load)(hip::Module* module, const void* image) = nullptr;
  hip::Result (*module_unload)(hip::Module module) = nullptr;
  hip::Result (*module_get_function)(hip::Function* function, hip::Module module, const char* name) = nullptr;
  hip::Result (*launch_kernel)(hip::Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                               unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                               hip::Stream stream, void** parameters, void** extra) = nullptr;
  hip::Result (*stream_create)(hip::Stream* stream, unsigned flags) = nullptr;
  hip::Result (*stream_destroy)(hip::Stream stream) = nullptr;
  hip::Result (*stream_synchronize)(hip::Stream stream) = nullptr;
  hip::Result (*begin_capture)(hip::Stream stream, hip::CaptureMode mode) = nullptr;
  hip::Result (*end_capture)(hip::Stream stream, hip::GraphHandle* graph) = nullptr;
  hip::Result (*graph_get_nodes)(hip::GraphHandle graph, void* nodes, std::size_t* count) = nullptr;
  hip::Result (*graph_instantiate)(hip::GraphExec* exec, hip::GraphHandle graph, void* error_node, char* log,
                                   std::size_t log_bytes) = nullptr;
  hip::Result (*graph_launch)(hip::GraphExec exec, hip::Stream stream) = nullptr;
  hip::Result (*graph_exec_destroy)(hip::GraphExec exec) = nullptr;
  hip::Result (*graph_destroy)(hip::GraphHandle graph) = nullptr;
  hip::Result (*event_create)(hip::Event* event) = nullptr;
  hip::Result (*event_record)(hip::Event event, hip::Stream stream) = nullptr;
  hip::Result (*event_synchronize)(hip::Event event) = nullptr;
  hip::Result (*event_elapsed)(float* milliseconds, hip::Event from, hip::Event to) = nullptr;
  hip::Result (*event_destroy)(hip::Event event) = nullptr;

  explicit HipApi(DynamicLibrary found);

  /// One line for an error code: "hipErrorOutOfMemory (out of memory)".
  [[nodiscard]] std::string describe(hip::Result result) const;

  /// DeviceFault, with what was tried, where the call did not succeed.
  template <typename... Args>
  void check_result(hip::Result result, fmt::format_string<Args...> what, Args&&... args) const {
    if (result == hip::Result::success) return;
    throw DeviceFault("the GPU failed at {}: {}", fmt::format(what, std::forward<Args>(args)...), describe(result));
  }
};

/// The runtime. UserError where there is none.
[[nodiscard]] std::shared_ptr<const HipApi> load_hip();

/// Starts the runtime; the number of GPUs that it sees. UserError where it does not start or sees none.
[[nodiscard]] int count_gpus(const HipApi& api);

/// `arch` without the features that the runtime appends: "gfx942".
[[nodiscard]] DeviceFacts facts_of(const HipApi& api, int index);

/// "7.0.51831"
[[nodiscard]] std::string runtime_version(const HipApi& api);

}  // namespace octet::gpu
