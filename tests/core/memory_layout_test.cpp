// The arena's layout for random lifetimes: no two pieces alive at the same time share a byte, and the arena is as large
// as the true peak at least.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "core/memory.h"
#include "core/random.h"

namespace octet::test {
namespace {

/// A program of requests and releases drawn from a seed: the same each time it runs.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed, int events = 120) : seed_(seed), events_(events) {}

  /// Runs against a plan or a replay. A replay's pieces are filled with their numbers and looked at when they go.
  void run(Memory& memory) {
    drawn_ = 0;
    peak_bytes_ = 0;
    requested_bytes_ = 0;
    std::size_t alive_bytes = 0;
    std::vector<Piece> alive;
    const ProgramScope scope(memory, "random");
    for (int event = 0; event < events_; ++event) {
      if (alive.empty() || draw(5) < 3) {
        alive.push_back(request(memory, event));
        alive_bytes += alive.back().bytes;
        requested_bytes_ += alive.back().bytes;
        peak_bytes_ = std::max(peak_bytes_, alive_bytes);
      } else {
        const std::size_t victim = draw(alive.size());
        alive_bytes -= alive[victim].bytes;
        give_back(alive, victim);
      }
    }
    while (!alive.empty()) give_back(alive, alive.size() - 1);
  }

  [[nodiscard]] std::size_t peak_bytes() const { return peak_bytes_; }
  [[nodiscard]] std::size_t requested_bytes() const { return requested_bytes_; }
  [[nodiscard]] int spoiled() const { return spoiled_; }

 private:
  struct Piece {
    Buffer buffer;
    std::uint8_t mark;
    std::size_t bytes;  // as the arena counts them
  };

  std::size_t draw(std::size_t below) { return philox(seed_, drawn_++, 0)[0] % below; }

  /// Mostly small pieces, some large, some empty.
  std::int64_t draw_size() {
    const std::size_t kind = draw(10);
    if (kind == 0) return 0;
    return static_cast<std::int64_t>(kind < 8 ? draw(2000) : 5000 + draw(60000));
  }

  Piece request(Memory& memory, int event) {
    const std::int64_t bytes = draw_size();
    Piece piece{memory.allocate("piece", DType::e4m3fn, 1, bytes, MemoryClass::activations),
                static_cast<std::uint8_t>(event),
                (static_cast<std::size_t>(bytes) + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment};
    if (!memory.planning()) std::ranges::fill(bytes_of(piece), piece.mark);
    return piece;
  }

  void give_back(std::vector<Piece>& alive, std::size_t index) {
    const Piece& piece = alive[index];
    const auto is_marked = [&](std::uint8_t byte) { return byte == piece.mark; };
    if (piece.buffer.tensor().raw() != nullptr && !std::ranges::all_of(bytes_of(piece), is_marked)) ++spoiled_;
    alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(index));
  }

  static std::span<std::uint8_t> bytes_of(const Piece& piece) {
    return {static_cast<std::uint8_t*>(piece.buffer.tensor().raw()), piece.buffer.tensor().bytes()};
  }

  std::uint64_t seed_;
  int events_;
  std::uint64_t drawn_ = 0;
  std::size_t peak_bytes_ = 0;
  std::size_t requested_bytes_ = 0;
  int spoiled_ = 0;
};

bool share_a_byte(const PlannedPiece& a, const PlannedPiece& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool live_together(const PlannedPiece& a, const PlannedPiece& b) {
  return std::max(a.born, b.born) < std::min(a.died, b.died);
}

/// Pairs of pieces that live together on the same bytes.
int conflicts(const std::vector<PlannedPiece>& pieces) {
  int found = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (live_together(pieces[i], pieces[j]) && share_a_byte(pieces[i], pieces[j])) ++found;
    }
  }
  return found;
}

std::size_t peak_of(const MemoryPlan& plan) {
  std::size_t sum = 0;
  for (const auto& [memory_class, bytes] : plan.at_peak()) sum += bytes;
  return sum;
}

ArenaAllocator arena_in(std::vector<std::byte>& arena) {
  return [&arena](std::size_t bytes) {
    arena.resize(bytes);
    return std::shared_ptr<std::byte>(arena.data(), [](std::byte*) {});
  };
}

TEST(MemoryLayout, RandomLifetimesNeverCollide) {
  double worst_overhead = 1;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomProgram program(seed);
    Memory planning;
    program.run(planning);
    const std::size_t peak = program.peak_bytes();
    const MemoryPlan plan = planning.finish();

    ASSERT_EQ(conflicts(plan.programs.at("random")), 0) << "seed " << seed;
    ASSERT_GE(plan.arena_bytes, peak) << "seed " << seed;
    ASSERT_LT(plan.arena_bytes, program.requested_bytes()) << "seed " << seed << ": nothing is shared";
    ASSERT_EQ(peak_of(plan), peak) << "seed " << seed;
    worst_overhead = std::max(worst_overhead, static_cast<double>(plan.arena_bytes) / static_cast<double>(peak));

    std::vector<std::byte> arena;
    Memory memory(plan, arena_in(arena));
    program.run(memory);
    ASSERT_EQ(program.spoiled(), 0) << "seed " << seed;
    ASSERT_EQ(memory.measured_peak(), plan.arena_bytes) << "seed " << seed;
  }
  RecordProperty("largest_arena_over_peak", fmt::format("{:.3f}", worst_overhead));
  EXPECT_LT(worst_overhead, 1.3) << "the layout wastes more than it is known to";
}

/// The rule by its definition: largest first, in the order of requests among equals, each at the lowest place that is
/// free for as long as it lives. A place is tried at the start and above every piece that has one.
std::vector<std::size_t> offsets_by_definition(const std::vector<PlannedPiece>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  std::vector<PlannedPiece> placed;
  std::vector<std::size_t> offsets(pieces.size());
  for (const std::size_t index : order) {
    PlannedPiece piece = pieces[index];
    std::vector<std::size_t> candidates{0};
    for (const PlannedPiece& other : placed) candidates.push_back(other.offset + other.bytes);
    std::ranges::sort(candidates);
    piece.offset = *std::ranges::find_if(candidates, [&](std::size_t candidate) {
      piece.offset = candidate;
      return std::ranges::none_of(
          placed, [&](const PlannedPiece& other) { return live_together(piece, other) && share_a_byte(piece, other); });
    });
    offsets[index] = piece.offset;
    placed.push_back(piece);
  }
  return offsets;
}

TEST(MemoryLayout, EveryPieceTakesTheLowestFreePlace) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Memory planning;
    RandomProgram(seed, 600).run(planning);
    const std::vector<PlannedPiece> pieces = planning.finish().programs.at("random");
    ASSERT_GT(pieces.size(), 300U);
    const std::vector<std::size_t> expected = offsets_by_definition(pieces);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].bytes == 0) continue;  // nothing of it lies anywhere
      ASSERT_EQ(pieces[i].offset, expected[i]) << "seed " << seed << ", piece " << i;
    }
  }
}

}  // namespace
}  // namespace octet::test
