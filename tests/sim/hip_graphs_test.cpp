// The stand-in libamdhip64: capture of streams, graphs built by hand, their launch and update.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "sim/hip_client.h"

namespace octet::sim {
namespace {

class HipGraphs : public testing::TestWithParam<Generation> {
 protected:
  [[nodiscard]] hipStream_t stream() const {
    hipStream_t created = nullptr;
    EXPECT_EQ(hip.hipStreamCreate(&created), hipSuccess);
    return created;
  }
  [[nodiscard]] hipEvent_t event() const {
    hipEvent_t created = nullptr;
    EXPECT_EQ(hip.hipEventCreate(&created), hipSuccess);
    return created;
  }
  [[nodiscard]] hipGraphExec_t instantiate(hipGraph_t graph) const {
    hipGraphExec_t exec = nullptr;
    EXPECT_EQ(hip.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
    return exec;
  }
  void begin(hipStream_t on, hipStreamCaptureMode mode = hipStreamCaptureModeGlobal) const {
    EXPECT_EQ(hip.hipStreamBeginCapture(on, mode), hipSuccess);
  }
  [[nodiscard]] hipGraph_t end(hipStream_t on) const {
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hip.hipStreamEndCapture(on, &graph), hipSuccess);
    return graph;
  }
  [[nodiscard]] std::size_t node_count(hipGraph_t graph) const {
    std::size_t count = 0;
    EXPECT_EQ(hip.hipGraphGetNodes(graph, nullptr, &count), hipSuccess);
    return count;
  }

