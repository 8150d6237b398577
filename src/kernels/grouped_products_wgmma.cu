// Matrix products of groups on Hopper's matrix units, D = A B^T summed in fp32: of routed rows with their expert's
// weights, and of gradients with activations over each expert's rows. A vendor's file.
//
// A block makes tiles of 128 x 256 results one after another until all are made: one thread asks the copy engine for
// boxes of both factors, several stages ahead, and two warpgroups multiply what has come. Of a tile's two neighbours
// along one axis, one is the other block of the cluster's, so that the factor they have in common leaves L2 once.
// Sizes of groups are read on the device. A group's last rows are multiplied with what lies beside them and not stored.
//
// Bytes that must move: each factor once while L2 holds what a band of tiles reads, D once.
#include "kernels/grouped_arguments.h"
#include "kernels/grouped_tiles.h"
#include "kernels/hopper.h"

namespace octet::kernels {
namespace {

constexpr int kStepBytes = 128;  // of the contraction, a stage
constexpr int kBox = 64;         // rows of a factor, or of its contraction where that runs along rows
constexpr int kBoxBytes = kBox * kStepBytes;
constexpr int kBoxesA = kTileRows / kBox;
constexpr int kBoxesB = kTileCols / kBox;
constexpr int kStageBytes = (kBoxesA + kBoxesB) * kBoxBytes;
constexpr int kStages = 4;
constexpr int kPlaces = 2;     // that are told ahead
constexpr int kConsumers = 2;  // warpgroups that multiply
constexpr int kConsumerWarps = kConsumers * kWarpgroup / kWarpSize;
constexpr int kLead = 2;  // steps that the first is ahead of the second, so that one multiplies while one stores

// A warp's results leave in boxes of 16 rows by 64 columns, two at a time.
constexpr int kResultRows = 16;
constexpr int kResultCols = 64;
constexpr int kResultBoxes = 2;
constexpr int kResultBoxBytes = kResultRows * kResultCols * 2;

// Barriers of a block beside sync_block()'s.
constexpr int kScalesBarrier = 1;  // and the next: of a warpgroup each
constexpr int kTailBarrier = 3;
constexpr int kLeadBarrier = 4;

/// All of a block's shared memory. The copy engine's swizzle looks at addresses: boxes begin at multiples of eight of
/// its rows.
struct Shared {
  alignas(1024) std::byte stages[kStages][kStageBytes];
  alignas(1024) std::byte results[kConsumerWarps][kResultBoxes][kResultBoxBytes];
  float col_scales[kConsumers][kTileCols];
  PhaseBarrier full[kStages];   // a stage's boxes have come
  PhaseBarrier empty[kStages];  // both blocks' warpgroups are done with it
  PhaseBarrier told[kPlaces];   // a place has been written
  PhaseBarrier heard[kPlaces];  // both warpgroups know it
  TilePlace places[kPlaces];
};
static_assert(sizeof(Shared) <= kSharedBytes);

/// Stages, or places, in turn.
template <int Count>
struct Turn {
  int at = 0;
  int parity = 0;

  OCTET_DEVICE void advance() {
    if (++at < Count) return;
    at = 0;
    parity ^= 1;
  }
  [[nodiscard]] OCTET_DEVICE int previous() const { return (at + Count - 1) % Count; }
};

template <typename Factors>
constexpr int kStepElements = kStepBytes / Factors::kBytes;

template <typename Factors>
OCTET_DEVICE int steps_of(const TilePlace& place) {
  return quotient_up(place.length, kStepElements<Factors>);
}

// ---- the thread that asks for boxes ---------------------------------------------------------------------------------

/// One factor's boxes of a stage. Where both blocks need the same, each asks for half of them on behalf of both.
template <bool AlongRows, int Boxes>
OCTET_DEVICE void begin_factor(std::byte* stage, const TensorMap& map, int contraction, int outer, int matrix,
                               bool common, PhaseBarrier& barrier) {
  const int mine = cluster_rank() * (Boxes / kClusterBlocks);
#pragma unroll
  for (int i = 0; i < Boxes; ++i) {
    const int other = outer + i * kBox;
    const BoxPlace at = AlongRows ? BoxPlace{other, contraction, matrix} : BoxPlace{contraction, other, matrix};
    if (!common) {
      begin_box(stage + i * kBoxBytes, map, at, barrier);
    } else if (i >= mine && i < mine + Boxes / kClusterBlocks) {
      begin_box_for_both(stage + i * kBoxBytes, map, at, barrier);
    }
  }
}

/// Finds this block's tiles, tells the warpgroups of each and asks for what they multiply.
template <typename Factors>
class Producer {
 public:
  OCTET_DEVICE Producer(const GroupedProduct& a, Shared& shared) : a_(a), shared_(shared) {}

