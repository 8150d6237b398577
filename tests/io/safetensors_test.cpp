// Safetensors files: reading, writing, checksums.
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "io/safetensors_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

std::string_view text_of(const FileTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<FileTensor> sample_tensors() {
  return {{"codes", FileDType::f8_e4m3, {3}, bytes_of("abc")},
          {"scale", FileDType::f32, {}, bytes_of("defg")},
          {"none", FileDType::bf16, {0, 7}, {}},
          {"weight", FileDType::bf16, {1, 2}, bytes_of("hijk")}};
}

TEST(Safetensors, ReadsAFilePutTogetherByHand) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("f", safetensors_bytes(std::string(valid_header) + "   ", valid_data));
  const SafetensorsFile file = SafetensorsFile::open(path);
  ASSERT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.tensors()[0].name, "a");
  const FileTensor* b = file.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, FileDType::bf16);
  EXPECT_EQ(b->shape, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(text_of(*b), "ijkl");
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.metadata(), (FileMetadata{{"note", "x"}}));
  EXPECT_FALSE(file.verify());  // nothing to verify against
}

TEST(Safetensors, OrderIsThatOfTheData) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("f", safetensors_bytes(R"({"late":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                                                         R"("early":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
                                                         "xy"));
  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_EQ(file.tensors()[0].name, "early");
  EXPECT_EQ(text_of(*file.find("late")), "y");
}

TEST(Safetensors, WrittenTensorsReadBackAligned) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "f";
  write_safetensors(path, sample_tensors(), {{"step", "7"}});
  const SafetensorsFile file = SafetensorsFile::open(path);
  ASSERT_EQ(file.tensors().size(), 4U);
  for (const FileTensor& expected : sample_tensors()) {
    const FileTensor* actual = file.find(expected.name);
    ASSERT_NE(actual, nullptr) << expected.name;
    EXPECT_EQ(actual->dtype, expected.dtype);
    EXPECT_EQ(actual->shape, expected.shape);
    EXPECT_EQ(text_of(*actual), text_of(expected));
    const auto address = reinterpret_cast<std::uintptr_t>(actual->bytes.data());
    EXPECT_EQ(address % file_dtype_bytes(actual->dtype), 0U) << expected.name;
  }
  EXPECT_EQ(file.metadata().at("step"), "7");
  EXPECT_TRUE(file.verify());
}

TEST(Safetensors, AFileOfNothingIsValid) {
  const ScratchDirectory scratch;
  write_safetensors(scratch.path() / "f", {});
  EXPECT_TRUE(SafetensorsFile::open(scratch.path() / "f").tensors().empty());
}

TEST(Safetensors, ChecksumsAreXxh3) {
  EXPECT_EQ(checksum({}), 0x2D06800538D394C2U);  // the published value of the empty input
  const ScratchDirectory scratch;
  write_safetensors(scratch.path() / "f", std::vector<FileTensor>{{"t", FileDType::u8, {0}, {}}});
  EXPECT_EQ(SafetensorsFile::open(scratch.path() / "f").metadata().at("xxh3.t"), "2d06800538d394c2");
}

TEST(Safetensors, VerifyNamesTheTensorOfEveryFlippedBit) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "f";
  write_safetensors(path, sample_tensors());
  const std::string good = read_file(path);
  const std::string_view owners[] = {"scale",  "scale",  "scale", "scale", "weight", "weight",
                                     "weight", "weight", "codes", "codes", "codes"};
  const std::size_t data = good.size() - std::size(owners);
  MemoryFile damaged;
  for (std::size_t bit = 0; bit < 8 * std::size(owners); ++bit) {
    std::string bad = good;
    bad[data + bit / 8] = static_cast<char>(bad[data + bit / 8] ^ (1 << bit % 8));
    const SafetensorsFile file = SafetensorsFile::open(damaged.write(bad));
    EXPECT_TRUE(contains(user_error([&] { (void)file.verify(); }),
                         "tensor \"" + std::string(owners[bit / 8]) + "\" does not match its checksum"));
  }
}

TEST(Safetensors, VerifyMissesNoTensor) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "f";
  write_safetensors(path, sample_tensors());
  std::string renamed_checksum = read_file(path);
  renamed_checksum.replace(renamed_checksum.find("xxh3.codes"), 10, "xxh4.codes");
  const SafetensorsFile lacking = SafetensorsFile::open(scratch.write("lacking", renamed_checksum));
  EXPECT_TRUE(contains(user_error([&] { (void)lacking.verify(); }), "tensor \"codes\" has no checksum"));

  const auto surplus_path = scratch.write("surplus", safetensors_bytes(R"({"__metadata__":{"xxh3.t":"0"}})", ""));
  const SafetensorsFile surplus = SafetensorsFile::open(surplus_path);
  EXPECT_TRUE(contains(user_error([&] { (void)surplus.verify(); }), "checksums of 1 tensors, but the file holds 0"));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "f";
  write_safetensors(path, sample_tensors());
  const std::string good = read_file(path);
  MemoryFile damaged;
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto cut = damaged.write(std::string_view(good).substr(0, length));
    EXPECT_TRUE(contains(user_error([&] { (void)SafetensorsFile::open(cut); }), cut.string()));
  }
}

TEST(Safetensors, WrongUseOfTheWriterIsOurBug) {
  const ScratchDirectory scratch;
  const auto write = [&](const std::vector<FileTensor>& tensors, const FileMetadata& metadata) {
    write_safetensors(scratch.path() / "f", tensors, metadata);
  };
  EXPECT_THROW(write({{"t", FileDType::f32, {2}, bytes_of("abcd")}}, {}), Failure);
  EXPECT_THROW(write({{"t", FileDType::u8, {0}, {}}, {"t", FileDType::u8, {0}, {}}}, {}), Failure);
  EXPECT_THROW(write({}, {{"xxh3.t", ""}}), Failure);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "f"));
}

}  // namespace
}  // namespace octet
