// How each layout of a model directory is opened.
#pragma once

#include <filesystem>

#include "convert/model_source.h"

namespace octet {

/// config.json, and model.safetensors or the files that model.safetensors.index.json names.
class HuggingFaceOpener {
 public:
  [[nodiscard]] static ModelSource open(const std::filesystem::path& directory);
};

/// model.safetensors beside config.toml, or beside a checkpoint's state.json.
class OctetOpener {
 public:
  [[nodiscard]] static ModelSource open(const std::filesystem::path& directory);
};

inline constexpr const char* weights_file = "model.safetensors";
inline constexpr const char* index_file = "model.safetensors.index.json";

/// "F32 [8, 16]".
[[nodiscard]] std::string describe(const FileTensor& tensor);
/// Throws UserError, "<where>: <first differences>; <remedy>", where there are any.
void refuse_differences(const std::filesystem::path& where, const std::vector<std::string>& differences);

}  // namespace octet
