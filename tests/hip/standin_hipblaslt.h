// What the stand-in for hipBLASLt keeps of the last product that it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::test {

struct MatrixRecord {
  int type;  ///< a hipDataType
  std::uint64_t rows, cols;
  std::int64_t leading;
  const void* data;
};

struct MatmulRecord {
  int compute_type = -1, scale_type = -1;
  int transpose_a = -1, transpose_b = -1;  ///< -1 where none was set, as in the next
  int a_scale_mode = -1, b_scale_mode = -1;
  const void* a_scale = nullptr;
  const void* b_scale = nullptr;
  MatrixRecord a{}, b{}, c{}, d{};
  float alpha = 0, beta = 0;
  int algorithm = -1;  ///< which proposal, from 0
  std::uint64_t workspace_preferred = 0;
  std::size_t workspace_given = 0;
  const void* workspace = nullptr;
  const void* stream = nullptr;
};

/// standin_last_matmul(): null before the first product. standin_products(): products so far. standin_alive(): handles
/// and descriptors that were made and not destroyed.
using LastMatmul = const MatmulRecord* (*)();
using Count = int (*)();

}  // namespace octet::test
