// A hash table from 64-bit keys to small values: open addressing in one array, nothing is ever removed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace octet {

/// Keys may be any number but `kNoKey`. References to values last until the next new key.
template <typename Value>
class FlatMap {
 public:
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  explicit FlatMap(std::size_t expected = 0) : slots_(std::bit_ceil(2 * expected + 8)) {}

  [[nodiscard]] const Value* find(std::uint64_t key) const {
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  /// The value of `key`, made from nothing where there was none.
  Value& operator[](std::uint64_t key) {
    std::size_t at = place(key);
    if (slots_[at].key != key) {
      if (2 * (size_ + 1) > slots_.size()) {
        grow();
        at = place(key);
      }
      slots_[at].key = key;
      ++size_;
    }
    return slots_[at].value;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = kNoKey;
    Value value{};
  };

  /// Where `key` is, or the free slot where it would be. Fibonacci hashing: the product's top bits depend on all of the
  /// key's.
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    const int shift = std::countl_zero(slots_.size()) + 1;
    std::size_t at = (key * 0x9E3779B97F4A7C15ULL) >> shift;
    while (slots_[at].key != key && slots_[at].key != kNoKey) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.key != kNoKey) slots_[place(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half of them taken
  std::size_t size_ = 0;
};

/// Two token ids as one key.
[[nodiscard]] inline std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace octet
