// Loads of global memory and scratch that go into LDS and not into registers. AMD CDNA4 ISA, 9.1.9 "Memory
// Buffer Load to LDS", 10.3 "Addressing".
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/semantics/buffer_space.h"
#include "sim/semantics/global_space.h"
#include "sim/semantics/lds_space.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/scratch_space.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// N values of type T from the address into the lane's slot of LDS, narrow ones extended to a dword. A slot is a dword
/// wide, or four for three or four of them, the last of which three leave as it was. The instruction's offset is added
/// on both sides. Lanes that EXEC does not name leave their slots; what is out of a buffer's range becomes 0.
template <typename AnySpace, typename T, std::size_t N>
void load_to_lds(Wave& wave, const Instruction& instruction) {
  const AnySpace source(wave, instruction, 0, 1);
  const Lanes slots = lane_slots(wave, instruction, N > 1 ? 16 : 4);
  const LdsSpace target(wave, slots, 0);
  announce(wave, instruction, source, AccessKind::read, sizeof(T), N);
  announce(wave, instruction, target, AccessKind::write, sizeof(u32), N);
  for_active_lanes(wave, [&](std::size_t lane) {
    const std::array<T, N> read = read_values<T, N>(source, lane);
    std::array<u32, N> written;
    for (std::size_t k = 0; k < N; ++k) written[k] = extended(read[k]);
    std::memcpy(target.at(lane, sizeof(written)), written.data(), sizeof(written));
  });
}

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr u32 kBuffer = kAccepts | modifier::kBuffer;
constexpr std::array kRows = std::to_array<Row>({
    {"global_load_lds_ubyte", load_to_lds<GlobalSpace, u8, 1>, kAccepts},
    {"global_load_lds_sbyte", load_to_lds<GlobalSpace, i8, 1>, kAccepts},
    {"global_load_lds_ushort", load_to_lds<GlobalSpace, u16, 1>, kAccepts},
    {"global_load_lds_sshort", load_to_lds<GlobalSpace, i16, 1>, kAccepts},
    {"global_load_lds_dword", load_to_lds<GlobalSpace, u32, 1>, kAccepts},
    {"global_load_lds_dwordx3", load_to_lds<GlobalSpace, u32, 3>, kAccepts, kCdna4},
    {"global_load_lds_dwordx4", load_to_lds<GlobalSpace, u32, 4>, kAccepts, kCdna4},
    {"scratch_load_lds_ubyte", load_to_lds<ScratchSpace, u8, 1>, kAccepts},
    {"scratch_load_lds_sbyte", load_to_lds<ScratchSpace, i8, 1>, kAccepts},
    {"scratch_load_lds_ushort", load_to_lds<ScratchSpace, u16, 1>, kAccepts},
    {"scratch_load_lds_sshort", load_to_lds<ScratchSpace, i16, 1>, kAccepts},
    {"scratch_load_lds_dword", load_to_lds<ScratchSpace, u32, 1>, kAccepts},
    {"buffer_load_ubyte_lds", load_to_lds<BufferSpace, u8, 1>, kBuffer},
    {"buffer_load_sbyte_lds", load_to_lds<BufferSpace, i8, 1>, kBuffer},
    {"buffer_load_ushort_lds", load_to_lds<BufferSpace, u16, 1>, kBuffer},
    {"buffer_load_sshort_lds", load_to_lds<BufferSpace, i16, 1>, kBuffer},
    {"buffer_load_dword_lds", load_to_lds<BufferSpace, u32, 1>, kBuffer},
    {"buffer_load_dwordx3_lds", load_to_lds<BufferSpace, u32, 3>, kBuffer, kCdna4},
    {"buffer_load_dwordx4_lds", load_to_lds<BufferSpace, u32, 4>, kBuffer, kCdna4},
});

}  // namespace

Table lds_loads_table() {
  return kRows;
}

}  // namespace octet::sim