  OCTET_DEVICE void run() {
    prefetch_map(a_.a);
    prefetch_map(a_.b);
    const int clusters = block_count() / kClusterBlocks;
    int tile = block_index() / kClusterBlocks;  // among those from this group on
    for (int group = 0; group < a_.groups; ++group) {
      const Extent extent(a_, group);
      const int tiles = row_tiles(a_, rows_of(a_, extent)) * col_tiles(a_);
      for (; tile < tiles; tile += clusters) {
        const TilePlace place = place_of(a_, group, extent, tile);
        tell(place);
        for (int step = 0; step < steps_of<Factors>(place); ++step) begin_step(place, step);
      }
      tile -= tiles;
    }
    tell({.group = kNoGroup});
  }

 private:
  OCTET_DEVICE void tell(const TilePlace& place) {
    shared_.heard[place_turn_.at].wait(place_turn_.parity ^ 1);
    shared_.places[place_turn_.at] = place;
    shared_.told[place_turn_.at].arrive();
    place_turn_.advance();
  }

  OCTET_DEVICE void begin_step(const TilePlace& place, int step) {
    PhaseBarrier& full = shared_.full[turn_.at];
    std::byte* stage = shared_.stages[turn_.at];
    const int at = place.begin + step * kStepElements<Factors>;
    shared_.empty[turn_.at].wait(turn_.parity ^ 1);
    full.arrive_expecting(kStageBytes);
    begin_factor<Factors::kRowsA, kBoxesA>(stage, a_.a, at, a_.by_contraction ? place.row : place.first_row, 0,
                                           !a_.paired_rows, full);
    begin_factor<Factors::kRowsB, kBoxesB>(stage + kBoxesA * kBoxBytes, a_.b, at, place.col,
                                           a_.by_contraction ? 0 : place.group, a_.paired_rows, full);
    turn_.advance();
  }

  const GroupedProduct& a_;
  Shared& shared_;
  Turn<kStages> turn_;
  Turn<kPlaces> place_turn_;
};

// ---- the warpgroups that multiply -----------------------------------------------------------------------------------

/// How the two share a tile. Fast: 64 rows each, all sums in the matrix unit. Full: 128 columns each, in two blocks of
/// 64 rows, so that one block's step fits beside the sums it is added to.
template <bool Full>
struct Share {
  static constexpr int kCols = Full ? kTileCols / kConsumers : kTileCols;
  static constexpr int kBlocks = Full ? kTileRows / 64 : 1;
  int warpgroup;

  [[nodiscard]] OCTET_DEVICE int row(int block) const { return Full ? block * 64 : warpgroup * 64; }
  [[nodiscard]] OCTET_DEVICE int col() const { return Full ? warpgroup * kCols : 0; }
};

template <typename Factors, bool Full>
class Consumer {
 public:
  OCTET_DEVICE Consumer(const GroupedProduct& a, Shared& shared, int warpgroup)
      : a_(a), shared_(shared), share_{warpgroup} {}

  OCTET_DEVICE void run() {
    if (kLeads && share_.warpgroup == 1) sync_threads_of<kConsumers * kWarpgroup>(kLeadBarrier);
    for (TilePlace place = hear(); place.group != kNoGroup; place = hear()) {
      make_tile(place);
      count_lead(kLead);  // a shorter tile is lead enough: the second must hear of it before a third is told of
    }
    count_lead(kLead);
    finish_stores();
  }

 private:
  static constexpr int kCols = Share<Full>::kCols;
  static constexpr int kBlocks = Share<Full>::kBlocks;
  static constexpr bool kScaled = Factors::kBytes == 1;
  static constexpr bool kLeads = !Factors::kRowsA && kLead > 0;  // where both clear a tail they go in step

  /// Scales that a thread reads before it multiplies and that are needed after.
  struct Scales {
    float rows[kBlocks][2];
    float cols[kCols / kWarpgroup];
  };

  OCTET_DEVICE TilePlace hear() {
    shared_.told[place_turn_.at].wait(place_turn_.parity);
    TilePlace place = shared_.places[place_turn_.at];
    sync_warp();
    // From one lane, which tells the compiler that all of a warp go the same way and use the same stages.
    for (int* each : {&place.group, &place.col, &place.rows, &place.first_row, &place.length}) {
      *each = shuffle_from(*each, 0);
    }
    if (thread_index() % kWarpSize == 0) shared_.heard[place_turn_.at].arrive();
    place_turn_.advance();
    return place;
  }

