// Detectors one by one, on accesses as a launch tells of them: the rules, case by case.
#include "sim/detectors/checks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "sim/detectors/misaligned_accesses.h"
#include "sim/detectors/uninitialised_reads.h"
#include "sim/detectors/workgroup_races.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

/// Tells of an access of lane 5; says whether that was a fault.
bool is_fault(AccessListener& detector, const Instruction& instruction, Space space, AccessKind kind, u32 bytes,
              u64 address, u32 wave = 0) {
  const std::size_t lane = space == Space::scalar ? 0 : 5;
  Access access{instruction, space, kind, bytes, wave, u64{1} << lane};
  access.addresses[lane] = address;
  try {
    detector.on_access(access);
  } catch (const Failure&) {
    return true;
  }
  return false;
}

TEST(MisalignedAccessesTest, AlignmentBySpaceWidthAndKind) {
  struct Case {
    Space space;
    AccessKind kind;
    u32 bytes, alignment;
  };
  const std::vector<Case> cases{{Space::global, AccessKind::read, 1, 1},    {Space::global, AccessKind::write, 2, 2},
                                {Space::global, AccessKind::read, 4, 4},    {Space::global, AccessKind::write, 8, 4},
                                {Space::global, AccessKind::read, 12, 4},   {Space::global, AccessKind::read, 16, 4},
                                {Space::global, AccessKind::update, 4, 4},  {Space::global, AccessKind::update, 8, 8},
                                {Space::scalar, AccessKind::read, 64, 4},   {Space::scratch, AccessKind::write, 2, 2},
                                {Space::scratch, AccessKind::write, 16, 4}, {Space::lds, AccessKind::read, 1, 1},
                                {Space::lds, AccessKind::read, 2, 2},       {Space::lds, AccessKind::read, 4, 4},
                                {Space::lds, AccessKind::read, 8, 8},       {Space::lds, AccessKind::write, 12, 16},
                                {Space::lds, AccessKind::write, 16, 16},    {Space::lds, AccessKind::update, 8, 8}};
  const Memory memory;
  const Instruction instruction;
  MisalignedAccesses detector(memory);
  for (const Case& known : cases) {
    for (u32 address = 0; address < 32; ++address) {
      EXPECT_EQ(is_fault(detector, instruction, known.space, known.kind, known.bytes, address),
                address % known.alignment != 0)
          << known.bytes << " bytes at " << address;
    }
  }
}

TEST(UninitialisedReadsTest, ByCases) {
  Memory memory;
  const u64 untracked = memory.allocate(64, "untracked");
  memory.track_writes();
  const u64 data = memory.allocate(64, "data");
  const Instruction instruction;
  UninitialisedReads detector(memory);
  const auto fault = [&](Space space, AccessKind kind, u32 bytes, u64 address, u32 wave = 0) {
    return is_fault(detector, instruction, space, kind, bytes, address, wave);
  };
  detector.on_launch({{1, 1, 1}, 2, 16, 0});
  detector.on_workgroup(32);
  EXPECT_FALSE(fault(Space::global, AccessKind::read, 4, untracked));
  EXPECT_TRUE(fault(Space::global, AccessKind::read, 4, data));
  EXPECT_TRUE(fault(Space::global, AccessKind::update, 4, data));
  EXPECT_FALSE(fault(Space::global, AccessKind::write, 4, data));
  EXPECT_FALSE(fault(Space::global, AccessKind::update, 4, data));
  EXPECT_TRUE(fault(Space::global, AccessKind::read, 4, data + 1));
  EXPECT_FALSE(fault(Space::global, AccessKind::read, 4, data + 62)) << "leaves the allocation, which is another fault";
  EXPECT_FALSE(fault(Space::global, AccessKind::read, 4, 8)) << "lies in none";

  EXPECT_TRUE(fault(Space::lds, AccessKind::read, 2, 0));
  EXPECT_FALSE(fault(Space::lds, AccessKind::write, 2, 0));
  EXPECT_FALSE(fault(Space::lds, AccessKind::read, 2, 0, 1)) << "all waves have the same";
  EXPECT_FALSE(fault(Space::lds, AccessKind::read, 8, 28)) << "leaves LDS";

  EXPECT_TRUE(fault(Space::scratch, AccessKind::read, 4, 12));
  EXPECT_FALSE(fault(Space::scratch, AccessKind::write, 4, 12, 1));
  EXPECT_FALSE(fault(Space::scratch, AccessKind::read, 4, 12, 1));
  EXPECT_TRUE(fault(Space::scratch, AccessKind::read, 4, 12)) << "each wave has its own";
  EXPECT_FALSE(fault(Space::scratch, AccessKind::read, 4, 16)) << "leaves what a lane has";

  detector.on_workgroup(32);
  EXPECT_TRUE(fault(Space::lds, AccessKind::read, 2, 0));
  EXPECT_TRUE(fault(Space::scratch, AccessKind::read, 4, 12, 1));
  EXPECT_FALSE(fault(Space::global, AccessKind::read, 4, data));

  detector.on_launch({{1, 1, 1}, 2, 16, 3});
  detector.on_workgroup(32);
  EXPECT_FALSE(fault(Space::scratch, AccessKind::read, 4, 12)) << "spilled registers are not looked at";
}

