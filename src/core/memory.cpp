#include "core/memory.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace octet {
namespace {

constexpr std::size_t kPersistent = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kStillAlive = std::numeric_limits<std::int64_t>::max();

std::size_t round_up(std::size_t bytes) {
  return (bytes + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
}

/// Lays persistent pieces one after the other from `base`. Returns the first free byte.
std::size_t lay_out_in_order(std::vector<PlannedPiece>& pieces) {
  std::size_t offset = 0;
  for (PlannedPiece& piece : pieces) {
    piece.offset = offset;
    offset += piece.bytes;
  }
  return offset;
}

/// Pieces that have their place, in the order of their offsets. They lie in blocks which know how long any of their
/// pieces lives: temporaries of one kind share an offset, and each of them is looked at only where it is near in time.
class PlacedPieces {
 public:
  /// The lowest offset from `base` where `bytes` are free from `born` to `died`.
  [[nodiscard]] std::size_t lowest_free(std::size_t base, const PlannedPiece& piece) const {
    std::size_t offset = base;
    for (const Block& block : blocks_) {
      if (!block.lives.overlaps(piece.born, piece.died)) continue;
      for (const Place& place : block.places) {
        if (!place.lives.overlaps(piece.born, piece.died)) continue;
        if (place.offset >= offset + piece.bytes) return offset;
        offset = std::max(offset, place.end);
      }
    }
    return offset;
  }

  void insert(const PlannedPiece& piece) {
    const Place place{piece.offset, piece.offset + piece.bytes, {piece.born, piece.died}};
    auto block = std::upper_bound(blocks_.begin(), blocks_.end(), place,
                                  [](const Place& a, const Block& b) { return precedes(a, b.places.front()); });
    if (block != blocks_.begin()) --block;
    if (block == blocks_.end()) block = blocks_.insert(block, Block{});
    auto& places = block->places;
    places.insert(std::upper_bound(places.begin(), places.end(), place, precedes), place);
    block->lives.include(place.lives);
    if (places.size() < kBlockPlaces) return;
    const auto middle = places.begin() + kBlockPlaces / 2;
    const Block above(std::vector<Place>(middle, places.end()));
    *block = Block(std::vector<Place>(places.begin(), middle));
    blocks_.insert(block + 1, above);
  }

 private:
  static constexpr std::ptrdiff_t kBlockPlaces = 64;

  struct Lifetime {
    std::int64_t born = kStillAlive;
    std::int64_t died = 0;

    [[nodiscard]] bool overlaps(std::int64_t other_born, std::int64_t other_died) const {
      return born < other_died && other_born < died;
    }
    void include(const Lifetime& other) {
      born = std::min(born, other.born);
      died = std::max(died, other.died);
    }
  };

  struct Place {
    std::size_t offset, end;
    Lifetime lives;
  };

  struct Block {
    Block() = default;
    explicit Block(std::vector<Place> of) : places(std::move(of)) {
      for (const Place& place : places) lives.include(place.lives);
    }
    std::vector<Place> places;
    Lifetime lives;  ///< from the first birth to the last death
  };

  /// By offset; what shares one, by time, so that a block's pieces are near each other.
  static bool precedes(const Place& a, const Place& b) {
    return std::tie(a.offset, a.lives.born) < std::tie(b.offset, b.lives.born);
  }

  std::vector<Block> blocks_;
};

/// Places the largest pieces first, each at the lowest offset from `base` where no piece alive at the same time lies.
/// Returns one past the highest byte used.
std::size_t lay_out_by_lifetime(std::vector<PlannedPiece>& pieces, std::size_t base) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  PlacedPieces placed;
  std::size_t end = base;
  for (std::size_t index : order) {
    PlannedPiece& piece = pieces[index];
    piece.offset = placed.lowest_free(base, piece);
    placed.insert(piece);
    end = std::max(end, piece.offset + piece.bytes);
  }
  return end;
}

}  // namespace

std::string_view name(MemoryClass memory_class) {
  switch (memory_class) {
    case MemoryClass::parameters:
      return "parameters";
    case MemoryClass::gradients:
      return "gradients";
    case MemoryClass::optimizer:
      return "optimizer";
    case MemoryClass::activations:
      return "activations";
    case MemoryClass::fp8_codes:
      return "fp8 codes";
    case MemoryClass::workspace:
      return "workspace";
  }
  return "unknown";
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    reset();
    memory_ = std::exchange(other.memory_, nullptr);
    id_ = other.id_;
    tensor_ = std::exchange(other.tensor_, {});
  }
  return *this;
}

