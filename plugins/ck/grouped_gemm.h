// What the entries of the plugin ask of Composable Kernel, so that they can be compiled and tested without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "octet_ck.h"

namespace octet_ck {

/// There is no kernel for a product.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "Composable Kernel (ck_tile)"
[[nodiscard]] const char* implementation();

/// The GPU that the calling thread works on, as ROCm names it: "gfx942".
[[nodiscard]] std::string device_arch();

[[nodiscard]] std::size_t workspace_bytes(std::int32_t groups);

/// Put a checked product on the stream. Refusal where no kernel takes it, std::runtime_error where the runtime fails.
void multiply_rows(const octet_ck_rows_grouped& product, void* workspace, void* stream);
void multiply_columns(const octet_ck_columns_grouped& product, void* workspace, void* stream);

}  // namespace octet_ck
