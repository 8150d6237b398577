// Loads and stores of global memory, by global, flat and buffer addresses; flat ones may reach LDS and scratch as well.
// AMD CDNA4 ISA, 9 "Vector Memory Operations", 10 "Flat Memory Instructions"; 12.13 MUBUF, 12.15 FLAT, Scratch and
// Global.
#include <array>
#include <cstdint>

#include "sim/semantics/buffer_space.h"
#include "sim/semantics/flat_space.h"
#include "sim/semantics/global_space.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr u32 kBuffer = kAccepts | modifier::kBuffer;
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

    {"flat_load_ubyte", load<FlatSpace, u8, 1>, kAccepts},
    {"flat_load_sbyte", load<FlatSpace, i8, 1>, kAccepts},
    {"flat_load_ushort", load<FlatSpace, u16, 1>, kAccepts},
    {"flat_load_sshort", load<FlatSpace, i16, 1>, kAccepts},
    {"flat_load_dword", load<FlatSpace, u32, 1>, kAccepts},
    {"flat_load_dwordx2", load<FlatSpace, u32, 2>, kAccepts},
    {"flat_load_dwordx3", load<FlatSpace, u32, 3>, kAccepts},
    {"flat_load_dwordx4", load<FlatSpace, u32, 4>, kAccepts},
    {"flat_load_ubyte_d16", load_half<FlatSpace, u8, false>, kAccepts},
    {"flat_load_ubyte_d16_hi", load_half<FlatSpace, u8, true>, kAccepts},
    {"flat_load_sbyte_d16", load_half<FlatSpace, i8, false>, kAccepts},
    {"flat_load_sbyte_d16_hi", load_half<FlatSpace, i8, true>, kAccepts},
    {"flat_load_short_d16", load_half<FlatSpace, u16, false>, kAccepts},
    {"flat_load_short_d16_hi", load_half<FlatSpace, u16, true>, kAccepts},
    {"flat_store_byte", store<FlatSpace, u8, 1>, kAccepts},
    {"flat_store_byte_d16_hi", store<FlatSpace, u8, 1, 16>, kAccepts},
    {"flat_store_short", store<FlatSpace, u16, 1>, kAccepts},
    {"flat_store_short_d16_hi", store<FlatSpace, u16, 1, 16>, kAccepts},
    {"flat_store_dword", store<FlatSpace, u32, 1>, kAccepts},
    {"flat_store_dwordx2", store<FlatSpace, u32, 2>, kAccepts},
    {"flat_store_dwordx3", store<FlatSpace, u32, 3>, kAccepts},
    {"flat_store_dwordx4", store<FlatSpace, u32, 4>, kAccepts},

    {"buffer_load_ubyte", load<BufferSpace, u8, 1>, kBuffer},
    {"buffer_load_sbyte", load<BufferSpace, i8, 1>, kBuffer},
    {"buffer_load_ushort", load<BufferSpace, u16, 1>, kBuffer},
    {"buffer_load_sshort", load<BufferSpace, i16, 1>, kBuffer},
    {"buffer_load_dword", load<BufferSpace, u32, 1>, kBuffer},
    {"buffer_load_dwordx2", load<BufferSpace, u32, 2>, kBuffer},
    {"buffer_load_dwordx3", load<BufferSpace, u32, 3>, kBuffer},
    {"buffer_load_dwordx4", load<BufferSpace, u32, 4>, kBuffer},
    {"buffer_load_ubyte_d16", load_half<BufferSpace, u8, false>, kBuffer},
    {"buffer_load_ubyte_d16_hi", load_half<BufferSpace, u8, true>, kBuffer},
    {"buffer_load_sbyte_d16", load_half<BufferSpace, i8, false>, kBuffer},
    {"buffer_load_sbyte_d16_hi", load_half<BufferSpace, i8, true>, kBuffer},
    {"buffer_load_short_d16", load_half<BufferSpace, u16, false>, kBuffer},
    {"buffer_load_short_d16_hi", load_half<BufferSpace, u16, true>, kBuffer},
    {"buffer_store_byte", store<BufferSpace, u8, 1>, kBuffer},
    {"buffer_store_byte_d16_hi", store<BufferSpace, u8, 1, 16>, kBuffer},
    {"buffer_store_short", store<BufferSpace, u16, 1>, kBuffer},
    {"buffer_store_short_d16_hi", store<BufferSpace, u16, 1, 16>, kBuffer},
    {"buffer_store_dword", store<BufferSpace, u32, 1>, kBuffer},
    {"buffer_store_dwordx2", store<BufferSpace, u32, 2>, kBuffer},
    {"buffer_store_dwordx3", store<BufferSpace, u32, 3>, kBuffer},
    {"buffer_store_dwordx4", store<BufferSpace, u32, 4>, kBuffer},
});

}  // namespace

Table global_table() {
  return kRows;
}

}  // namespace octet::sim