void Buffer::reset() {
  if (memory_ != nullptr) std::exchange(memory_, nullptr)->release(id_);
  tensor_ = {};
}

std::map<MemoryClass, std::size_t> MemoryPlan::at_peak() const {
  std::map<MemoryClass, std::size_t> peak;
  std::size_t peak_bytes = 0;
  for (const auto& [program, pieces] : programs) {
    std::vector<const PlannedPiece*> by_death;
    for (const PlannedPiece& piece : pieces) by_death.push_back(&piece);
    std::sort(by_death.begin(), by_death.end(),
              [](const PlannedPiece* a, const PlannedPiece* b) { return a->died < b->died; });
    std::map<MemoryClass, std::size_t> alive;
    std::size_t bytes = 0;
    auto dying = by_death.begin();
    for (const PlannedPiece& piece : pieces) {  // in the order of their births, where a peak is reached
      for (; dying != by_death.end() && (*dying)->died <= piece.born; ++dying) {
        alive[(*dying)->memory_class] -= (*dying)->bytes;
        bytes -= (*dying)->bytes;
      }
      alive[piece.memory_class] += piece.bytes;
      bytes += piece.bytes;
      if (bytes > peak_bytes) {
        peak_bytes = bytes;
        peak = alive;
      }
    }
  }
  std::erase_if(peak, [](const auto& entry) { return entry.second == 0; });
  for (const PlannedPiece& piece : persistent) peak[piece.memory_class] += piece.bytes;
  return peak;
}

Memory::Memory(MemoryPlan plan, const ArenaAllocator& allocator)
    : plan_(std::move(plan)), arena_(allocator(std::max(plan_.arena_bytes, kAlignment))) {
  current_ = &plan_.persistent;
}

Buffer Memory::allocate(std::string_view piece_name, DType dtype, std::int64_t rows, std::int64_t cols,
                        MemoryClass memory_class) {
  check(rows >= 0 && cols >= 0, "memory is requested for non-negative extents");
  const Tensor shape(nullptr, dtype, rows, cols);
  const std::size_t bytes = round_up(shape.bytes());
  const bool persistent = current_ == &plan_.persistent;
  if (planning()) {
    current_->push_back({std::string(piece_name), memory_class, bytes, clock_++, kStillAlive, 0});
    return {this, persistent ? kPersistent : current_->size() - 1, shape};
  }
  check(next_ < current_->size(), "a replayed step asks for no more memory than its dry run");
  const PlannedPiece& piece = (*current_)[next_];
  check(piece.bytes == bytes && piece.name == piece_name, "a replayed step asks for memory in its dry run's order");
  measured_peak_ = std::max(measured_peak_, piece.offset + piece.bytes);
  bytes_in_use_ += piece.bytes;
  const std::size_t id = persistent ? kPersistent : next_;
  ++next_;
  return {this, id, Tensor(arena_.get() + piece.offset, dtype, rows, cols)};
}

void Memory::release(std::size_t id) {
  if (id == kPersistent) return;  // these have no death
  check(current_ != &plan_.persistent, "temporaries are given back before their program ends");
  if (planning()) {
    (*current_)[id].died = clock_++;
  } else {
    bytes_in_use_ -= (*current_)[id].bytes;
  }
}

void Memory::begin(std::string_view program) {
  check(current_ == &plan_.persistent, "programs do not nest");
  next_persistent_ = next_;
  next_ = 0;
  if (planning()) {
    const auto [entry, is_new] = plan_.programs.try_emplace(std::string(program));
    check(is_new, "a dry run runs each program once");
    current_ = &entry->second;
    return;
  }
  const auto entry = plan_.programs.find(program);
  check(entry != plan_.programs.end(), "only programs that the dry run saw are run");
  current_ = &entry->second;
}

void Memory::end() {
  current_ = &plan_.persistent;
  next_ = next_persistent_;
}

MemoryPlan Memory::finish() {
  check(planning(), "only a planning Memory makes a plan");
  plan_.persistent_bytes = lay_out_in_order(plan_.persistent);
  plan_.arena_bytes = plan_.persistent_bytes;
  for (auto& [program, pieces] : plan_.programs) {
    plan_.arena_bytes = std::max(plan_.arena_bytes, lay_out_by_lifetime(pieces, plan_.persistent_bytes));
  }
  return std::exchange(plan_, {});
}

}  // namespace octet
