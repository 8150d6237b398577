// Planning and replay: what a plan records, what its peak holds, and that a replay may not ask for anything else.
#include "core/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "core/error.h"

namespace octet::test {
namespace {

ArenaAllocator heap() {
  return [](std::size_t bytes) {
    return std::shared_ptr<std::byte>(
        static_cast<std::byte*>(::operator new (bytes, std::align_val_t{Memory::kAlignment})),
        [](std::byte* block) { ::operator delete (block, std::align_val_t{Memory::kAlignment}); });
  };
}

Buffer take(Memory& memory, std::string_view name, std::int64_t bytes,
            MemoryClass memory_class = MemoryClass::activations) {
  return memory.allocate(name, DType::e4m3fn, 1, bytes, memory_class);
}

/// One persistent piece and a program whose two temporaries do not live at the same time.
void run_step(Memory& memory, Buffer& weights) {
  weights = take(memory, "weights", 300, MemoryClass::parameters);
  const ProgramScope program(memory, "train");
  { const Buffer first = take(memory, "first", 1000); }
  const Buffer second = take(memory, "second", 1000);
}

MemoryPlan plan_of_step() {
  Memory planning;
  Buffer weights;
  run_step(planning, weights);
  return planning.finish();
}

TEST(MemoryPlan, RecordsPiecesAndLetsThemShareWhatTheyDoNotUseTogether) {
  const MemoryPlan plan = plan_of_step();
  ASSERT_EQ(plan.persistent.size(), 1U);
  EXPECT_EQ(plan.persistent[0].name, "weights");
  EXPECT_EQ(plan.persistent[0].bytes, 512U) << "rounded up to the alignment";
  EXPECT_EQ(plan.persistent_bytes, 512U);
  const std::vector<PlannedPiece>& pieces = plan.programs.at("train");
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].offset, 512U);
  EXPECT_EQ(pieces[1].offset, 512U) << "the first was given back before the second came";
  EXPECT_EQ(plan.arena_bytes, 512U + 1024U);
}

TEST(MemoryReplay, KnowsWhatIsInUse) {
  Memory replay(plan_of_step(), heap());
  const Buffer weights = take(replay, "weights", 300, MemoryClass::parameters);
  EXPECT_EQ(replay.bytes_in_use(), 512U);
  {
    const ProgramScope program(replay, "train");
    Buffer first = take(replay, "first", 1000);
    EXPECT_EQ(replay.bytes_in_use(), 512U + 1024U);
    first.reset();
    EXPECT_EQ(replay.bytes_in_use(), 512U);
    const Buffer second = take(replay, "second", 1000);
    EXPECT_EQ(replay.bytes_in_use(), 512U + 1024U);
  }
  EXPECT_EQ(replay.bytes_in_use(), 512U);
}

TEST(MemoryPlan, TheLargestProgramDecidesTheArena) {
  Memory planning;
  const Buffer weights = take(planning, "weights", 256, MemoryClass::parameters);
  for (const auto& [program, bytes] : {std::pair{"train", 4096}, std::pair{"validate", 1024}}) {
    const ProgramScope scope(planning, program);
    const Buffer x = take(planning, "x", bytes);
  }
  EXPECT_EQ(planning.finish().arena_bytes, 256U + 4096U);
}

TEST(MemoryPlan, AtPeakSumsWhatIsAliveByClass) {
  Memory planning;
  const Buffer weights = take(planning, "weights", 1000, MemoryClass::parameters);
  const Buffer cached = take(planning, "cached", 256, MemoryClass::fp8_codes);
  {
    const ProgramScope scope(planning, "train");
    const Buffer kept = take(planning, "kept", 512, MemoryClass::activations);
    { const Buffer large = take(planning, "large", 768, MemoryClass::workspace); }
    const Buffer codes = take(planning, "codes", 512, MemoryClass::fp8_codes);
    const Buffer scratch = take(planning, "scratch", 512, MemoryClass::workspace);
  }
  {
    const ProgramScope scope(planning, "optimizer");
    const Buffer scratch = take(planning, "scratch", 1024, MemoryClass::workspace);
  }
  const std::map<MemoryClass, std::size_t> expected = {{MemoryClass::parameters, 1024U},
                                                       {MemoryClass::activations, 512U},
                                                       {MemoryClass::fp8_codes, 256U + 512U},
                                                       {MemoryClass::workspace, 512U}};
  EXPECT_EQ(planning.finish().at_peak(), expected);
}

TEST(MemoryPlan, ProgramsDoNotNestAndRunOnceInAPlan) {
  Memory planning;
  planning.begin("train");
  EXPECT_THROW(planning.begin("validate"), Failure);
  planning.end();
  EXPECT_THROW(planning.begin("train"), Failure);
}