  OCTET_DEVICE void make_tile(const TilePlace& place) {
    Scales scales;
    if constexpr (kScaled) scales = load_scales(place);
    Sums<kCols> sums[kBlocks];
    const int steps = steps_of<Factors>(place);
    if (place.rows <= share_.row(0)) {
      for (int step = 0; step < steps; ++step)
        pass_step(step == steps - 1, place.length - step * kStepElements<Factors>);
      return;
    }
    if constexpr (Full) {
      multiply_full(sums, steps, place.rows > share_.row(1));
    } else {
      multiply_fast(sums[0], steps, place.length);
    }
    if (steps == 0) {
      if (a_.accumulate) return;
#pragma unroll
      for (auto& block : sums) block = {};
    }
    if constexpr (kScaled) {
      leave_col_scales(scales);
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      if (place.rows > share_.row(block)) store_block(place, sums[block], block, scales);
    }
  }

  // ---- stages

  OCTET_DEVICE const std::byte* await_stage() {
    shared_.full[turn_.at].wait(turn_.parity);
    return shared_.stages[turn_.at];
  }
  /// Both blocks' copies may overwrite it. The first lanes of each warp tell one block each.
  OCTET_DEVICE void release(int stage) {
    const int lane = thread_index() % kWarpSize;
    if (lane < kClusterBlocks) shared_.empty[stage].arrive_in(lane);
  }
  OCTET_DEVICE void advance() {
    turn_.advance();
    count_lead(1);
  }
  /// The first warpgroup's steps, up to those that the second waits for.
  OCTET_DEVICE void count_lead(int steps) {
    if (!kLeads || share_.warpgroup != 0 || lead_ >= kLead) return;
    lead_ += steps;
    if (lead_ >= kLead) arrive_among<kConsumers * kWarpgroup>(kLeadBarrier);
  }
  /// A step of a tile that this warpgroup has no rows of.
  OCTET_DEVICE void pass_step(bool last, int left) {
    (void)await_stage();
    if (Factors::kRowsA && last) clear_tail(left);
    release(turn_.at);
    advance();
  }

  // ---- products

  /// Products of a step: A's 64 rows from `row` on, B's from `col` on.
  template <int N>
  OCTET_DEVICE void multiply_step(Sums<N>& sums, const std::byte* stage, int row, int col, bool add) const {
    constexpr std::uint64_t kNextA = Factors::kRowsA ? 2048 / 16 : 32 / 16;  // 16 rows of the contraction, or 32 bytes
    constexpr std::uint64_t kNextB = Factors::kRowsB ? 2048 / 16 : 32 / 16;
    const std::uint64_t a = describe_factor<Factors::kRowsA>(stage + row / kBox * kBoxBytes);
    const std::uint64_t b = describe_factor<Factors::kRowsB>(stage + (kBoxesA + col / kBox) * kBoxBytes);
    sums.pin();
    begin_products();
#pragma unroll
    for (std::uint64_t i = 0; i < 4; ++i) Factors::multiply(sums, a + i * kNextA, b + i * kNextB, add || i > 0);
    end_product_group();
  }

  OCTET_DEVICE void multiply_fast(Sums<kCols>& sums, int steps, int length) {
    for (int step = 0; step < steps; ++step) {
      const std::byte* stage = await_stage();
      if constexpr (Factors::kRowsA) {
        if (step == steps - 1) clear_tail(length - step * kStepElements<Factors>);
      }
      multiply_step(sums, stage, share_.row(0), share_.col(), step > 0);
      finish_older_products<1>();
      if (step > 0) release(turn_.previous());
      advance();
    }
    finish_older_products<0>();
    sums.pin();
    if (steps > 0) release(turn_.previous());
  }

  OCTET_DEVICE void multiply_full(Sums<kCols> (&sums)[kBlocks], int steps, bool second) {
#pragma unroll
    for (auto& block : sums) block = {};
    for (int step = 0; step < steps; ++step) {
      const std::byte* stage = await_stage();
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        if (block > 0 && !second) continue;
        Sums<kCols> of_step;
        multiply_step(of_step, stage, share_.row(block), share_.col(), false);
        finish_older_products<0>();
        of_step.pin();
#pragma unroll
        for (int i = 0; i < kCols / 2; ++i) sums[block].x[i] += of_step.x[i];
      }
      release(turn_.at);
      advance();
    }
  }

