// Loads and stores of global memory, and flat ones, which may reach only that. AMD CDNA4 ISA, 10 "Flat Memory
// Instructions"; 12.15 FLAT, Scratch and Global.
#include <array>
#include <cstdint>

#include "sim/semantics/global_space.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr std::array kRows = std::to_array<Row>({
    {"global_load_ubyte", load<GlobalSpace, u8, 1>, kAccepts},
    {"global_load_sbyte", load<GlobalSpace, i8, 1>, kAccepts},
    {"global_load_ushort", load<GlobalSpace, u16, 1>, kAccepts},
    {"global_load_sshort", load<GlobalSpace, i16, 1>, kAccepts},
    {"global_load_dword", load<GlobalSpace, u32, 1>, kAccepts},
    {"global_load_dwordx2", load<GlobalSpace, u32, 2>, kAccepts},
    {"global_load_dwordx3", load<GlobalSpace, u32, 3>, kAccepts},
    {"global_load_dwordx4", load<GlobalSpace, u32, 4>, kAccepts},
    {"global_load_ubyte_d16", load_half<GlobalSpace, u8, false>, kAccepts},
    {"global_load_ubyte_d16_hi", load_half<GlobalSpace, u8, true>, kAccepts},
    {"global_load_sbyte_d16", load_half<GlobalSpace, i8, false>, kAccepts},
    {"global_load_sbyte_d16_hi", load_half<GlobalSpace, i8, true>, kAccepts},
    {"global_load_short_d16", load_half<GlobalSpace, u16, false>, kAccepts},
    {"global_load_short_d16_hi", load_half<GlobalSpace, u16, true>, kAccepts},
    {"global_store_byte", store<GlobalSpace, u8, 1>, kAccepts},
    {"global_store_byte_d16_hi", store<GlobalSpace, u8, 1, 16>, kAccepts},
    {"global_store_short", store<GlobalSpace, u16, 1>, kAccepts},
    {"global_store_short_d16_hi", store<GlobalSpace, u16, 1, 16>, kAccepts},
    {"global_store_dword", store<GlobalSpace, u32, 1>, kAccepts},
    {"global_store_dwordx2", store<GlobalSpace, u32, 2>, kAccepts},
    {"global_store_dwordx3", store<GlobalSpace, u32, 3>, kAccepts},
    {"global_store_dwordx4", store<GlobalSpace, u32, 4>, kAccepts},
    {"flat_load_ubyte", load<GlobalSpace, u8, 1>, kAccepts},
    {"flat_load_ushort", load<GlobalSpace, u16, 1>, kAccepts},
    {"flat_load_dword", load<GlobalSpace, u32, 1>, kAccepts},
    {"flat_load_dwordx2", load<GlobalSpace, u32, 2>, kAccepts},
    {"flat_load_dwordx4", load<GlobalSpace, u32, 4>, kAccepts},
    {"flat_store_byte", store<GlobalSpace, u8, 1>, kAccepts},
    {"flat_store_short", store<GlobalSpace, u16, 1>, kAccepts},
    {"flat_store_dword", store<GlobalSpace, u32, 1>, kAccepts},
    {"flat_store_dwordx2", store<GlobalSpace, u32, 2>, kAccepts},
    {"flat_store_dwordx4", store<GlobalSpace, u32, 4>, kAccepts},
});

}  // namespace

Table global_table() {
  return kRows;
}

}  // namespace octet::sim