  Hip hip{environment(GetParam())};
  hipModule_t module = load_module(hip, "modules", GetParam());
  hipFunction_t add = function_of(hip, module, "add_addends");  // adds 1, 20, 300, 4000
};

TEST_P(HipGraphs, NothingRunsBeforeTheGraphIsLaunched) {
  const hipStream_t on = stream();
  u32* const values = upload(hip, std::vector<u32>(4));
  u32* const copied = upload(hip, std::vector<u32>(4));
  begin(on);
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  unsigned long long id = 0;
  EXPECT_EQ(hip.hipStreamGetCaptureInfo(on, &status, &id), hipSuccess);
  EXPECT_EQ(status, hipStreamCaptureStatusActive);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(hip.hipMemsetAsync(values, 0, 16, on), hipSuccess);
  {
    u32 count = 4;  // arguments are copied: these are gone when the graph runs
    EXPECT_EQ(launch(hip, add, 1, on, values, count), hipSuccess);
    EXPECT_EQ(launch(hip, add, 1, on, values, 3U), hipSuccess);
  }
  EXPECT_EQ(hip.hipMemcpyAsync(copied, values, 16, hipMemcpyDeviceToDevice, on), hipSuccess);
  const hipGraph_t graph = end(on);
  EXPECT_EQ(hip.hipStreamIsCapturing(on, &status), hipSuccess);
  EXPECT_EQ(status, hipStreamCaptureStatusNone);
  EXPECT_EQ(node_count(graph), 4U);
  EXPECT_EQ(download(hip, copied, 4), std::vector<u32>(4));
  hipGraphExec_t exec = instantiate(graph);
  EXPECT_EQ(hip.hipGraphDestroy(graph), hipSuccess);  // the executable one does not need it
  EXPECT_EQ(hip.hipGraphUpload(exec, on), hipSuccess);
  EXPECT_EQ(download(hip, copied, 4), std::vector<u32>(4));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(hip.hipMemset(copied, 0, 16), hipSuccess);
    EXPECT_EQ(hip.hipGraphLaunch(exec, on), hipSuccess);
    EXPECT_EQ(hip.hipStreamSynchronize(on), hipSuccess);
    EXPECT_EQ(download(hip, copied, 4), (std::vector<u32>{2, 40, 600, 4000}));
  }
  EXPECT_EQ(hip.hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hip.hipGraphExecDestroy(exec), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipGraphLaunch(exec, on), hipErrorInvalidValue);
}

TEST_P(HipGraphs, AStreamJoinsACaptureThroughEvents) {
  const hipStream_t first = stream();
  const hipStream_t second = stream();
  const hipEvent_t fork = event();
  const hipEvent_t join = event();
  u32* const a = upload(hip, std::vector<u32>(4));
  u32* const b = upload(hip, std::vector<u32>(4));
  begin(first);
  EXPECT_EQ(hip.hipMemsetD32Async(a, 10, 4, first), hipSuccess);
  EXPECT_EQ(hip.hipEventRecord(fork, first), hipSuccess);
  EXPECT_EQ(hip.hipStreamWaitEvent(second, fork, 0), hipSuccess);
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  EXPECT_EQ(hip.hipStreamIsCapturing(second, &status), hipSuccess);
  EXPECT_EQ(status, hipStreamCaptureStatusActive);
  EXPECT_EQ(hip.hipMemcpyAsync(b, a, 16, hipMemcpyDeviceToDevice, second), hipSuccess);
  EXPECT_EQ(hip.hipEventRecord(join, second), hipSuccess);
  EXPECT_EQ(hip.hipStreamWaitEvent(first, join, 0), hipSuccess);
  EXPECT_EQ(launch(hip, add, 1, first, b, 4U), hipSuccess);
  const hipGraph_t graph = end(first);
  EXPECT_EQ(hip.hipStreamIsCapturing(second, &status), hipSuccess);
  EXPECT_EQ(status, hipStreamCaptureStatusNone);
  EXPECT_EQ(node_count(graph), 3U);
  const hipGraphExec_t exec = instantiate(graph);
  EXPECT_EQ(download(hip, b, 4), std::vector<u32>(4));
  EXPECT_EQ(hip.hipGraphLaunch(exec, second), hipSuccess);
  EXPECT_EQ(download(hip, b, 4), (std::vector<u32>{11, 30, 310, 4010}));
}

TEST_P(HipGraphs, WorkThatWasNotJoinedEndsACaptureWithoutAGraph) {
  const hipStream_t first = stream();
  const hipStream_t second = stream();
  const hipEvent_t fork = event();
  u32* const a = upload(hip, std::vector<u32>(4));
  begin(first);
  EXPECT_EQ(hip.hipEventRecord(fork, first), hipSuccess);
  EXPECT_EQ(hip.hipStreamWaitEvent(second, fork, 0), hipSuccess);
  EXPECT_EQ(hip.hipMemsetAsync(a, 1, 16, second), hipSuccess);
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hip.hipStreamEndCapture(second, &graph), hipErrorStreamCaptureUnmatched);
  EXPECT_EQ(hip.hipStreamEndCapture(first, &graph), hipErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(hip.hipStreamEndCapture(first, &graph), hipErrorIllegalState);
  EXPECT_EQ(hip.hipMemsetAsync(a, 2, 16, second), hipSuccess);  // runs now
  EXPECT_EQ(download(hip, a, 1)[0], 0x02020202U);
}

TEST_P(HipGraphs, WhatDisturbsACaptureIsRefusedAndInvalidatesIt) {
  const hipStream_t on = stream();
  const hipStream_t apart = stream();
  const hipEvent_t outside = event();
  const hipEvent_t inside = event();
  u32* const a = upload(hip, std::vector<u32>(4));
  u32 word = 0;
  EXPECT_EQ(hip.hipEventRecord(outside, apart), hipSuccess);
  void* pointer = nullptr;
  struct Disturbance {
    std::function<hipError_t()> call;
    hipError_t code;
  };
  const std::vector<Disturbance> disturbances{
      {[&] { return hip.hipStreamSynchronize(on); }, hipErrorStreamCaptureUnsupported},
      {[&] { return hip.hipDeviceSynchronize(); }, hipErrorStreamCaptureUnsupported},
      {[&] { return hip.hipMalloc(&pointer, 16); }, hipErrorStreamCaptureUnsupported},
      {[&] { return hip.hipFree(a); }, hipErrorStreamCaptureUnsupported},
      {[&] { return hip.hipMallocAsync(&pointer, 16, on); }, hipErrorStreamCaptureUnsupported},
      {[&] { return hip.hipMemcpy(&word, a, 4, hipMemcpyDeviceToHost); }, hipErrorStreamCaptureImplicit},
      {[&] { return hip.hipMemsetAsync(a, 0, 4, nullptr); }, hipErrorStreamCaptureImplicit},
      {[&] { return hip.hipEventSynchronize(inside); }, hipErrorCapturedEvent},
      {[&] { return hip.hipStreamWaitEvent(on, outside, 0); }, hipErrorStreamCaptureIsolation},
      {[&] { return hip.hipStreamWaitEvent(nullptr, inside, 0); }, hipErrorStreamCaptureImplicit},
  };
  for (std::size_t i = 0; i < disturbances.size(); ++i) {
    begin(on);
    EXPECT_EQ(hip.hipEventRecord(inside, on), hipSuccess);
    EXPECT_EQ(disturbances[i].call(), disturbances[i].code) << i;
    EXPECT_EQ(hip.hipMemsetAsync(a, 0, 4, on), hipErrorStreamCaptureInvalidated) << i;
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    EXPECT_EQ(hip.hipStreamIsCapturing(on, &status), hipSuccess);
    EXPECT_EQ(status, hipStreamCaptureStatusInvalidated) << i;
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hip.hipStreamEndCapture(on, &graph), hipErrorStreamCaptureInvalidated) << i;
    EXPECT_EQ(hip.hipMemsetAsync(a, 0, 4, on), hipSuccess) << i;
  }
  begin(on, hipStreamCaptureModeRelaxed);  // forbids nothing that does not touch its own streams
  EXPECT_EQ(hip.hipMalloc(&pointer, 16), hipSuccess);
  static_cast<void>(end(on));
}

