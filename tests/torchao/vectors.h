// The stored results of torchao, by name; make_vectors.py wrote them and says how.
#pragma once

#include <string>
#include <vector>

#include "fp8/bf16.h"
#include "io/safetensors.h"
#include "ops/reference/vectors.h"

namespace octet::test {

/// Throws where a tensor is missing or of another dtype.
class TorchaoVectors {
 public:
  [[nodiscard]] bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  [[nodiscard]] std::vector<bf16> bf16s(const std::string& name) const { return read<bf16>(name, FileDType::bf16); }
  [[nodiscard]] std::vector<float> floats(const std::string& name) const { return read<float>(name, FileDType::f32); }
  [[nodiscard]] std::vector<std::uint8_t> codes(const std::string& name) const {
    return read<std::uint8_t>(name, FileDType::u8);
  }
  [[nodiscard]] std::int64_t rows(const std::string& name) const {
    return static_cast<std::int64_t>(find(name).shape[0]);
  }
  [[nodiscard]] std::int64_t cols(const std::string& name) const {
    return static_cast<std::int64_t>(find(name).shape[1]);
  }

 private:
  [[nodiscard]] const FileTensor& find(const std::string& name) const;

  template <typename T>
  [[nodiscard]] std::vector<T> read(const std::string& name, FileDType dtype) const;

  SafetensorsFile file_ = SafetensorsFile::open("tests/torchao/vectors.safetensors");
};

}  // namespace octet::test