TEST(UninitialisedReadsTest, AWideScalarLoadMayEndInPadding) {
  Memory memory;
  memory.track_writes();
  const Instruction instruction;
  UninitialisedReads detector(memory);
  for (const auto& [bytes, meant] : std::vector<std::pair<u32, u32>>{{4, 4}, {8, 8}, {16, 12}, {32, 20}, {64, 36}}) {
    const u64 data = memory.allocate(bytes, "data");
    memory.fill(data, std::byte{0}, meant - 1);
    EXPECT_TRUE(is_fault(detector, instruction, Space::scalar, AccessKind::read, bytes, data)) << bytes;
    memory.fill(data, std::byte{0}, meant);
    EXPECT_FALSE(is_fault(detector, instruction, Space::scalar, AccessKind::read, bytes, data)) << bytes;
  }
}

/// Accesses by workgroups in their order, by plain instructions or coherent ones (sc1).
class WorkgroupRacesTest : public testing::Test {
 protected:
  WorkgroupRacesTest() : gpu_("faults", Generation::cdna3), detector_(gpu_.program(), gpu_.memory()) {
    detector_.on_launch({{8, 1, 1}, 1, 0, 0});
    detector_.on_workgroup(0);
  }
  void next_workgroup() { detector_.on_workgroup(0); }

  [[nodiscard]] const Instruction& instruction(const std::string& mnemonic, bool coherent) const {
    for (const Instruction& candidate : gpu_.program().instructions()) {
      const std::string& text = gpu_.program().text(candidate.number);
      if (text.starts_with(mnemonic) && (text.find(" sc1") != std::string::npos) == coherent) return candidate;
    }
    ADD_FAILURE() << "no such " << mnemonic;
    return gpu_.program().instructions().front();
  }

  bool fault(AccessKind kind, u64 address, bool coherent = false) {
    const char* mnemonic = kind == AccessKind::update ? "global_atomic_add"
                           : kind == AccessKind::read ? "global_load_dword "
                                                      : "global_store_dword ";
    return is_fault(detector_, instruction(mnemonic, coherent), Space::global, kind, 4, address);
  }

  Gpu gpu_;
  WorkgroupRaces detector_;
};

TEST_F(WorkgroupRacesTest, WithinAWorkgroupAndAmongReadersThereAreNone) {
  for (const AccessKind kind :
       {AccessKind::read, AccessKind::write, AccessKind::read, AccessKind::update, AccessKind::read, AccessKind::write})
    EXPECT_FALSE(fault(kind, 0));
  EXPECT_FALSE(fault(AccessKind::read, 64));
  next_workgroup();
  EXPECT_FALSE(fault(AccessKind::read, 64));
  EXPECT_FALSE(fault(AccessKind::write, 4));
  EXPECT_TRUE(fault(AccessKind::read, 3)) << "of bytes that overlap";
  EXPECT_TRUE(fault(AccessKind::write, 66));
  EXPECT_TRUE(fault(AccessKind::update, 64));
  detector_.on_launch({{8, 1, 1}, 1, 0, 0});
  next_workgroup();
  EXPECT_FALSE(fault(AccessKind::write, 0)) << "a launch orders what comes before and after";
}

TEST_F(WorkgroupRacesTest, AtomicUpdatesRaceWithPlainAccessesOnly) {
  EXPECT_FALSE(fault(AccessKind::update, 0));
  EXPECT_FALSE(fault(AccessKind::update, 16));
  EXPECT_FALSE(fault(AccessKind::write, 16));
  next_workgroup();
  EXPECT_FALSE(fault(AccessKind::update, 0));
  EXPECT_TRUE(fault(AccessKind::update, 16)) << "with the plain write of the first";
  EXPECT_TRUE(fault(AccessKind::read, 0)) << "of what the first updated, though its own update came last";
  EXPECT_TRUE(fault(AccessKind::write, 0));
}

TEST_F(WorkgroupRacesTest, CoherentLoadsAndStoresRaceWithPlainOnesOnly) {
  for (const u64 address : {0U, 16U, 32U}) EXPECT_FALSE(fault(AccessKind::read, address, true));
  EXPECT_FALSE(fault(AccessKind::write, 48, true));
  next_workgroup();
  EXPECT_FALSE(fault(AccessKind::read, 16));
  EXPECT_FALSE(fault(AccessKind::read, 48, true));
  EXPECT_FALSE(fault(AccessKind::update, 48));
  EXPECT_TRUE(fault(AccessKind::read, 48));
  next_workgroup();
  EXPECT_FALSE(fault(AccessKind::write, 0, true));
  EXPECT_TRUE(fault(AccessKind::write, 16, true)) << "with the plain read of the second";
  EXPECT_TRUE(fault(AccessKind::write, 32)) << "with the coherent read of the first";
}

TEST(ChecksTest, DetectorsHaveNames) {
  const Gpu gpu("basics", Generation::cdna3);
  Memory memory;
  EXPECT_EQ(Checks(gpu.program(), memory, 3).listeners().size(), 3U);
  EXPECT_FALSE(Checks(gpu.program(), memory, 1, "misaligned,read-only,barriers").listeners()[0]->needs_order());
  EXPECT_TRUE(Checks(gpu.program(), memory, 1, "misaligned,workgroup-races").listeners()[0]->needs_order());
  for (const char* names : {"", "everything", "misaligned,", ",barriers", "all lds-races"}) {
    EXPECT_THROW(Checks(gpu.program(), memory, 1, names), UserError) << names;
  }
}

}  // namespace
}  // namespace octet::sim