  /// Zeros in place of what follows a group's last `left` rows of the contraction, in both factors: it may be NaN.
  OCTET_DEVICE void clear_tail(int left) const {
    if (left >= kBox) return;
    std::byte* stage = shared_.stages[turn_.at];
    const int each = (kBox - left) * (kStepBytes / 16);
    const int thread = thread_index() - kWarpgroup;
    for (int i = thread; i < (kBoxesA + kBoxesB) * each; i += kConsumers * kWarpgroup) {
      *reinterpret_cast<Vector*>(stage + i / each * kBoxBytes + left * kStepBytes + i % each * 16) = Vector{};
    }
    fence_async_proxy();
    sync_threads_of<kConsumers * kWarpgroup>(kTailBarrier);
  }

  // ---- results

  [[nodiscard]] static OCTET_DEVICE int row_in_block() {
    return thread_index() % kWarpgroup / kWarpSize * 16 + thread_index() % kWarpSize / 4;
  }

  [[nodiscard]] OCTET_DEVICE Scales load_scales(const TilePlace& place) const {
    Scales scales;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = share_.row(block) + row_in_block() + half * 8;
        scales.rows[block][half] = row < place.rows ? a_.a_scales[Index{place.first_row} + row] : 0.0F;
      }
    }
#pragma unroll
    for (int i = 0; i < kCols / kWarpgroup; ++i) {
      const int col = place.col + share_.col() + i * kWarpgroup + thread_index() % kWarpgroup;
      scales.cols[i] = col < a_.n ? a_.b_scales[Index{place.group} * a_.n + col] : 0.0F;
    }
    return scales;
  }

  /// For all threads of the warpgroup, each of which has read some.
  OCTET_DEVICE void leave_col_scales(const Scales& scales) {
    sync_threads_of<kWarpgroup>(kScalesBarrier + share_.warpgroup);  // all are past the tile before
#pragma unroll
    for (int i = 0; i < kCols / kWarpgroup; ++i) {
      shared_.col_scales[share_.warpgroup][i * kWarpgroup + thread_index() % kWarpgroup] = scales.cols[i];
    }
    sync_threads_of<kWarpgroup>(kScalesBarrier + share_.warpgroup);
  }

  /// As many columns at a time as boxes of results hold.
  OCTET_DEVICE void store_block(const TilePlace& place, const Sums<kCols>& sums, int block,
                                const Scales& scales) const {
    constexpr int kAtOnce = kResultBoxes * kResultCols;
#pragma unroll
    for (int first = 0; first < kCols; first += kAtOnce) {
      const int col = place.col + share_.col() + first;
      float x[kAtOnce / 2];  // as Sums have them
#pragma unroll
      for (int i = 0; i < kAtOnce / 2; ++i) {
        x[i] = sums.x[first / 2 + i];
        if constexpr (kScaled) x[i] *= scales.rows[block][i / 2 % 2] * col_scale(first + i / 4 * 8 + i % 2);
      }
      if (a_.f32) {
        store_floats(place, share_.row(block) + row_in_block(), col, x);
      } else {
        store_bf16(place, share_.row(block) + warp() * kResultRows, col, x);
      }
    }
  }

  [[nodiscard]] OCTET_DEVICE float col_scale(int col) const {
    return shared_.col_scales[share_.warpgroup][col + thread_index() % 4 * 2];
  }
  [[nodiscard]] static OCTET_DEVICE int warp() {
    return thread_index() % kWarpgroup / kWarpSize;
  }

  /// A warp's rows from `row` of the tile on.
  template <int Count>
  OCTET_DEVICE void store_bf16(const TilePlace& place, int row, int col, const float (&x)[Count]) const {
    std::uint32_t pairs[Count / 2];
#pragma unroll
    for (int i = 0; i < Count / 2; ++i) pairs[i] = to_bf16x2(x[2 * i], x[2 * i + 1]);
    const int lane = thread_index() % kWarpSize;
    auto* boxes = shared_.results[share_.warpgroup * kConsumerWarps / kConsumers + warp()];
    finish_store_reads();  // of the boxes before; of the lane that stores
    sync_warp();
    // Sixteen bytes lie where the swizzle has them: at their place in a row of 128, exclusive or the row.
    const int in_box = lane % 16;
    const std::uint32_t first = forget_origin(shared_address(boxes) + in_box * 128 + (lane / 16 ^ in_box % 8) * 16);
#pragma unroll
    for (int i = 0; i < Count / 2; i += 4) {  // sixteen columns of sixteen rows
      const std::uint32_t words[4] = {pairs[i], pairs[i + 1], pairs[i + 2], pairs[i + 3]};
      store_matrices((first + i / 16 * kResultBoxBytes) ^ (i % 16 * 8), words);
    }
    if (place.rows - row < kResultRows) return copy_rows(boxes, place, row, col);
    fence_async_proxy();
    sync_warp();
    if (lane != 0) return;
#pragma unroll
    for (int box = 0; box < kResultBoxes; ++box) {
      const BoxPlace at{col + box * kResultCols, place.first_row + row, 0};
      if (at.inner < a_.n) begin_box_store(a_.d_boxes, at, boxes[box]);
    }
    end_store_group();
  }

  /// The rows of a group's last, which ends within the boxes.
  OCTET_DEVICE void copy_rows(const std::byte (*boxes)[kResultBoxBytes], const TilePlace& place, int row,
                              int col) const {
    sync_warp();
    const int left = place.rows - row;
    for (int i = thread_index() % kWarpSize; i < kResultBoxes * 8 * left; i += kWarpSize) {
      const int in_box = i / (kResultBoxes * 8);
      const int eight = i % (kResultBoxes * 8);
      if (col + eight * 8 >= a_.n) continue;
      const std::byte* from = boxes[eight / 8] + in_box * 128 + (eight % 8 ^ in_box % 8) * 16;
      store_16_bytes(static_cast<bf16*>(a_.d) + Index{place.first_row + row + in_box} * a_.n + col + eight * 8,
                     *reinterpret_cast<const Vector*>(from));
    }
    sync_warp();
  }

  template <int Count>
  OCTET_DEVICE void store_floats(const TilePlace& place, int row, int first, const float (&x)[Count]) const {
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
      const int in_tile = row + i / 2 % 2 * 8;
      const int col = first + i / 4 * 8 + thread_index() % 4 * 2;
      if (in_tile >= place.rows || col >= a_.n) continue;
      auto* at = reinterpret_cast<float2*>(static_cast<float*>(a_.d) + Index{place.first_row + in_tile} * a_.n + col);
      float2 sum{x[i], x[i + 1]};
      if (a_.accumulate) {
        const float2 before = *at;
        sum.x += before.x;
        sum.y += before.y;
      }
      *at = sum;
    }
  }

  const GroupedProduct& a_;
  Shared& shared_;
  Share<Full> share_;
  Turn<kStages> turn_;
  Turn<kPlaces> place_turn_;
  int lead_ = 0;
};

