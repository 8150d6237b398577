// Exported functions: capture, and graphs.
#include <algorithm>
#include <memory>
#include <span>

#include "sim/hip/api.h"
#include "sim/hip/errors.h"
#include "sim/hip/kernel_launch.h"
#include "sim/hip/process.h"
#include "sim/hip/runtime.h"

using namespace octet::sim::hip;

namespace {

ihipGraph& graph_of(Runtime& runtime, hipGraph_t handle) {
  return runtime.graphs.get(handle, hipErrorInvalidValue);
}

hipGraphExec& executable_of(Runtime& runtime, hipGraphExec_t handle) {
  return runtime.executables.get(handle, hipErrorInvalidValue);
}

/// For nodes of the client's making; the device is that of the kernel's module.
Work kernel_node(Runtime& runtime, const hipKernelNodeParams* parameters) {
  require(parameters != nullptr, hipErrorInvalidValue);
  auto* const handle = static_cast<hipFunction_t>(parameters->func);
  const ihipModuleSymbol_t& function = runtime.functions.get(handle, hipErrorInvalidDeviceFunction);
  const dim3& grid = parameters->gridDim;
  const dim3& block = parameters->blockDim;
  return kernel_work(function,
                     {{grid.x, grid.y, grid.z},
                      {block.x, block.y, block.z},
                      parameters->sharedMemBytes,
                      parameters->kernelParams,
                      parameters->extra},
                     function.module->code->device);
}

Work memset_node(const hipMemsetParams* parameters) {
  require(parameters != nullptr && parameters->width != 0 && parameters->height != 0, hipErrorInvalidValue);
  const std::size_t bytes = parameters->elementSize;
  require(bytes == 1 || bytes == 2 || bytes == 4, hipErrorInvalidValue);
  return FillWork{parameters->dst, parameters->pitch, parameters->value, bytes, parameters->width, parameters->height};
}

/// Adds a node of the work that `make` gives, once the other arguments are found valid.
template <typename Make>
hipError_t add(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, std::size_t count,
               const Make& make) {
  return answer([&](Runtime& runtime) {
    require(node != nullptr && (dependencies != nullptr || count == 0), hipErrorInvalidValue);
    ihipGraph& to = graph_of(runtime, graph);
    Work work = make(runtime);
    check_work(runtime, work);
    *node = add_node(to, std::move(work), std::span(dependencies, count));
  });
}

hipError_t instantiate(hipGraphExec_t* exec, hipGraph_t graph) {
  return answer([&](Runtime& runtime) {
    require(exec != nullptr, hipErrorInvalidValue);
    auto steps = std::make_shared<const Steps>(steps_of(graph_of(runtime, graph)));
    *exec = runtime.executables.add(std::make_unique<hipGraphExec>(hipGraphExec{std::move(steps)}));
  });
}

hipStreamCaptureStatus status_of(const ihipStream_t& stream) {
  if (stream.capture == nullptr) return hipStreamCaptureStatusNone;
  return stream.capture->valid ? hipStreamCaptureStatusActive : hipStreamCaptureStatusInvalidated;
}

}  // namespace

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return answer([&](Runtime& runtime) { begin_capture(runtime, runtime.stream(stream), mode); });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return answer([&](Runtime& runtime) {
    require(graph != nullptr, hipErrorInvalidValue);
    *graph = nullptr;
    *graph = runtime.graphs.add(end_capture(runtime, runtime.stream(stream)));
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return answer([&](Runtime& runtime) {
    require(status != nullptr, hipErrorInvalidValue);
    *status = status_of(runtime.stream(stream));
  });
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  return answer([&](Runtime& runtime) {
    require(status != nullptr, hipErrorInvalidValue);
    const ihipStream_t& of = runtime.stream(stream);
    *status = status_of(of);
    if (id != nullptr) *id = of.capture == nullptr ? 0 : of.capture->id;
  });
}

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) {
  return answer([&](Runtime& runtime) {
    require(graph != nullptr && flags == 0, hipErrorInvalidValue);
    *graph = runtime.graphs.add(std::make_unique<ihipGraph>());
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return answer([&](Runtime& runtime) { runtime.graphs.remove(&graph_of(runtime, graph)); });
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                 std::size_t dependency_count, const hipKernelNodeParams* parameters) {
  return add(node, graph, dependencies, dependency_count,
             [&](Runtime& runtime) { return kernel_node(runtime, parameters); });
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                   std::size_t dependency_count, void* to, const void* from, std::size_t size,
                                   hipMemcpyKind kind) {
  return add(node, graph, dependencies, dependency_count, [&](Runtime& /*runtime*/) -> Work {
    require(size != 0, hipErrorInvalidValue);
    return CopyWork{to, size, from, size, size, 1, kind};
  });
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                 std::size_t dependency_count, const hipMemsetParams* parameters) {
  return add(node, graph, dependencies, dependency_count,
             [&](Runtime& /*runtime*/) { return memset_node(parameters); });
}

hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                               std::size_t dependency_count, const hipHostNodeParams* parameters) {
  return add(node, graph, dependencies, dependency_count, [&](Runtime& /*runtime*/) -> Work {
    require(parameters != nullptr, hipErrorInvalidValue);
    return HostWork{parameters->fn, parameters->userData};
  });
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                std::size_t dependency_count) {
  return add(node, graph, dependencies, dependency_count, [](Runtime& /*runtime*/) -> Work { return EmptyWork{}; });
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                   std::size_t count) {
  return answer([&](Runtime& runtime) {
    ihipGraph& in = graph_of(runtime, graph);
    require(count == 0 || (from != nullptr && to != nullptr), hipErrorInvalidValue);
    for (std::size_t i = 0; i < count; ++i) add_dependency(in, from[i], to[i]);
  });
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, std::size_t* count) {
  return answer([&](Runtime& runtime) {
    require(count != nullptr, hipErrorInvalidValue);
    const ihipGraph& of = graph_of(runtime, graph);
    // As HIP has it: what is asked for beyond the graph's nodes is null, and the count is then theirs.
    for (std::size_t i = 0; nodes != nullptr && i < *count; ++i) {
      nodes[i] = i < of.nodes.size() ? of.nodes[i].get() : nullptr;
    }
    *count = nodes == nullptr ? of.nodes.size() : std::min(*count, of.nodes.size());
  });
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  return answer([&](Runtime& runtime) {
    require(type != nullptr, hipErrorInvalidValue);
    bool found = false;
    runtime.graphs.for_each([&](const ihipGraph& graph) { found = found || holds(graph, node); });
    require(found, hipErrorInvalidValue);
    *type = type_of(*node);
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t* error_node, char* /*log*/,
                               std::size_t /*log_size*/) {
  if (error_node != nullptr) *error_node = nullptr;
  return instantiate(exec, graph);
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long /*flags*/) {
  return instantiate(exec, graph);
}

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return answer([&](Runtime& runtime) {
    static_cast<void>(executable_of(runtime, exec));
    forbid_while_capturing(runtime.stream(stream));
  });
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return answer([&](Runtime& runtime) {
    const std::shared_ptr<const Steps> steps = executable_of(runtime, exec).steps;
    ihipStream_t& on = runtime.stream(stream);
    forbid_while_capturing(on);
    const Device& device = on.device;
    if (runtime.is_default(on)) forbid_default_stream(runtime, device);
    for (const Step& step : *steps) {
      if (!device.is_sound()) return;  // what failed is told at the next call
      execute(runtime, step.work);
    }
  });
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t* error_node,
                              hipGraphExecUpdateResult* result) {
  return answer([&](Runtime& runtime) {
    require(error_node != nullptr && result != nullptr, hipErrorInvalidValue);
    hipGraphExec& of = executable_of(runtime, exec);
    Steps next = steps_of(graph_of(runtime, graph));
    *error_node = nullptr;
    *result = compare(*of.steps, next);
    require(*result == hipGraphExecUpdateSuccess, hipErrorGraphExecUpdateFailure);
    // Nodes go by the names of the graph that was instantiated.
    for (std::size_t i = 0; i < next.size(); ++i) next[i].node = (*of.steps)[i].node;
    of.steps = std::make_shared<const Steps>(std::move(next));
  });
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams* parameters) {
  return answer([&](Runtime& runtime) {
    hipGraphExec& of = executable_of(runtime, exec);
    Steps steps = *of.steps;
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const Step& each) { return each.node == node; });
    require(step != steps.end() && std::holds_alternative<KernelWork>(step->work), hipErrorInvalidValue);
    step->work = kernel_node(runtime, parameters);
    of.steps = std::make_shared<const Steps>(std::move(steps));
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return answer([&](Runtime& runtime) { runtime.executables.remove(&executable_of(runtime, exec)); });
}
