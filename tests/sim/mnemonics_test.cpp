// Names of instructions, each with what a reader of AMD's documents takes from it.
#include "sim/counters/mnemonics.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string_view>

namespace octet::sim {
namespace {

struct Memory {
  std::string_view mnemonic;
  MemorySpace space;
  MemoryUse use;
  std::uint32_t bytes;
};

TEST(MnemonicsTest, MemoryInstructions) {
  constexpr auto kGlobal = MemorySpace::global;
  constexpr auto kLds = MemorySpace::lds;
  constexpr auto kLoad = MemoryUse::load;
  constexpr auto kStore = MemoryUse::store;
  constexpr auto kAtomic = MemoryUse::atomic;
  for (const Memory& expected : std::to_array<Memory>({{"global_load_dwordx4", kGlobal, kLoad, 16},
                                                       {"global_load_ubyte_d16_hi", kGlobal, kLoad, 1},
                                                       {"global_load_lds_dwordx3", kGlobal, kLoad, 12},
                                                       {"global_store_short_d16_hi", kGlobal, kStore, 2},
                                                       {"global_atomic_add_f32", kGlobal, kAtomic, 4},
                                                       {"global_atomic_cmpswap_x2", kGlobal, kAtomic, 8},
                                                       {"global_atomic_add_f64", kGlobal, kAtomic, 8},
                                                       {"flat_store_dwordx2", kGlobal, kStore, 8},
                                                       {"buffer_load_dword", kGlobal, kLoad, 4},
                                                       {"buffer_load_format_x", kGlobal, kLoad, 0},
                                                       {"scratch_load_dwordx3", MemorySpace::scratch, kLoad, 12},
                                                       {"scratch_store_byte", MemorySpace::scratch, kStore, 1},
                                                       {"ds_read_u16_d16", kLds, kLoad, 2},
                                                       {"ds_read2st64_b64", kLds, kLoad, 8},
                                                       {"ds_read_b64_tr_b16", kLds, kLoad, 8},
                                                       {"ds_read_addtid_b32", kLds, kLoad, 4},
                                                       {"ds_write2_b32", kLds, kStore, 4},
                                                       {"ds_write_b128", kLds, kStore, 16},
                                                       {"ds_add_rtn_u64", kLds, kAtomic, 8},
                                                       {"ds_max_i32", kLds, kAtomic, 4}})) {
    const std::optional<MemoryInstruction> found = memory_instruction(expected.mnemonic);
    ASSERT_TRUE(found) << expected.mnemonic;
    EXPECT_EQ(found->space, expected.space) << expected.mnemonic;
    EXPECT_EQ(found->use, expected.use) << expected.mnemonic;
    EXPECT_EQ(found->bytes, expected.bytes) << expected.mnemonic;
  }
  for (const std::string_view none : {"ds_bpermute_b32", "ds_swizzle_b32", "buffer_wbl2", "buffer_inv", "s_load_dword",
                                      "v_add_f32_e32", "global", ""}) {
    EXPECT_FALSE(memory_instruction(none)) << none;
  }
}

TEST(MnemonicsTest, ScalarLoads) {
  EXPECT_EQ(scalar_load_bytes("s_load_dword"), 4U);
  EXPECT_EQ(scalar_load_bytes("s_load_dwordx16"), 64U);
  EXPECT_EQ(scalar_load_bytes("s_buffer_load_dwordx8"), 32U);
  EXPECT_EQ(scalar_load_bytes("s_add_u32"), 0U);
}

TEST(MnemonicsTest, OperationsOfMatrixInstructions) {
  EXPECT_EQ(matrix_operations("v_mfma_f32_16x16x32_fp8_fp8"), 2U * 16 * 16 * 32);
  EXPECT_EQ(matrix_operations("v_mfma_f32_32x32x16_bf8_fp8"), 2U * 32 * 32 * 16);
  EXPECT_EQ(matrix_operations("v_mfma_scale_f32_16x16x128_f8f6f4"), 2U * 16 * 16 * 128);
  EXPECT_EQ(matrix_operations("v_mfma_f32_4x4x4_16b_f16"), 2U * 4 * 4 * 4 * 16);
  EXPECT_EQ(matrix_operations("v_mfma_f32_32x32x4_2b_bf16"), 2U * 32 * 32 * 4 * 2);
  EXPECT_EQ(matrix_operations("v_mfma_f64_16x16x4_f64"), 2U * 16 * 16 * 4);
  EXPECT_EQ(matrix_operations("v_mfma_i32_32x32x16_i8"), 2U * 32 * 32 * 16);
  EXPECT_EQ(matrix_operations("v_mfma_f32_16x16x8_xf32"), 2U * 16 * 16 * 8);
  EXPECT_EQ(matrix_operations("v_smfmac_f32_16x16x64_fp8_fp8"), 2U * 16 * 16 * 32);
  EXPECT_EQ(matrix_operations("v_fma_f32"), std::nullopt);
}

TEST(MnemonicsTest, OtherGroups) {
  EXPECT_EQ(mnemonic("s_endpgm"), "s_endpgm");
  EXPECT_EQ(mnemonic("v_mov_b32_e32 v0, 0"), "v_mov_b32_e32");
  EXPECT_TRUE(is_branch("s_branch"));
  EXPECT_TRUE(is_branch("s_cbranch_execz"));
  EXPECT_FALSE(is_branch("s_barrier"));
  EXPECT_TRUE(is_barrier("s_barrier"));
  EXPECT_TRUE(is_wait("s_waitcnt"));
  EXPECT_FALSE(is_wait("s_nop"));
  EXPECT_TRUE(is_cache_maintenance("buffer_wbl2"));
  EXPECT_TRUE(is_cache_maintenance("buffer_inv"));
  EXPECT_FALSE(is_cache_maintenance("buffer_load_dword"));
}

}  // namespace
}  // namespace octet::sim
