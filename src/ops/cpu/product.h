// A matrix product on the CPU for whoever has brought its operands to what oneDNN multiplies.
#pragma once

#include "ops/cpu/cpu_device.h"

namespace octet::ops::cpu {

/// Throws Failure where the operands of one product are of two families, or not both FP8 or both bf16.
void check_operands(const GemmOperand& a, const GemmOperand& b);

/// Elements [begin, end) of an operand as oneDNN multiplies them (device.products().operands()), to the same places of
/// `out`.
void convert_operand(const CpuDevice& device, const void* data, DType dtype, std::byte* out, Index begin, Index end);

/// D = A B^T of operands as an op gives them, or converted: dtype is then that of device.products().operands(), where
/// inverse scales still apply. Of the m rows of A the last may fill up a tile: D has the first `rows` alone.
void run_product(const CpuDevice& device, const Gemm& op, Index rows, Workspace workspace);
[[nodiscard]] std::size_t product_workspace(const CpuDevice& device, const Gemm& op);

}  // namespace octet::ops::cpu