TEST_P(HipGraphs, TwoCapturesStayTwo) {
  const hipStream_t first = stream();
  const hipStream_t second = stream();
  const hipEvent_t recorded = event();
  begin(first, hipStreamCaptureModeRelaxed);
  begin(second, hipStreamCaptureModeRelaxed);
  EXPECT_EQ(hip.hipStreamBeginCapture(first, hipStreamCaptureModeRelaxed), hipErrorIllegalState);
  EXPECT_EQ(hip.hipStreamBeginCapture(nullptr, hipStreamCaptureModeRelaxed), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hip.hipEventRecord(recorded, first), hipSuccess);
  EXPECT_EQ(hip.hipStreamWaitEvent(second, recorded, 0), hipErrorStreamCaptureMerge);
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hip.hipStreamEndCapture(first, &graph), hipErrorStreamCaptureInvalidated);
  EXPECT_EQ(hip.hipStreamEndCapture(second, &graph), hipErrorStreamCaptureInvalidated);
  begin(first, hipStreamCaptureModeThreadLocal);
  std::thread([&] {
    void* pointer = nullptr;
    EXPECT_EQ(hip.hipMalloc(&pointer, 16), hipSuccess);  // another thread's affair
    EXPECT_EQ(hip.hipStreamEndCapture(first, &graph), hipErrorStreamCaptureWrongThread);
  }).join();
  begin(first);
  EXPECT_EQ(hip.hipStreamDestroy(first), hipSuccess);  // takes its capture along
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipSuccess);
}

hipKernelNodeParams kernel_node(hipFunction_t function, void** parameters) {
  return {{4, 1, 1}, nullptr, function, {1, 1, 1}, parameters, 0};
}

void increment(void* count) {
  ++*static_cast<int*>(count);
}

