// A model on disk, whoever wrote it: its configuration, and where the values of each of its tensors lie.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "convert/tensor_names.h"
#include "convert/tensor_values.h"
#include "io/config.h"
#include "io/safetensors.h"

namespace octet {

enum class ModelLayout : std::uint8_t { octet, hugging_face };

struct SourceTensor {
  TensorNames names;
  const SafetensorsFile* file = nullptr;  ///< that holds it
  StoredValues stored;                    ///< without tensor: a router's bias of a model that has none, zeros
};

/// An open model whose files were held against its configuration: each tensor once, in the shape and a dtype that fit.
/// Files are mapped; values are read when they are asked for.
class ModelSource {
 public:
  /// `directory` holds config.json beside safetensors files, as Hugging Face's; or it is a run of octet train, whose
  /// newest checkpoint counts, a checkpoint, or a model directory of octet convert. UserError names the first
  /// differences: tensors that are missing, superfluous, in two files, or of another shape or dtype.
  [[nodiscard]] static ModelSource open(const std::filesystem::path& directory);

  [[nodiscard]] ModelLayout layout() const { return layout_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  /// Of a checkpoint by itself only [model] and training.seq_len hold something.
  [[nodiscard]] const LoadedConfig& config() const { return config_; }
  /// In the model's order.
  [[nodiscard]] const std::vector<SourceTensor>& tensors() const { return tensors_; }
  /// Names of tensors that have no counterpart and are not converted.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  friend class HuggingFaceOpener;
  friend class OctetOpener;
  ModelSource() = default;

  ModelLayout layout_ = ModelLayout::octet;
  std::filesystem::path directory_;  // of the weights
  LoadedConfig config_;
  std::deque<SafetensorsFile> files_;
  std::vector<SourceTensor> tensors_;
  std::vector<std::string> left_out_;
};

/// UserError where Octet's checksum of the tensor is there and does not match its bytes.
void verify(const SourceTensor& tensor);

}  // namespace octet
