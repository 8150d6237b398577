#include "sim/hip/properties.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

namespace octet::sim::hip {
namespace {

constexpr int kLargestInt = std::numeric_limits<int>::max();
constexpr int kRegistersOfUnit = 65536;  // as ROCm counts them
constexpr int kLanesOfUnit = 2048;
constexpr int kLargestWorkgroup = 1024;
constexpr int kLargestGridYz = 65536;
constexpr int kTimestampKhz = 100'000;
// hipDeviceArch_t: all atomics, doubles, votes, ballots and shuffles; system fences; grids of three dimensions.
constexpr unsigned kFeatures = 0x7FFU | 1U << 12 | 1U << 15;

void put(std::span<char> target, std::string_view text) {
  std::fill(target.begin(), target.end(), '\0');
  std::copy_n(text.begin(), std::min(text.size(), target.size() - 1), target.begin());
}

}  // namespace

hipDeviceProp_tR0600 properties(const Processor& processor, int index, std::uint64_t memory_bytes) {
  hipDeviceProp_tR0600 result{};
  put(result.name, processor.product);
  put(result.gcnArchName, processor.target);
  result.uuid[15] = static_cast<char>(index + 1);
  result.totalGlobalMem = memory_bytes;
  result.sharedMemPerBlock = static_cast<std::size_t>(processor.lds_bytes);
  result.maxSharedMemoryPerMultiProcessor = result.sharedMemPerBlock;
  result.sharedMemPerMultiprocessor = result.sharedMemPerBlock * static_cast<std::size_t>(processor.compute_units);
  result.regsPerBlock = kRegistersOfUnit;
  result.regsPerMultiprocessor = kRegistersOfUnit;
  result.warpSize = processor.lanes;
  result.memPitch = kLargestInt;
  result.totalConstMem = kLargestInt;
  result.maxThreadsPerBlock = kLargestWorkgroup;
  std::fill_n(result.maxThreadsDim, 3, kLargestWorkgroup);
  result.maxGridSize[0] = kLargestInt;
  result.maxGridSize[1] = kLargestGridYz;
  result.maxGridSize[2] = kLargestGridYz;
  result.clockRate = processor.clock_khz;
  result.memoryClockRate = processor.memory_clock_khz;
  result.memoryBusWidth = processor.memory_bits;
  result.clockInstructionRate = kTimestampKhz;
  result.major = processor.major;
  result.minor = processor.minor;
  result.multiProcessorCount = processor.compute_units;
  result.l2CacheSize = processor.l2_bytes;
  result.maxThreadsPerMultiProcessor = kLanesOfUnit;
  result.maxBlocksPerMultiProcessor = kLanesOfUnit / kLargestWorkgroup;
  result.canMapHostMemory = 1;
  result.concurrentKernels = 1;
  result.ECCEnabled = 1;
  result.pciBusID = index + 1;
  result.unifiedAddressing = 1;
  result.streamPrioritiesSupported = 1;
  result.managedMemory = 1;
  result.canUseHostPointerForRegisteredMem = 1;
  result.hostRegisterSupported = 1;
  result.arch = kFeatures;
  return result;
}

hipDeviceProp_tR0000 older(const hipDeviceProp_tR0600& properties, const Processor& processor) {
  hipDeviceProp_tR0000 result{};
  put(result.name, properties.name);
  put(result.gcnArchName, properties.gcnArchName);
  result.gcnArch = processor.major * 100 + processor.minor * 10 + processor.stepping;
  result.totalGlobalMem = properties.totalGlobalMem;
  result.sharedMemPerBlock = properties.sharedMemPerBlock;
  result.maxSharedMemoryPerMultiProcessor = properties.maxSharedMemoryPerMultiProcessor;
  result.regsPerBlock = properties.regsPerBlock;
  result.warpSize = properties.warpSize;
  result.memPitch = properties.memPitch;
  result.totalConstMem = properties.totalConstMem;
  result.maxThreadsPerBlock = properties.maxThreadsPerBlock;
  std::copy_n(properties.maxThreadsDim, 3, result.maxThreadsDim);
  std::copy_n(properties.maxGridSize, 3, result.maxGridSize);
  result.clockRate = properties.clockRate;
  result.memoryClockRate = properties.memoryClockRate;
  result.memoryBusWidth = properties.memoryBusWidth;
  result.clockInstructionRate = properties.clockInstructionRate;
  result.major = properties.major;
  result.minor = properties.minor;
  result.multiProcessorCount = properties.multiProcessorCount;
  result.l2CacheSize = properties.l2CacheSize;
  result.maxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
  result.canMapHostMemory = properties.canMapHostMemory;
  result.concurrentKernels = properties.concurrentKernels;
  result.ECCEnabled = properties.ECCEnabled;
  result.pciBusID = properties.pciBusID;
  result.managedMemory = properties.managedMemory;
  result.arch = properties.arch;
  return result;
}

std::optional<int> attribute(const hipDeviceProp_tR0600& properties, hipDeviceAttribute_t attribute) {
  switch (attribute) {
    case hipDeviceAttributeEccEnabled:
      return properties.ECCEnabled;
    case hipDeviceAttributeCanMapHostMemory:
      return properties.canMapHostMemory;
    case hipDeviceAttributeClockRate:
      return properties.clockRate;
    case hipDeviceAttributeComputeMode:
      return properties.computeMode;
    case hipDeviceAttributeConcurrentKernels:
      return properties.concurrentKernels;
    case hipDeviceAttributeCooperativeLaunch:
      return properties.cooperativeLaunch;
    case hipDeviceAttributeIntegrated:
      return properties.integrated;
    case hipDeviceAttributeL2CacheSize:
      return properties.l2CacheSize;
    case hipDeviceAttributeComputeCapabilityMajor:
      return properties.major;
    case hipDeviceAttributeComputeCapabilityMinor:
      return properties.minor;
    case hipDeviceAttributeManagedMemory:
      return properties.managedMemory;
    case hipDeviceAttributeMaxBlockDimX:
      return properties.maxThreadsDim[0];
    case hipDeviceAttributeMaxBlockDimY:
      return properties.maxThreadsDim[1];
    case hipDeviceAttributeMaxBlockDimZ:
      return properties.maxThreadsDim[2];
    case hipDeviceAttributeMaxGridDimX:
      return properties.maxGridSize[0];
    case hipDeviceAttributeMaxGridDimY:
      return properties.maxGridSize[1];
    case hipDeviceAttributeMaxGridDimZ:
      return properties.maxGridSize[2];
    case hipDeviceAttributeMaxThreadsPerBlock:
      return properties.maxThreadsPerBlock;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      return properties.maxThreadsPerMultiProcessor;
    case hipDeviceAttributeMemoryBusWidth:
      return properties.memoryBusWidth;
    case hipDeviceAttributeMemoryClockRate:
      return properties.memoryClockRate;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount:
      return properties.multiProcessorCount;
    case hipDeviceAttributePciBusId:
      return properties.pciBusID;
    case hipDeviceAttributePciDeviceId:
      return properties.pciDeviceID;
    case hipDeviceAttributePciDomainId:
      return properties.pciDomainID;
    case hipDeviceAttributeMaxRegistersPerBlock:
      return properties.regsPerBlock;
    case hipDeviceAttributeMaxRegistersPerMultiprocessor:
      return properties.regsPerMultiprocessor;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(properties.sharedMemPerBlock);
    case hipDeviceAttributeUnifiedAddressing:
      return properties.unifiedAddressing;
    case hipDeviceAttributeWarpSize:
      return properties.warpSize;
    case hipDeviceAttributeMemoryPoolsSupported:
      return properties.memoryPoolsSupported;
  }
  return std::nullopt;
}

}  // namespace octet::sim::hip