TEST(MemoryPlan, ATemporaryMayNotOutliveItsProgram) {
  Memory planning;
  planning.begin("train");
  Buffer late = take(planning, "late", 1);
  planning.end();
  EXPECT_THROW(late.reset(), Failure);
}

TEST(MemoryReplay, GivesThePlannedPlacesAndMeasuresThePlannedPeak) {
  const MemoryPlan plan = plan_of_step();
  std::size_t asked = 0;
  Memory memory(plan, [&](std::size_t bytes) {
    asked = bytes;
    return heap()(bytes);
  });
  EXPECT_EQ(asked, plan.arena_bytes);
  EXPECT_FALSE(memory.planning());
  Buffer weights;
  run_step(memory, weights);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights.tensor().raw()) % Memory::kAlignment, 0U);
  EXPECT_EQ(memory.measured_peak(), plan.arena_bytes);
}

/// Two persistent pieces, one before and one after a program that runs several times and overwrites what it gets.
void run_around_a_program(Memory& memory, Buffer& before, Buffer& after) {
  before = take(memory, "before", 64, MemoryClass::parameters);
  if (!memory.planning()) std::memset(before.tensor().raw(), 1, before.tensor().bytes());
  for (int repeat = 0; repeat < (memory.planning() ? 1 : 3); ++repeat) {
    const ProgramScope scope(memory, "train");
    const Buffer x = take(memory, "x", 5000);
    if (!memory.planning()) std::memset(x.tensor().raw(), 2, x.tensor().bytes());
  }
  after = take(memory, "after", 64, MemoryClass::parameters);
}

TEST(MemoryReplay, ProgramsRunAgainAndAgainAndLeavePersistentPiecesAlone) {
  Memory planning;
  Buffer before;
  Buffer after;
  run_around_a_program(planning, before, after);
  Memory memory(planning.finish(), heap());
  run_around_a_program(memory, before, after);
  const auto* first = static_cast<const std::byte*>(before.tensor().raw());
  EXPECT_TRUE(std::all_of(first, first + 64, [](std::byte byte) { return byte == std::byte{1}; }));
  EXPECT_EQ(static_cast<const std::byte*>(after.tensor().raw()) - first, 256);
}

/// What a replay may do differently from its dry run, each a Failure that says so.
struct OtherRequest {
  const char* what;
  void (*request)(Memory& memory);
  const char* message;
};

TEST(MemoryReplay, AskingForSomethingElseIsAFailure) {
  const OtherRequest requests[] = {
      {"another size", [](Memory& memory) { (void)take(memory, "first", 2000); }, "dry run's order"},
      {"another name", [](Memory& memory) { (void)take(memory, "second", 1000); }, "dry run's order"},
      {"one piece more",
       [](Memory& memory) {
         (void)take(memory, "first", 1000);
         (void)take(memory, "second", 1000);
         (void)take(memory, "third", 1000);
       },
       "no more memory than its dry run"},
      {"a nested program", [](Memory& memory) { memory.begin("train"); }, "programs do not nest"},
  };
  for (const OtherRequest& other : requests) {
    Memory memory(plan_of_step(), heap());
    memory.begin("train");
    try {
      other.request(memory);
      ADD_FAILURE() << other.what << " went unnoticed";
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(other.message), std::string::npos) << failure.what();
    }
  }
}

TEST(MemoryReplay, AProgramThatWasNotPlannedIsAFailure) {
  Memory memory(plan_of_step(), heap());
  EXPECT_THROW(memory.begin("validate"), Failure);
  EXPECT_THROW((void)memory.finish(), Failure);
}

TEST(MemoryReplay, ADeviceThatCannotHoldTheArenaSaysSo) {
  const auto none = [](std::size_t bytes) -> std::shared_ptr<std::byte> {
    throw UserError("the plan needs {} bytes", bytes);
  };
  EXPECT_THROW(Memory(plan_of_step(), none), UserError);
}

TEST(Buffer, MovingHandsThePieceOnAndGivesBackTheOneItReplaces) {
  Memory planning;
  planning.begin("train");
  Buffer first = take(planning, "first", 1024);
  Buffer second = take(planning, "second", 1024);
  first = std::move(second);                // "first" dies here
  EXPECT_FALSE(static_cast<bool>(second));  // NOLINT(bugprone-use-after-move): a moved-from buffer is empty
  Buffer third = take(planning, "third", 1024);
  first.reset();
  third.reset();
  planning.end();
  const MemoryPlan plan = planning.finish();
  EXPECT_EQ(plan.arena_bytes, 2048U) << "the third piece takes the place of the first";
}

}  // namespace
}  // namespace octet::test
