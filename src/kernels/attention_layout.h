// How attention's kernels divide rows and shared memory: known to them and to who launches them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace octet::kernels {

/// A block's warps; each owns sixteen rows, of queries or of keys.
inline constexpr int kAttentionWarps = 4;
inline constexpr int kOwnedRows = 16 * kAttentionWarps;

/// Heads have at most this many elements.
inline constexpr int kLongestHead = 256;

/// Rows of the other side that are fetched at once: as many as leave registers for the sums of an owned row and shared
/// memory for a second block, where there is that much. More of them wait less often.
struct StreamedRows {
  int forward, backward;
};

/// An instance of the kernels: the longest heads that it takes, and how it divides its work.
struct AttentionTiles {
  int head_dim, value_dim;
  StreamedRows in_64_kib;   ///< where a block has no more of shared memory: CDNA3
  StreamedRows in_160_kib;  ///< CDNA4, and Hopper with more
  int key_parts;            ///< blocks that sum dk and dv of the same keys, each its part of their columns
};

/// The shortest heads first: a head is taken by the first instance that it fits into.
inline constexpr std::array<AttentionTiles, 5> kAttentionTiles{{
    {32, 32, {64, 64}, {64, 64}, 1},
    {64, 64, {64, 32}, {64, 64}, 1},
    {128, 128, {32, 16}, {64, 32}, 1},
    {192, 128, {32, 16}, {64, 16}, 1},
    {256, 256, {32, 16}, {64, 32}, 2},
}};

/// The instance for such heads, which has to be there.
constexpr AttentionTiles attention_tiles(int head_dim, int value_dim) {
  std::size_t i = 0;
  while (kAttentionTiles[i].head_dim < head_dim || kAttentionTiles[i].value_dim < value_dim) ++i;
  return kAttentionTiles[i];
}

/// Processors by the shared memory of a block: 64 KiB on CDNA3, 160 on CDNA4, 227 on Hopper.
constexpr bool is_cdna3(int shared_bytes) {
  return shared_bytes < 96 * 1024;
}
constexpr bool is_cdna(int shared_bytes) {
  return shared_bytes < 200 * 1024;
}

/// Whether a warp keeps its owned rows in registers, of which CDNA's threads have twice as many as Hopper's: shared
/// memory is read less and has room for more blocks.
constexpr bool holds_owned_rows(int shared_bytes) {
  return is_cdna(shared_bytes);
}

constexpr StreamedRows streamed_rows(const AttentionTiles& tiles, int shared_bytes) {
  return is_cdna3(shared_bytes) ? tiles.in_64_kib : tiles.in_160_kib;
}

/// Elements of a row in shared memory, with padding that puts what is read at once into different banks: sixteen rows
/// of 8 bytes in CDNA3's 32 banks and CDNA4's 64, eight rows of 16 bytes in Hopper's 32.
constexpr int shared_pitch(int dim, int shared_bytes) {
  return dim + (is_cdna3(shared_bytes) ? 4 : 8);
}

constexpr int kBytesPerElement = 2;

constexpr int row_bytes(int dim, int shared_bytes) {
  return shared_pitch(dim, shared_bytes) * kBytesPerElement;
}

/// Of a row of keys and one of values, or one of queries and one of dout.
constexpr int pair_bytes(const AttentionTiles& tiles, int shared_bytes) {
  return row_bytes(tiles.head_dim, shared_bytes) + row_bytes(tiles.value_dim, shared_bytes);
}

/// Of a kernel whose owned and whose streamed rows take so many. Where registers hold the owned ones, the longer of
/// them pass through before the others stream, and results after that.
constexpr int shared_bytes_of(int owned, int streamed, const AttentionTiles& tiles, int shared_bytes) {
  if (!holds_owned_rows(shared_bytes)) return owned + streamed;
  return std::max(kOwnedRows * row_bytes(tiles.head_dim, shared_bytes), streamed);
}

/// Queries, keys and values.
constexpr int forward_shared_bytes(const AttentionTiles& tiles, int shared_bytes) {
  const int owned = kOwnedRows * row_bytes(tiles.head_dim, shared_bytes);
  const int streamed = streamed_rows(tiles, shared_bytes).forward * pair_bytes(tiles, shared_bytes);
  return shared_bytes_of(owned, streamed, tiles, shared_bytes);
}

/// Both sides' pairs of rows, the streamed ones twice, and lse and delta of streamed queries, in f32.
constexpr int backward_shared_bytes(const AttentionTiles& tiles, int shared_bytes) {
  const int owned = kOwnedRows * pair_bytes(tiles, shared_bytes);
  const int rows = streamed_rows(tiles, shared_bytes).backward;
  return shared_bytes_of(owned, 2 * rows * (pair_bytes(tiles, shared_bytes) + 2 * 4), tiles, shared_bytes);
}

static_assert(std::all_of(kAttentionTiles.begin(), kAttentionTiles.end(),
                          [](const AttentionTiles& tiles) {
                            constexpr std::array<int, 3> kProcessors{64 * 1024, 160 * 1024, 227 * 1024};
                            return std::all_of(kProcessors.begin(), kProcessors.end(), [&](int bytes) {
                              return forward_shared_bytes(tiles, bytes) <= bytes &&
                                     backward_shared_bytes(tiles, bytes) <= bytes;
                            });
                          }),
              "every instance fits into a block's shared memory");

}  // namespace octet::kernels
