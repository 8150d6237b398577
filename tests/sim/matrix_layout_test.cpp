// Where elements lie, spelt out: places that AMD's documents and its matrix instruction calculator name, register by
// register, found by experiment. All factors are zero but one element of A and one of B; where these meet, D is not
// zero.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "sim/one_wave.h"

namespace octet::sim {
namespace {

/// An element in the registers of an operand: its register, its lowest bit, its lane.
struct Spot {
  std::size_t dword;
  int bit;
  std::size_t lane;
};

/// The operands of A and B begin at v0 and v8, D at v32.
struct Meeting {
  const char* instruction;
  Generation generation;
  u32 one;  ///< the code of 1; of doubles the upper dword
  Spot a, b;
  std::size_t d_dword, d_lane;
  u32 one_of_b = one;  ///< where B has another format
};

constexpr std::size_t kFirstB = 8;
constexpr std::size_t kFirstD = 32;

constexpr const char* kSingle2b = "v_mfma_f32_32x32x1_2b_f32 v[32:63], v0, v8, 0";
constexpr const char* kSingle4b = "v_mfma_f32_16x16x1_4b_f32 v[32:47], v0, v8, 0";
constexpr const char* kSingle32 = "v_mfma_f32_32x32x2_f32 v[32:47], v0, v8, 0";
constexpr const char* kHalf16b = "v_mfma_f32_4x4x4_16b_f16 v[32:35], v[0:1], v[8:9], 0";
constexpr const char* kDouble16 = "v_mfma_f64_16x16x4_f64 v[32:39], v[0:1], v[8:9], 0";
constexpr const char* kDouble4b = "v_mfma_f64_4x4x4_4b_f64 v[32:33], v[0:1], v[8:9], 0";
constexpr const char* kXf32 = "v_mfma_f32_16x16x8_xf32 v[32:35], v[0:1], v[8:9], 0";
constexpr const char* kBf16Long = "v_mfma_f32_16x16x32_bf16 v[32:35], v[0:3], v[8:11], 0";
constexpr const char* kBf16Long32 = "v_mfma_f32_32x32x16_bf16 v[32:47], v[0:3], v[8:11], 0";
constexpr const char* kFp8Short = "v_mfma_f32_16x16x32_fp8_fp8 v[32:35], v[0:1], v[8:9], 0";
constexpr const char* kInt8Long = "v_mfma_i32_16x16x64_i8 v[32:35], v[0:3], v[8:11], 0";
constexpr const char* kInt8Long32 = "v_mfma_i32_32x32x32_i8 v[32:47], v[0:3], v[8:11], 0";
constexpr const char* kFp8Wide = "v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[0:7], v[8:15], 0";
constexpr const char* kFp8Wide32 = "v_mfma_f32_32x32x64_f8f6f4 v[32:47], v[0:7], v[8:15], 0";
constexpr const char* kFp6Wide = "v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[0:5], v[8:13], 0 cbsz:2 blgp:2";
constexpr const char* kFp6Wide32 = "v_mfma_f32_32x32x64_f8f6f4 v[32:47], v[0:5], v[8:13], 0 cbsz:2 blgp:2";
constexpr const char* kFp4Wide = "v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[0:3], v[8:11], 0 cbsz:4 blgp:4";
constexpr const char* kFp4Wide32 = "v_mfma_f32_32x32x64_f8f6f4 v[32:47], v[0:3], v[8:11], 0 cbsz:4 blgp:4";

constexpr const char* kFp8ByFp4 = "v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[0:7], v[8:11], 0 blgp:4";
constexpr const char* kFp6ByFp8 = "v_mfma_f32_32x32x64_f8f6f4 v[32:47], v[0:5], v[8:15], 0 cbsz:2";

constexpr u32 kOne = 0x3F80'0000;
constexpr u32 kOneBf16 = 0x3F80;
constexpr u32 kOneHalf = 0x3C00;
constexpr u32 kOneDouble = 0x3FF0'0000;
constexpr u32 kOneFp8 = 0x38;
constexpr u32 kOneFp6 = 0x08;
constexpr u32 kOneFp4 = 2;

const Meeting kMeetings[] = {
    // A[block, row, k], B[block, k, column], D[block, row, column]
    {kSingle2b, kCdna3, kOne, {0, 0, 27}, {0, 0, 1}, 15, 1},          // A[0,27,0] B[0,0,1] D[0,27,1]
    {kSingle2b, kCdna3, kOne, {0, 0, 63}, {0, 0, 32}, 31, 32},        // A[1,31,0] B[1,0,0] D[1,31,0]
    {kSingle2b, kCdna3, kOne, {0, 0, 36}, {0, 0, 63}, 16, 63},        // A[1,4,0] B[1,0,31] D[1,4,31]
    {kSingle4b, kCdna3, kOne, {0, 0, 53}, {0, 0, 50}, 13, 18},        // A[3,5,0] B[3,0,2] D[3,5,2]
    {kSingle32, kCdna3, kOne, {0, 0, 63}, {0, 0, 63}, 15, 63},        // A[0,31,1] B[0,1,31] D[0,31,31]
    {kSingle32, kCdna3, kOne, {0, 0, 12}, {0, 0, 1}, 4, 33},          // A[0,12,0] B[0,0,1] D[0,12,1]
    {kHalf16b, kCdna3, kOneHalf, {1, 0, 63}, {1, 0, 60}, 3, 60},      // A[15,3,2] B[15,2,0] D[15,3,0]
    {kHalf16b, kCdna3, kOneHalf, {0, 16, 4}, {0, 16, 7}, 0, 7},       // A[1,0,1] B[1,1,3] D[1,0,3]
    {kDouble16, kCdna3, kOneDouble, {1, 0, 63}, {1, 0, 48}, 7, 48},   // A[0,15,3] B[0,3,0] D[0,15,0]
    {kDouble16, kCdna3, kOneDouble, {1, 0, 37}, {1, 0, 33}, 3, 17},   // A[0,5,2] B[0,2,1] D[0,5,1]
    {kDouble4b, kCdna3, kOneDouble, {1, 0, 27}, {1, 0, 25}, 1, 57},   // A[2,3,1] B[2,1,1] D[2,3,1]
    {kXf32, kCdna3, kOne, {1, 0, 35}, {1, 0, 32}, 3, 0},              // A[0,3,5] B[0,5,0] D[0,3,0]
    {kBf16Long, kCdna4, kOneBf16, {2, 16, 16}, {2, 16, 31}, 0, 15},   // A[0,0,13] B[0,13,15] D[0,0,15]
    {kBf16Long, kCdna4, kOneBf16, {0, 0, 55}, {0, 0, 50}, 3, 18},     // A[0,7,24] B[0,24,2] D[0,7,2]
    {kBf16Long32, kCdna4, kOneBf16, {3, 0, 63}, {3, 0, 32}, 15, 32},  // A[0,31,14] B[0,14,0] D[0,31,0]
    {kFp8Short, kCdna3, 0x40, {1, 8, 35}, {1, 8, 41}, 3, 9},          // A[0,3,21] B[0,21,9] D[0,3,9]
    {kInt8Long, kCdna4, 1, {3, 8, 32}, {3, 8, 37}, 0, 5},             // A[0,0,45] B[0,45,5] D[0,0,5]
    {kInt8Long32, kCdna4, 1, {2, 24, 63}, {2, 24, 34}, 15, 34},       // A[0,31,27] B[0,27,2] D[0,31,2]
    {kFp8Wide, kCdna4, kOneFp8, {3, 24, 17}, {3, 24, 16}, 1, 0},      // A[0,1,31] B[0,31,0] D[0,1,0]
    {kFp8Wide, kCdna4, kOneFp8, {4, 0, 17}, {4, 0, 16}, 1, 0},        // A[0,1,80] B[0,80,0] D[0,1,0]
    {kFp8Wide32, kCdna4, kOneFp8, {7, 24, 63}, {7, 24, 32}, 15, 32},  // A[0,31,63] B[0,63,0] D[0,31,0]
    {kFp6Wide, kCdna4, kOneFp6, {0, 30, 18}, {0, 30, 16}, 2, 0},      // A[0,2,37] B[0,37,0] D[0,2,0]
    {kFp6Wide, kCdna4, kOneFp6, {5, 26, 63}, {5, 26, 48}, 3, 48},     // A[0,15,127] B[0,127,0] D[0,15,0]
    {kFp6Wide32, kCdna4, kOneFp6, {3, 0, 33}, {3, 0, 32}, 1, 0},      // A[0,1,48] B[0,48,0] D[0,1,0]
    {kFp4Wide, kCdna4, kOneFp4, {3, 28, 34}, {3, 28, 33}, 2, 1},      // A[0,2,95] B[0,95,1] D[0,2,1]
    {kFp4Wide32, kCdna4, kOneFp4, {0, 4, 32}, {0, 4, 32}, 0, 0},      // A[0,0,33] B[0,33,0] D[0,0,0]
    // Two formats, each in its own way
    {kFp8ByFp4, kCdna4, kOneFp8, {4, 0, 17}, {2, 0, 32}, 1, 0, kOneFp4},   // A[0,1,80] B[0,80,0] D[0,1,0]
    {kFp8ByFp4, kCdna4, kOneFp8, {3, 24, 17}, {3, 28, 2}, 1, 2, kOneFp4},  // A[0,1,31] B[0,31,2] D[0,1,2]
    {kFp6ByFp8, kCdna4, kOneFp6, {3, 0, 33}, {4, 0, 32}, 1, 0, kOneFp8},   // A[0,1,48] B[0,48,0] D[0,1,0]
    {kFp6ByFp8, kCdna4, kOneFp6, {0, 0, 33}, {4, 0, 0}, 1, 0, kOneFp8},    // A[0,1,32] B[0,32,0] D[0,1,0]
};

void set_bits(OneWave& one, std::size_t first, const Spot& spot, u32 code) {
  const u64 bits = u64{code} << spot.bit;
  one.v(first + spot.dword)[spot.lane] |= static_cast<u32>(bits);
  if (bits >> 32 != 0) one.v(first + spot.dword + 1)[spot.lane] |= static_cast<u32>(bits >> 32);
}

TEST(MatrixLayout, ElementsMeetWhereTheDocumentsSay) {
  for (const Meeting& meeting : kMeetings) {
    SCOPED_TRACE(std::string(meeting.instruction) + ", A in lane " + std::to_string(meeting.a.lane));
    OneWave one;
    set_bits(one, 0, meeting.a, meeting.one);
    set_bits(one, kFirstB, meeting.b, meeting.one_of_b);
    one.run(meeting.instruction, meeting.generation);
    for (std::size_t dword = 0; dword < 32; ++dword) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const bool here = dword == meeting.d_dword && lane == meeting.d_lane;
        ASSERT_EQ(one.v(kFirstD + dword)[lane] != 0, here) << dword << " " << lane;
      }
    }
  }
}

/// Elements of A and B of different places along K, or of different blocks, meet nowhere.
TEST(MatrixLayout, NeighboursDoNotMeet) {
  for (Meeting meeting : kMeetings) {
    SCOPED_TRACE(meeting.instruction);
    meeting.b.lane = (meeting.b.lane + 32) % kLanes;  // another K in each of these, or another block
    OneWave one;
    set_bits(one, 0, meeting.a, meeting.one);
    set_bits(one, kFirstB, meeting.b, meeting.one_of_b);
    one.run(meeting.instruction, meeting.generation);
    for (std::size_t dword = 0; dword < 32; ++dword) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) ASSERT_EQ(one.v(kFirstD + dword)[lane], 0U);
    }
  }
}

}  // namespace
}  // namespace octet::sim