TEST_P(HipGraphs, ABuiltGraphKeepsItsOrder) {
  u32* device = upload(hip, std::vector<u32>(4));
  std::vector<u32> host(4);
  u32 count = 4;
  int calls = 0;
  std::array<void*, 2> parameters{&device, &count};
  const hipKernelNodeParams kernel = kernel_node(add, parameters.data());
  const hipMemsetParams fill{device, 4, 1, 0, 5, 4};
  const hipHostNodeParams call{increment, &calls};
  hipGraph_t graph = nullptr;
  std::array<hipGraphNode_t, 5> nodes{};
  EXPECT_EQ(hip.hipGraphCreate(&graph, 0), hipSuccess);
  // Added in the reverse of their order.
  EXPECT_EQ(hip.hipGraphAddHostNode(&nodes[4], graph, nullptr, 0, &call), hipSuccess);
  EXPECT_EQ(hip.hipGraphAddMemcpyNode1D(&nodes[3], graph, nullptr, 0, host.data(), device, 16, hipMemcpyDeviceToHost),
            hipSuccess);
  EXPECT_EQ(hip.hipGraphAddEmptyNode(&nodes[2], graph, nullptr, 0), hipSuccess);
  EXPECT_EQ(hip.hipGraphAddMemsetNode(&nodes[0], graph, nullptr, 0, &fill), hipSuccess);
  EXPECT_EQ(hip.hipGraphAddKernelNode(&nodes[1], graph, nodes.data(), 1, &kernel), hipSuccess);
  const std::array<hipGraphNode_t, 2> from{nodes[1], nodes[2]};
  const std::array<hipGraphNode_t, 2> to{nodes[2], nodes[3]};
  EXPECT_EQ(hip.hipGraphAddDependencies(graph, from.data(), to.data(), 2), hipSuccess);
  EXPECT_EQ(hip.hipGraphAddDependencies(graph, from.data(), to.data(), 1), hipErrorInvalidValue);  // is there already
  constexpr std::array kTypes{hipGraphNodeTypeMemset, hipGraphNodeTypeKernel, hipGraphNodeTypeEmpty,
                              hipGraphNodeTypeMemcpy, hipGraphNodeTypeHost};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    hipGraphNodeType type = hipGraphNodeTypeEmpty;
    EXPECT_EQ(hip.hipGraphNodeGetType(nodes[i], &type), hipSuccess);
    EXPECT_EQ(type, kTypes[i]);
  }
  hipGraphExec_t exec = nullptr;
  EXPECT_EQ(hip.hipGraphInstantiateWithFlags(&exec, graph, 0), hipSuccess);
  EXPECT_EQ(hip.hipGraphLaunch(exec, nullptr), hipSuccess);
  EXPECT_EQ(hip.hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(host, (std::vector<u32>{6, 25, 305, 4005}));
  EXPECT_EQ(calls, 1);

  count = 2;
  EXPECT_EQ(hip.hipGraphExecKernelNodeSetParams(exec, nodes[1], &kernel), hipSuccess);
  EXPECT_EQ(hip.hipGraphExecKernelNodeSetParams(exec, nodes[0], &kernel), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipGraphLaunch(exec, nullptr), hipSuccess);
  EXPECT_EQ(host, (std::vector<u32>{6, 25, 5, 5}));

  EXPECT_EQ(hip.hipGraphAddDependencies(graph, &nodes[3], &nodes[0], 1), hipSuccess);  // round in a circle
  EXPECT_EQ(hip.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipGraphDestroy(graph), hipSuccess);
  EXPECT_EQ(hip.hipGraphDestroy(graph), hipErrorInvalidValue);
}

