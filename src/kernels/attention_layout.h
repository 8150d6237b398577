// How attention's kernels divide rows and shared memory: known to them and to who launches them.
#pragma once

namespace octet::kernels {

/// A block's warps; each owns sixteen rows, of queries or of keys.
inline constexpr int kAttentionWarps = 4;
inline constexpr int kOwnedRows = 16 * kAttentionWarps;

/// Heads have at most this many elements.
inline constexpr int kLongestHead = 256;

/// Rows of the other side that are fetched at once, for heads of up to `dim` elements: what leaves registers for the
/// sums of an owned row and, in backward, fits into a block's shared memory of `shared_bytes`.
constexpr int forward_streamed_rows() {
  return kOwnedRows;
}
constexpr int backward_streamed_rows(int dim, int shared_bytes) {
  if (dim <= 64) return 64;
  return shared_bytes < 96 * 1024 ? 16 : 32;
}

/// Columns of dk and dv that one block sums; where heads are longer, several blocks share their keys.
constexpr int summed_cols(int dim) {
  return dim > 128 ? 128 : dim;
}

/// Elements of a row in shared memory. Eight of padding put the eight rows that are read at once into different banks.
constexpr int shared_pitch(int dim) {
  return dim + 8;
}

constexpr int kBytesPerElement = 2;

/// Queries, keys and values.
constexpr int forward_shared_bytes(int dim) {
  return (kOwnedRows + 2 * forward_streamed_rows()) * shared_pitch(dim) * kBytesPerElement;
}

/// Both sides' pairs of rows, the streamed ones twice, and lse and delta of streamed queries, in f32.
constexpr int backward_shared_bytes(int dim, int shared_bytes) {
  const int streamed = backward_streamed_rows(dim, shared_bytes);
  const int rows = 2 * kOwnedRows + 4 * streamed;
  return rows * shared_pitch(dim) * kBytesPerElement + 2 * 2 * streamed * 4;
}

}  // namespace octet::kernels
