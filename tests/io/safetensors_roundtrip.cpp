// safetensors_roundtrip IN OUT: reads IN, writes its tensors and metadata to OUT, and one tensor of each dtype besides,
// named dtype.<NAME>, of shape [2, 3] and bytes 0, 1, 2, ... The oracle test holds both ends.
#include <cstdio>
#include <exception>
#include <span>

#include "io/safetensors.h"

namespace {

void roundtrip(const char* in, const char* out) {
  const octet::SafetensorsFile file = octet::SafetensorsFile::open(in);
  std::vector<octet::FileTensor> tensors(file.tensors().begin(), file.tensors().end());
  std::vector<std::byte> counting(48);
  for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<std::byte>(i);
  for (const octet::FileDType dtype : octet::file_dtypes) {
    tensors.push_back({"dtype." + std::string(file_dtype_name(dtype)),
                       dtype,
                       {2, 3},
                       std::span(counting).first(6 * file_dtype_bytes(dtype))});
  }
  write_safetensors(out, tensors, file.metadata());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    roundtrip(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
