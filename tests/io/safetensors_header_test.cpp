// What the reader refuses: every way in which a header can lie.
#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "io/safetensors_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

std::string error_of_file(std::string_view bytes) {
  MemoryFile file;
  const auto path = file.write(bytes);
  std::string message = user_error([&] { (void)SafetensorsFile::open(path); });
  EXPECT_TRUE(contains(message, path.string()));
  return message;
}

std::string error_of(std::string_view header, std::size_t data_bytes) {
  return error_of_file(safetensors_bytes(header, std::string(data_bytes, 'x')));
}

/// The header of tensor "t" with these members.
std::string tensor_t(std::string_view members) {
  return R"({"t":{)" + std::string(members) + "}}";
}

TEST(SafetensorsHeader, LengthMustFitTheFile) {
  EXPECT_TRUE(contains(error_of_file(""), "0 bytes hold no header"));
  EXPECT_TRUE(contains(error_of_file("1234567"), "7 bytes hold no header"));
  const std::string valid = safetensors_bytes(valid_header, valid_data);
  EXPECT_TRUE(contains(error_of_file(valid.substr(0, 50)), "does not fit a file of 50"));
  EXPECT_TRUE(contains(error_of_file(std::string(8, '\xff') + "{}"), "18446744073709551615"));
}

TEST(SafetensorsHeader, MustBeJson) {
  EXPECT_TRUE(contains(error_of("", 0), "does not start with a brace"));
  EXPECT_TRUE(contains(error_of(" {}", 0), "does not start with a brace"));
  EXPECT_TRUE(contains(error_of(std::string("{}\0x", 4), 0), "holds a NUL"));
  EXPECT_TRUE(contains(error_of("{} x", 0), "not valid JSON at its byte 4"));
  EXPECT_TRUE(contains(error_of("{\"a\":", 0), "not valid JSON"));
  EXPECT_TRUE(contains(error_of("{\"\xff\":{}}", 0), "not valid JSON"));
}

TEST(SafetensorsHeader, NestingIsFixed) {
  std::string deep = "{\"t\":";
  for (int i = 0; i < 1'000'000; ++i) deep += "{\"t\":";
  EXPECT_TRUE(contains(error_of(deep, 0), "tensor \"t\": an object stands where the format has none"));
  EXPECT_TRUE(contains(error_of("{\"t\":" + std::string(1'000'000, '['), 0), "a list stands where"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"U8","shape":[[1]])"), 0), "a list stands where"));
}

TEST(SafetensorsHeader, NamesOccurOnce) {
  const std::string entry = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_TRUE(contains(error_of("{\"t\":" + entry + ",\"t\":" + entry + "}", 1), "\"t\": the name occurs twice"));
  EXPECT_TRUE(contains(error_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "the name occurs twice"));
  EXPECT_TRUE(contains(error_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "the key \"k\" occurs twice"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1])"), 1),
                       "\"shape\" occurs twice"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1])"), 1),
                       "repeated string \"U8\""));
}

TEST(SafetensorsHeader, EntriesAreComplete) {
  EXPECT_TRUE(contains(error_of(tensor_t(""), 0), "dtype, shape or data_offsets is missing"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"U8","shape":[1])"), 1), "is missing"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"U8","shape":[1],"data_offsets":[0])"), 1), "not a pair"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,1])"), 1), "not a pair"));
}

TEST(SafetensorsHeader, TypesAreTheFormats) {
  EXPECT_TRUE(
      contains(error_of(tensor_t(R"("dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2])"), 2), "dtype \"F8_E8M0\""));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":1)"), 0), "a number stands where"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("shape":[-1])"), 0), "a negative number -1"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("shape":[1.5])"), 0), "1.5 is not a 64-bit whole number"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("shape":[18446744073709551616])"), 0), "is not a 64-bit whole number"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("shape":null)"), 0), "a null stands where"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("shape":["1"])"), 0), "unexpected or repeated string"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("size":[1])"), 0), "unexpected list \"size\""));
  EXPECT_TRUE(contains(error_of(R"({"__metadata__":{"k":1}})", 0), "a number stands where"));
  EXPECT_TRUE(contains(error_of(R"({"__metadata__":{"k":true}})", 0), "true or false stands where"));
  EXPECT_TRUE(contains(error_of(R"({"t":3})", 0), "a number stands where"));
}

TEST(SafetensorsHeader, ShapesFitTheirBytes) {
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4),
                       "its shape and dtype take 8 bytes, its offsets span 4"));
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0),
                       "its shape overflows 64 bits"));
  // The element size alone makes this one wrap around to 0.
  EXPECT_TRUE(contains(error_of(tensor_t(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"), 0),
                       "its shape overflows 64 bits"));
}

TEST(SafetensorsHeader, TensorsFillTheDataWithoutHolesOrOverlaps) {
  const auto two = [](std::string_view first, std::string_view second) {
    return R"({"p":{"dtype":"U8","shape":[2],"data_offsets":)" + std::string(first) +
           R"(},"q":{"dtype":"U8","shape":[2],"data_offsets":)" + std::string(second) + "}}";
  };
  EXPECT_TRUE(contains(error_of(two("[0,2]", "[1,3]"), 4), "\"q\": starts at byte 1 of the data, but the tensor"));
  EXPECT_TRUE(contains(error_of(two("[0,2]", "[0,2]"), 4), "\"q\": starts at byte 0"));
  EXPECT_TRUE(contains(error_of(two("[0,2]", "[3,5]"), 5), "\"q\": starts at byte 3"));
  EXPECT_TRUE(contains(error_of(two("[1,3]", "[3,5]"), 5), "\"p\": starts at byte 1"));
  EXPECT_TRUE(contains(error_of(two("[0,2]", "[2,4]"), 3), "\"q\": bytes 2 to 4 do not lie in the 3 bytes"));
  EXPECT_TRUE(contains(error_of(two("[0,2]", "[2,0]"), 4), "\"q\": bytes 2 to 0 do not lie"));
  EXPECT_TRUE(contains(error_of(two("[0,2]", "[2,4]"), 5), "5 bytes of data, but the tensors take 4"));
}

}  // namespace
}  // namespace octet
