// Damaged safetensors files: each is read, with tensors inside the file, or refused with one line.
#include <gtest/gtest.h>

#include "io/mutations.h"
#include "io/safetensors.h"
#include "io/safetensors_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

constexpr std::string_view json_tokens = "{}[]\":,\\0123456789-+.eEuntrfalsdypho_ \n\t\x80\xff";

class SafetensorsFuzz : public testing::Test {
 protected:
  /// True if the bytes are a valid file. Reads every byte of every tensor, so that a sanitizer sees a bad span.
  bool accepted(std::string_view bytes) {
    const auto path = file_.write(bytes);
    try {
      const SafetensorsFile file = SafetensorsFile::open(path);
      for (const FileTensor& tensor : file.tensors()) sum_ ^= checksum(tensor.bytes);
      (void)file.verify();
      return true;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    }
    return false;
  }

  [[nodiscard]] static std::string written_file() {
    const ScratchDirectory scratch;
    const std::string data = "0123456789abcdef";
    const auto bytes = std::as_bytes(std::span(data));
    const std::vector<FileTensor> tensors = {{"w", FileDType::f32, {2, 2}, bytes},
                                             {"codes", FileDType::f8_e5m2, {5}, bytes.first(5)}};
    write_safetensors(scratch.path() / "w", tensors, {{"step", "3"}});
    return read_file(scratch.path() / "w");
  }

 private:
  MemoryFile file_;
  std::uint64_t sum_ = 0;
};

TEST_F(SafetensorsFuzz, DamagedFilesAreReadOrRefused) {
  Mutator mutator(1);
  const std::string valid = written_file();
  ASSERT_TRUE(accepted(valid));
  for (int i = 0; i < 6000; ++i) (void)accepted(mutator.mutate(valid, json_tokens));
}

TEST_F(SafetensorsFuzz, DamagedHeadersOfTheRightLengthAreReadOrRefused) {
  Mutator mutator(2);
  int valid = 0;
  constexpr int rounds = 10000;
  for (int i = 0; i < rounds; ++i) {
    const std::string header = mutator.mutate(std::string(valid_header), json_tokens);
    valid += accepted(safetensors_bytes(header, valid_data)) ? 1 : 0;
  }
  // Both outcomes occur, or the damage was too coarse or too fine to test anything.
  EXPECT_GT(valid, rounds / 100);
  EXPECT_LT(valid, rounds / 2);
}

TEST_F(SafetensorsFuzz, HostileNumbersAreRefused) {
  const std::string_view numbers[] = {"0",
                                      "1",
                                      "7",
                                      "9",
                                      "4294967296",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551615",
                                      "18446744073709551608",
                                      "1e3",
                                      "-1"};
  for (const std::string_view extent : numbers) {
    for (const std::string_view begin : numbers) {
      for (const std::string_view end : numbers) {
        const std::string header = R"({"t":{"dtype":"F64","shape":[)" + std::string(extent) + R"(],"data_offsets":[)" +
                                   std::string(begin) + "," + std::string(end) + "]}}";
        EXPECT_FALSE(accepted(safetensors_bytes(header, "ABCDEFGHIJKL"))) << header;  // 12 bytes suit none
      }
    }
  }
}

TEST_F(SafetensorsFuzz, HostileLengthsAreRefused) {
  Mutator mutator(3);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = safetensors_bytes(valid_header, valid_data);
    for (std::size_t edits = 1 + mutator.below(8); edits > 0; --edits) {
      bytes[mutator.below(8)] = static_cast<char>(mutator.below(256));
    }
    if (bytes == safetensors_bytes(valid_header, valid_data)) continue;
    EXPECT_FALSE(accepted(bytes)) << i;
  }
}

TEST_F(SafetensorsFuzz, RandomBytesAreRefused) {
  Mutator mutator(4);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes(mutator.below(100), '\0');
    for (char& byte : bytes) byte = static_cast<char>(mutator.below(256));
    EXPECT_FALSE(accepted(bytes));
    EXPECT_FALSE(accepted(safetensors_bytes(bytes, ""))) << i;
  }
}

}  // namespace
}  // namespace octet
