// The address space of a simulated GPU: live allocations, and the way from an address to the host's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace octet::sim {

struct Allocation {
  std::uint64_t address;
  std::uint64_t size;
  std::byte* bytes;
  std::string name;
  std::uint8_t* written;  ///< [size] 1 where a byte has been written, else 0; null where that is not tracked

  [[nodiscard]] bool holds(std::uint64_t first, std::uint64_t count) const {
    return first >= address && count <= size && first - address <= size - count;
  }
};

/// Addresses are the same in each run. Looking up is safe from any number of threads as long as none allocates or
/// releases.
class Memory {
 public:
  /// Where its addresses begin, so that those of several GPUs can lie apart.
  explicit Memory(std::uint64_t first_address = std::uint64_t{1} << 40) : next_(first_address) {}

  /// Its bytes begin as 0xFF, which is NaN in most formats. Aligned to 2 MiB and apart from its neighbours by more than
  /// 1 MiB, so that what leaves an allocation does not reach another. `name` stands for it in messages.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t size, std::string name);

  /// Makes the host's memory visible to the GPU at its own address, as pinned memory is; the caller keeps it alive.
  std::uint64_t adopt(std::span<std::byte> bytes, std::string name);

  /// Failure when no allocation begins at `address`. What describe() says of an address there names it still.
  void release(std::uint64_t address);

  /// Of what is allocated from now on it is known which bytes have been written: by write() and fill(), and by kernels
  /// that UninitialisedReads watches. Adopted memory counts as written.
  void track_writes() { tracks_writes_ = true; }

  /// Kernels are to read the range only, which lies in one allocation, until that is released. ReadOnlyWrites looks.
  void protect(std::uint64_t address, std::uint64_t size);
  /// Whether any byte of the range is.
  [[nodiscard]] bool is_protected(std::uint64_t address, std::uint64_t size) const;

  /// The allocation that holds the byte at `address`; null if none does.
  [[nodiscard]] const Allocation* find(std::uint64_t address) const;

  /// The host's bytes of a range. Failure, which says where the range lies, when no live allocation holds all of it.
  [[nodiscard]] std::byte* translate(std::uint64_t address, std::uint64_t size) const;

  /// What the host does to memory. Failure as translate().
  void write(std::uint64_t address, std::span<const std::byte> bytes);
  void fill(std::uint64_t address, std::byte value, std::uint64_t size);
  void read(std::uint64_t address, std::span<std::byte> bytes) const;

  /// "16 bytes at 0x...: 4 bytes past the end of 'x' (4096 bytes at 0x...)".
  [[nodiscard]] std::string describe(std::uint64_t address, std::uint64_t size) const;

 private:
  struct Piece {
    Allocation allocation;
    std::unique_ptr<std::byte[]> storage;  // null where the memory is the host's
    std::unique_ptr<std::uint8_t[]> written;
  };
  struct Released {
    std::uint64_t address;
    std::uint64_t size;
    std::string name;
  };

  [[nodiscard]] const Allocation& holder(std::uint64_t address, std::uint64_t size) const;
  [[nodiscard]] std::byte* place_to_write(std::uint64_t address, std::uint64_t size);

  std::map<std::uint64_t, Piece> pieces_;
  std::map<std::uint64_t, std::uint64_t> protected_;  // ends by begins
  std::deque<Released> released_;                     // the last ones, newest in front
  bool tracks_writes_ = false;
  std::uint64_t next_;
};

}  // namespace octet::sim