TEST_P(HipGraphs, NodesAreChecked) {
  u32* device = upload(hip, std::vector<u32>(4));
  hipGraph_t graph = nullptr;
  hipGraph_t other = nullptr;
  hipGraphNode_t node = nullptr;
  hipGraphNode_t strange = nullptr;
  EXPECT_EQ(hip.hipGraphCreate(&graph, 0), hipSuccess);
  EXPECT_EQ(hip.hipGraphCreate(&other, 0), hipSuccess);
  EXPECT_EQ(hip.hipGraphCreate(&other, 1), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipGraphAddEmptyNode(&strange, other, nullptr, 0), hipSuccess);
  EXPECT_EQ(hip.hipGraphAddEmptyNode(&node, graph, &strange, 1), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipGraphAddEmptyNode(&node, nullptr, nullptr, 0), hipErrorInvalidValue);
  const hipMemsetParams wide{device, 8, 1, 0, 5, 2};
  EXPECT_EQ(hip.hipGraphAddMemsetNode(&node, graph, nullptr, 0, &wide), hipErrorInvalidValue);
  const hipMemsetParams rows{device, 1, 2, 8, 0xAB, 3};  // two rows of three bytes
  EXPECT_EQ(hip.hipGraphAddMemsetNode(&node, graph, nullptr, 0, &rows), hipSuccess);
  u32 word = 0;
  EXPECT_EQ(hip.hipGraphAddMemcpyNode1D(&node, graph, nullptr, 0, &word, device, 17, hipMemcpyDeviceToHost),
            hipErrorInvalidValue);
  std::array<void*, 2> parameters{&device, &word};
  const hipKernelNodeParams unknown = kernel_node(reinterpret_cast<hipFunction_t>(&word), parameters.data());
  EXPECT_EQ(hip.hipGraphAddKernelNode(&node, graph, nullptr, 0, &unknown), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(node_count(graph), 1U);
  EXPECT_EQ(hip.hipGraphLaunch(instantiate(graph), nullptr), hipSuccess);
  EXPECT_EQ(download(hip, device, 4), (std::vector<u32>{0x00ABABAB, 0, 0x00ABABAB, 0}));
}

TEST_P(HipGraphs, AnExecutableGraphIsUpdatedFromOneOfTheSameShape) {
  const hipStream_t on = stream();
  u32* const values = upload(hip, std::vector<u32>(4));
  const auto captured = [&](int start, bool twice) {
    begin(on);
    EXPECT_EQ(hip.hipMemsetD32Async(values, start, 4, on), hipSuccess);
    EXPECT_EQ(launch(hip, add, 1, on, values, 4U), hipSuccess);
    if (twice) {
      EXPECT_EQ(launch(hip, add, 1, on, values, 4U), hipSuccess);
    }
    return end(on);
  };
  const hipGraphExec_t exec = instantiate(captured(1, false));
  hipGraphNode_t node = nullptr;
  hipGraphExecUpdateResult result = hipGraphExecUpdateErrorTopologyChanged;
  EXPECT_EQ(hip.hipGraphExecUpdate(exec, captured(7, false), &node, &result), hipSuccess);
  EXPECT_EQ(result, hipGraphExecUpdateSuccess);
  EXPECT_EQ(hip.hipGraphLaunch(exec, on), hipSuccess);
  EXPECT_EQ(download(hip, values, 4), (std::vector<u32>{8, 27, 307, 4007}));
  EXPECT_EQ(hip.hipGraphExecUpdate(exec, captured(0, true), &node, &result), hipErrorGraphExecUpdateFailure);
  EXPECT_EQ(result, hipGraphExecUpdateErrorTopologyChanged);
  begin(on);
  EXPECT_EQ(launch(hip, add, 1, on, values, 4U), hipSuccess);
  EXPECT_EQ(launch(hip, add, 1, on, values, 4U), hipSuccess);
  EXPECT_EQ(hip.hipGraphExecUpdate(exec, end(on), &node, &result), hipErrorGraphExecUpdateFailure);
  EXPECT_EQ(result, hipGraphExecUpdateErrorNodeTypeChanged);
}

TEST_P(HipGraphs, WhatIsGoneWhenItIsLaunchedIsFound) {
  const hipStream_t on = stream();
  u32* const values = upload(hip, std::vector<u32>(4));
  begin(on);
  EXPECT_EQ(hip.hipMemsetD32Async(values, 1, 4, on), hipSuccess);
  const hipGraphExec_t fill = instantiate(end(on));
  begin(on);
  EXPECT_EQ(launch(hip, add, 1, on, values, 4U), hipSuccess);
  const hipGraphExec_t kernel = instantiate(end(on));
  EXPECT_EQ(hip.hipFree(values), hipSuccess);
  EXPECT_EQ(hip.hipGraphLaunch(fill, on), hipErrorInvalidValue);
  EXPECT_EQ(hip.hipModuleUnload(module), hipSuccess);
  EXPECT_EQ(hip.hipGraphLaunch(kernel, on), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hip.hipStreamSynchronize(on), hipSuccess);
}

TEST_P(HipGraphs, AFaultStopsAGraph) {
  const hipStream_t on = stream();
  u32* const values = upload(hip, std::vector<u32>(4));
  void* pinned = nullptr;
  EXPECT_EQ(hip.hipHostMalloc(&pinned, 4, 0), hipSuccess);
  auto* const flag = static_cast<u32*>(pinned);
  *flag = 0;
  begin(on);
  EXPECT_EQ(launch(hip, add, 1, on, values, 5U), hipSuccess);
  EXPECT_EQ(hip.hipMemsetD32Async(flag, 1, 1, on), hipSuccess);
  const hipGraphExec_t exec = instantiate(end(on));
  EXPECT_EQ(hip.hipGraphLaunch(exec, on), hipSuccess);
  EXPECT_EQ(hip.hipStreamSynchronize(on), hipErrorIllegalAddress);
  EXPECT_EQ(*flag, 0U);
}

INSTANTIATE_TEST_SUITE_P(Generations, HipGraphs, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
