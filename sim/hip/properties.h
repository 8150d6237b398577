// What HIP says of a device: both layouts of its properties, and single attributes.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/hip/abi.h"
#include "sim/hip/abi_properties.h"
#include "sim/hip/processors.h"

namespace octet::sim::hip {

/// `index` is the device's number, which its PCI address follows.
[[nodiscard]] hipDeviceProp_tR0600 properties(const Processor& processor, int index, std::uint64_t memory_bytes);

/// The older layout, of the same contents.
[[nodiscard]] hipDeviceProp_tR0000 older(const hipDeviceProp_tR0600& properties, const Processor& processor);

/// Nothing for an attribute that has no value here.
[[nodiscard]] std::optional<int> attribute(const hipDeviceProp_tR0600& properties, hipDeviceAttribute_t attribute);

}  // namespace octet::sim::hip