template <typename Factors, bool Full>
OCTET_DEVICE void multiply_groups(const GroupedProduct& a) {
  Shared& shared = *static_cast<Shared*>(dynamic_shared());
  if (thread_index() == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      shared.full[stage].init(1);
      shared.empty[stage].init(kClusterBlocks * kConsumerWarps);
    }
    for (int place = 0; place < kPlaces; ++place) {
      shared.told[place].init(1);
      shared.heard[place].init(kConsumerWarps);
    }
    PhaseBarrier::publish();
  }
  sync_cluster();
  const int warpgroup = shuffle_from(thread_index() / kWarpgroup, 0);  // which tells the compiler that a warp has one
  if (warpgroup == 0) {
    shrink_registers<40>();
    if (thread_index() == 0) Producer<Factors>(a, shared).run();
  } else {
    grow_registers<232>();
    Consumer<Factors, Full>(a, shared, warpgroup - 1).run();
  }
  sync_cluster();  // neither leaves while the other may still write to it
}

}  // namespace
}  // namespace octet::kernels

#define OCTET_GROUPED_KERNEL(name, ...)                                                       \
  OCTET_CLUSTER_KERNEL(384) name(OCTET_ARGUMENTS(octet::kernels::GroupedProduct) arguments) { \
    octet::kernels::await_previous_kernels();                                                 \
    octet::kernels::multiply_groups<__VA_ARGS__>(octet::kernels::in_place(arguments));        \
  }
#define OCTET_GROUPED_CODE_KERNELS(name, Factors)                             \
  OCTET_GROUPED_KERNEL(grouped_##name##_fast, octet::kernels::Factors, false) \
  OCTET_GROUPED_KERNEL(grouped_##name##_full, octet::kernels::Factors, true)

OCTET_GROUPED_CODE_KERNELS(e4m3_e4m3, E4m3ByE4m3)
OCTET_GROUPED_CODE_KERNELS(e4m3_e5m2, E4m3ByE5m2)
OCTET_GROUPED_CODE_KERNELS(e5m2_e4m3, E5m2ByE4m3)
OCTET_GROUPED_KERNEL(grouped_bf16_bf16, octet::kernels::Bf16Factors<false, false>, false)
OCTET_GROUPED_KERNEL(grouped_bf16_bf16t, octet::kernels::Bf16Factors<false, true>, false)
OCTET_GROUPED_KERNEL(grouped_bf16t_bf16t, octet::kernels::Bf16Factors<true, true>, false)
