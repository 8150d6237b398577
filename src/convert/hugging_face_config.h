// config.json of Hugging Face's models: read as Octet's configuration, and written from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/config.h"

namespace octet {

struct HuggingFaceConfig {
  /// [model] says what config.json says, with its field as origin. The keys of a run that have no default hold the
  /// beginning of a fine-tuning, with the origin "octet convert".
  LoadedConfig loaded;
  std::int64_t prediction_layers = 0;  ///< of multi-token prediction, which have no counterpart in Octet
  bool fp8_blocks = false;             ///< weights are e4m3 codes with an inverse scale for each block of 128 x 128
};

/// Optional fields that are missing or null have the values that transformers 5 gives them. UserError (file, field,
/// remedy) for anything that is not JSON, an architecture that Octet has not, a field out of range, and what would
/// compute something else: biases, sliding windows, other activations, scalings of the rotary embedding or
/// quantisations.
[[nodiscard]] HuggingFaceConfig parse_hugging_face_config(std::string_view text, const std::filesystem::path& path);

/// What a config.json says beside the model.
struct Publication {
  std::string_view dtype;    ///< of the weights: "bfloat16" or "float32"
  std::int64_t context = 0;  ///< max_position_embeddings
  /// The text of another config.json, which has the last word on max_position_embeddings and the ids of bos, eos and
  /// padding; or empty. Without it the ids are null.
  std::string like;
};

/// The text of a config.json. UserError where the model has something that transformers' has not.
[[nodiscard]] std::string hugging_face_config(const Config::Model& model, const Publication& publication);

}  // namespace octet
