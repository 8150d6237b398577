// hipBLASLt, found when the program runs. Compiled against our own declarations; not run on hardware.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gpu/driver.h"
#include "gpu/products.h"
#include "gpu/vendor_library.h"

namespace octet::gpu {

/// The library on a driver. Which of its ways to compute a product is taken, the caller says.
class HipblasLt {
 public:
  HipblasLt() = default;
  HipblasLt(const HipblasLt&) = delete;
  HipblasLt& operator=(const HipblasLt&) = delete;
  virtual ~HipblasLt() = default;

  /// Scratch bytes that any product may use.
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  /// How many ways the library proposes for a product, the fastest by its own estimate first; at least one. Asks when
  /// the product is seen first. Throws Failure, with the shape, where there is none, and UserError where this version
  /// cannot scale it.
  [[nodiscard]] virtual int proposals(const Product& product) = 0;
  /// Puts the product on the driver's stream, by proposal 0 to proposals() - 1, or the last where it is beyond.
  virtual void run(const Product& product, int proposal, void* workspace) = 0;

  /// major * 100000 + minor * 100 + patch
  [[nodiscard]] virtual int version() const = 0;
  /// "hipBLASLt 1.0.0, /opt/rocm/lib/libhipblaslt.so.1, not run on hardware"
  [[nodiscard]] virtual std::string description() const = 0;
};

/// `driver` is a HIP one and outlives what is returned. UserError where no usable libhipblaslt is found; the message
/// names the package that brings it.
[[nodiscard]] std::unique_ptr<HipblasLt> open_hipblaslt(Driver& driver);

/// What open_hipblaslt would find, on a machine that has a GPU.
[[nodiscard]] VendorLibrary survey_hipblaslt();

}  // namespace octet::gpu
