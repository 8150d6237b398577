// Code objects: what is read of a good one, and that a damaged one is a mistake of the user, never a crash.
#include "sim/elf/code_object.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "core/error.h"
#include "sim/elf/elf_file.h"
#include "sim/elf/msgpack.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

std::string refusal(std::span<const std::byte> file) {
  try {
    std::ignore = read_code_object(file, "damaged");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(CodeObjectTest, KernelsAndTheirArguments) {
  const CodeObject object = read_code_object(file_bytes(kernel_path("basics", Generation::cdna4)), "basics");
  EXPECT_EQ(object.generation, Generation::cdna4);
  const Kernel& add = object.kernel("vector_add");
  EXPECT_EQ(add.largest_workgroup, 256U);
  EXPECT_EQ(add.lds_bytes, 0U);
  EXPECT_GT(add.vgprs, 0U);
  EXPECT_EQ(add.spilled_vgprs, 0U);
  EXPECT_GE(add.code_bytes, 40U);
  ASSERT_GE(add.arguments.size(), 4U);
  EXPECT_EQ(add.arguments[2].kind, "global_buffer");
  EXPECT_EQ(add.arguments[2].offset, 16U);
  EXPECT_EQ(add.arguments[3].kind, "by_value");
  EXPECT_EQ(add.arguments[3].size, 4U);
  EXPECT_EQ(object.kernel("reduce").lds_bytes, 16U);
  EXPECT_THROW(std::ignore = object.kernel("add"), UserError);
}

TEST(CodeObjectTest, EveryInstructionOfTheTestKernelsIsKnown) {
  for (const Generation generation : {Generation::cdna3, Generation::cdna4}) {
    for (const char* source : {"basics", "counting", "faults", "formats", "training"}) {
      const Gpu gpu(source, generation);
      for (u32 number = 0; number < gpu.program().instructions().size(); ++number) {
        EXPECT_TRUE(gpu.program().is_known(number)) << gpu.program().text(number);
      }
    }
  }
}

TEST(CodeObjectTest, RefusalsSayWhatAndWhatToDo) {
  std::vector<std::byte> file = file_bytes(kernel_path("basics", Generation::cdna3));
  const auto changed = [&](std::size_t at, int value) {
    std::vector<std::byte> damaged = file;
    damaged[at] = static_cast<std::byte>(value);
    return refusal(damaged);
  };
  EXPECT_EQ(refusal(file), "");
  EXPECT_NE(changed(0, 'X').find("is no ELF file"), std::string::npos);
  EXPECT_NE(changed(4, 1).find("64 bits"), std::string::npos);
  EXPECT_NE(changed(18, 62).find("not for an AMD GPU"), std::string::npos);
  EXPECT_NE(changed(8, 2).find("-mcode-object-version=5"), std::string::npos);
  EXPECT_NE(changed(48, 0x3F).find("--offload-arch=gfx942"), std::string::npos);
  EXPECT_NE(refusal({}).find("is no ELF file"), std::string::npos);
}

TEST(CodeObjectTest, OtherFloatModesAreRefused) {
  std::vector<std::byte> file = file_bytes(kernel_path("basics", Generation::cdna3));
  const ElfFile elf = read_elf(file, "basics");
  const auto descriptor = std::find_if(elf.symbols.begin(), elf.symbols.end(),
                                       [](const Symbol& symbol) { return symbol.name == "vector_add.kd"; });
  ASSERT_NE(descriptor, elf.symbols.end());
  const auto segment = std::find_if(elf.segments.begin(), elf.segments.end(), [&](const Segment& candidate) {
    return descriptor->address - candidate.address < candidate.bytes.size();
  });
  ASSERT_NE(segment, elf.segments.end());
  const auto begin = static_cast<std::size_t>(segment->bytes.data() - file.data());
  const std::size_t resources = begin + (descriptor->address - segment->address) + 48;
  for (const std::size_t bit : {12U, 15U, 16U, 19U, 21U, 23U, 26U}) {
    std::vector<std::byte> changed = file;
    changed[resources + bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(refusal(changed).find("kernel vector_add asks for other float modes"), std::string::npos) << bit;
  }
}

TEST(CodeObjectTest, MetadataThatNestsDeeplyIsRefused) {
  const std::vector<std::byte> nested(1 << 20, std::byte{0x91});  // arrays of one element each
  EXPECT_THROW(std::ignore = read_msgpack(nested), nlohmann::json::exception);
  const std::vector<std::byte> flat{std::byte{0x92}, std::byte{7}, std::byte{0x91}, std::byte{8}};
  EXPECT_EQ(read_msgpack(flat).dump(), "[7,[8]]");
}

TEST(CodeObjectTest, DamageIsRefusedOrHarmless) {
  const std::vector<std::byte> file = file_bytes(kernel_path("basics", Generation::cdna3));
  for (std::size_t size = 0; size < file.size(); size += 61) {
    std::ignore = refusal(std::span(file).first(size));
  }
  std::mt19937 engine(1);
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<std::byte> damaged = file;
    const bool in_header = trial % 2 == 0;  // where sizes and offsets lie
    for (int k = 0; k < 3; ++k) {
      const std::size_t at = engine() % (in_header ? 1024 : damaged.size());
      damaged[at] = static_cast<std::byte>(engine());
    }
    std::ignore = refusal(damaged);
  }
}

}  // namespace
}  // namespace octet::sim
