// Loads and stores of a lane's own memory, where registers are spilled to. AMD CDNA4 ISA, 10.5 "Scratch" and table 56
// (addresses); 12.15 FLAT, Scratch and Global.
#include <array>
#include <cstdint>

#include "sim/semantics/memory_access.h"
#include "sim/semantics/scratch_space.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr std::array kRows = std::to_array<Row>({
    {"scratch_load_ubyte", load<ScratchSpace, u8, 1>, kAccepts},
    {"scratch_load_sbyte", load<ScratchSpace, i8, 1>, kAccepts},
    {"scratch_load_ushort", load<ScratchSpace, u16, 1>, kAccepts},
    {"scratch_load_sshort", load<ScratchSpace, i16, 1>, kAccepts},
    {"scratch_load_dword", load<ScratchSpace, u32, 1>, kAccepts},
    {"scratch_load_dwordx2", load<ScratchSpace, u32, 2>, kAccepts},
    {"scratch_load_dwordx3", load<ScratchSpace, u32, 3>, kAccepts},
    {"scratch_load_dwordx4", load<ScratchSpace, u32, 4>, kAccepts},
    {"scratch_load_ubyte_d16", load_half<ScratchSpace, u8, false>, kAccepts},
    {"scratch_load_ubyte_d16_hi", load_half<ScratchSpace, u8, true>, kAccepts},
    {"scratch_load_sbyte_d16", load_half<ScratchSpace, i8, false>, kAccepts},
    {"scratch_load_sbyte_d16_hi", load_half<ScratchSpace, i8, true>, kAccepts},
    {"scratch_load_short_d16", load_half<ScratchSpace, u16, false>, kAccepts},
    {"scratch_load_short_d16_hi", load_half<ScratchSpace, u16, true>, kAccepts},
    {"scratch_store_byte", store<ScratchSpace, u8, 1>, kAccepts},
    {"scratch_store_byte_d16_hi", store<ScratchSpace, u8, 1, 16>, kAccepts},
    {"scratch_store_short", store<ScratchSpace, u16, 1>, kAccepts},
    {"scratch_store_short_d16_hi", store<ScratchSpace, u16, 1, 16>, kAccepts},
    {"scratch_store_dword", store<ScratchSpace, u32, 1>, kAccepts},
    {"scratch_store_dwordx2", store<ScratchSpace, u32, 2>, kAccepts},
    {"scratch_store_dwordx3", store<ScratchSpace, u32, 3>, kAccepts},
    {"scratch_store_dwordx4", store<ScratchSpace, u32, 4>, kAccepts},
});

}  // namespace

Table scratch_table() {
  return kRows;
}

}  // namespace octet::sim
