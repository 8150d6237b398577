// Memory is planned, not allocated: a dry run of the step records every lifetime, one arena holds them all,
// and the real step replays the same sequence of requests at the planned offsets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace octet {

/// What a piece of memory is for; the printed plan sums by it.
enum class MemoryClass : std::uint8_t { parameters, gradients, optimizer, activations, fp8_codes, workspace };
inline constexpr std::array kMemoryClasses = {MemoryClass::parameters,  MemoryClass::gradients, MemoryClass::optimizer,
                                              MemoryClass::activations, MemoryClass::fp8_codes, MemoryClass::workspace};
[[nodiscard]] std::string_view name(MemoryClass memory_class);

class Memory;

/// Owns one planned piece of memory; giving it back ends its lifetime.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Memory* memory, std::size_t id, Tensor tensor) : memory_(memory), id_(id), tensor_(tensor) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { reset(); }

  void reset();
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] explicit operator bool() const { return memory_ != nullptr; }
  template <typename T>
  [[nodiscard]] T* ptr() const {
    return tensor_.ptr<T>();
  }

 private:
  Memory* memory_ = nullptr;
  std::size_t id_ = 0;
  Tensor tensor_;
};

/// One request for memory as the dry run saw it. `born` and `died` count requests and releases of its program.
struct PlannedPiece {
  std::string name;
  MemoryClass memory_class = MemoryClass::workspace;
  std::size_t bytes = 0;  ///< rounded up to the arena's alignment
  std::int64_t born = 0;
  std::int64_t died = 0;
  std::size_t offset = 0;  ///< from the start of the arena
};

/// The result of a dry run: where every piece lies. Pieces of a program are in the order of their requests.
struct MemoryPlan {
  std::vector<PlannedPiece> persistent;  ///< parameters, gradients, optimizer, cached codes
  std::map<std::string, std::vector<PlannedPiece>, std::less<>> programs;  ///< temporaries of "train", "validate", ...
  std::size_t persistent_bytes = 0;
  std::size_t arena_bytes = 0;  ///< persistent pieces plus the largest program

  /// Bytes the arena holds at the moment of its peak, by class (the rest of the arena is fragmentation).
  [[nodiscard]] std::map<MemoryClass, std::size_t> at_peak() const;
};

/// Provides the one block of a device's memory that holds everything.
using ArenaAllocator = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

/// Hands out planned memory. The same code runs twice: once against a planning Memory, whose tensors have null data,
/// and, after `finish()`, against a Memory that replays the plan. Requests made outside `begin`/`end` are persistent.
class Memory {
 public:
  static constexpr std::size_t kAlignment = 256;

  /// Makes a plan.
  Memory() = default;
  /// Replays a plan. Throws UserError where the device cannot hold the arena.
  Memory(MemoryPlan plan, const ArenaAllocator& allocator);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A piece of [rows, cols] elements of `dtype`; the name appears in the printed plan.
  [[nodiscard]] Buffer allocate(std::string_view name, DType dtype, std::int64_t rows, std::int64_t cols,
                                MemoryClass memory_class);

  /// Temporaries requested from here to `end()` belong to `program`; all of them must be given back by then.
  void begin(std::string_view program);
  void end();

  /// Ends planning: lays the arena out and returns the plan.
  [[nodiscard]] MemoryPlan finish();

  [[nodiscard]] bool planning() const { return arena_ == nullptr; }
  /// One past the highest arena byte handed out so far: the plan's `arena_bytes` once every program has run.
  [[nodiscard]] std::size_t measured_peak() const { return measured_peak_; }
  /// Bytes handed out and not yet given back, of a replay; persistent pieces count from their request on.
  [[nodiscard]] std::size_t bytes_in_use() const { return bytes_in_use_; }

 private:
  friend class Buffer;
  void release(std::size_t id);

  MemoryPlan plan_;
  std::vector<PlannedPiece>* current_ = &plan_.persistent;
  std::size_t next_ = 0;             ///< the request that a replay expects next
  std::size_t next_persistent_ = 0;  ///< the same outside programs
  std::int64_t clock_ = 0;
  std::shared_ptr<std::byte> arena_;
  std::size_t measured_peak_ = 0;
  std::size_t bytes_in_use_ = 0;
};

/// A program's temporaries for as long as a scope lasts.
class ProgramScope {
 public:
  ProgramScope(Memory& memory, std::string_view program) : memory_(memory) { memory_.begin(program); }
  ~ProgramScope() { memory_.end(); }
  ProgramScope(const ProgramScope&) = delete;
  ProgramScope& operator=(const ProgramScope&) = delete;

 private:
  Memory& memory_;
};

}  // namespace octet
