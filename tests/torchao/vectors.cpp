#include "torchao/vectors.h"

#include <cstring>

#include "core/error.h"

namespace octet::test {

const FileTensor& TorchaoVectors::find(const std::string& name) const {
  const FileTensor* found = file_.find(name);
  if (found == nullptr) throw Failure("torchao's vectors have no {}", name);
  return *found;
}

template <typename T>
std::vector<T> TorchaoVectors::read(const std::string& name, FileDType dtype) const {
  const FileTensor& tensor = find(name);
  if (tensor.dtype != dtype) throw Failure("{} is {}", name, file_dtype_name(tensor.dtype));
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

template std::vector<bf16> TorchaoVectors::read(const std::string&, FileDType) const;
template std::vector<float> TorchaoVectors::read(const std::string&, FileDType) const;
template std::vector<std::uint8_t> TorchaoVectors::read(const std::string&, FileDType) const;

}  // namespace octet::test
