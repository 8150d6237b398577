// Small models as Hugging Face's directories, with values of the tests' own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "convert/hugging_face_config.h"
#include "io/config_fields.h"
#include "io/scratch.h"

namespace octet::test {

inline bool octet_has(std::string_view family) {
  const auto& choices = find_config_field("model.family")->choices;
  return std::find(choices.begin(), choices.end(), family) != choices.end();
}

inline nlohmann::json small_config(std::string_view family) {
  nlohmann::json config = {{"vocab_size", 16},       {"hidden_size", 8},         {"intermediate_size", 12},
                           {"num_hidden_layers", 2}, {"num_attention_heads", 2}, {"num_key_value_heads", 1},
                           {"head_dim", 4}};
  if (family == "llama3") config["architectures"] = {"LlamaForCausalLM"};
  if (family == "qwen3") config["architectures"] = {"Qwen3ForCausalLM"};
  if (family == "qwen3_moe") {
    config["architectures"] = {"Qwen3MoeForCausalLM"};
    config.update(
        {{"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 6}, {"mlp_only_layers", {0}}});
  }
  if (family == "deepseek_v3") {
    config["architectures"] = {"DeepseekV3ForCausalLM"};
    config.erase("head_dim");
    config.update({{"kv_lora_rank", 4},
                   {"q_lora_rank", nullptr},
                   {"qk_rope_head_dim", 2},
                   {"qk_nope_head_dim", 2},
                   {"v_head_dim", 4},
                   {"n_routed_experts", 4},
                   {"n_shared_experts", 1},
                   {"num_experts_per_tok", 2},
                   {"moe_intermediate_size", 6},
                   {"n_group", 2},
                   {"topk_group", 1},
                   {"first_k_dense_replace", 1}});
  }
  return config;
}

/// Tensors with bytes that belong to them.
class Stored {
 public:
  /// Every value of `dtype` that the seed makes, NaN payloads among them.
  FileTensor& add(std::string name, FileDType dtype, std::vector<std::uint64_t> shape) {
    std::uint64_t bytes = file_dtype_bytes(dtype);
    for (const std::uint64_t extent : shape) bytes *= extent;
    std::vector<std::byte>& data = data_.emplace_back(bytes);
    for (std::byte& byte : data)
      byte = static_cast<std::byte>((state_ = state_ * 6364136223846793005U + 1442695040888963407U) >> 56U);
    return tensors_.emplace_back(FileTensor{std::move(name), dtype, std::move(shape), data});
  }
  [[nodiscard]] std::vector<FileTensor> list() const { return {tensors_.begin(), tensors_.end()}; }
  [[nodiscard]] FileTensor& find(std::string_view name) {
    return *std::find_if(tensors_.begin(), tensors_.end(), [&](const FileTensor& t) { return t.name == name; });
  }
  void remove(std::string_view name) {
    std::erase_if(tensors_, [&](const FileTensor& t) { return t.name == name; });
  }

 private:
  std::uint64_t state_ = 1;
  std::deque<std::vector<std::byte>> data_;
  std::deque<FileTensor> tensors_;
};

/// The tensors of a model of Hugging Face's in one dtype; routers' biases are fp32.
inline Stored stored_model(const nlohmann::json& config, FileDType dtype = FileDType::bf16) {
  Stored stored;
  const HuggingFaceConfig parsed = parse_hugging_face_config(config.dump(), "config.json");
  for (const TensorNames& names : tensor_names(parsed.loaded.config.model)) {
    stored.add(names.hugging_face, names.router_bias ? FileDType::f32 : dtype, names.shape);
  }
  return stored;
}

inline std::filesystem::path write_model(const std::filesystem::path& directory, const nlohmann::json& config,
                                         const Stored& stored) {
  make_directory(directory);
  write_file_atomically(directory / "config.json", config.dump());
  write_safetensors(directory / "model.safetensors", stored.list(), {{"format", "pt"}});
  return directory;
}

/// Name -> dtype, shape and bytes of all tensors in the safetensors files of a directory.
inline std::map<std::string, std::string> contents(const std::filesystem::path& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file = SafetensorsFile::open(entry.path());
    EXPECT_TRUE(file.verify()) << entry.path();
    for (const FileTensor& tensor : file.tensors()) {
      std::string text(file_dtype_name(tensor.dtype));
      for (const std::uint64_t extent : tensor.shape) text += " " + std::to_string(extent);
      text += ":" + std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
      EXPECT_TRUE(found.emplace(tensor.name, std::move(text)).second) << tensor.name;
    }
  }
  return found;
}

inline void convert(const std::filesystem::path& from, const std::filesystem::path& to,
                    const ConvertOptions& options = {}) {
  const ModelSource source = ModelSource::open(from);
  write_conversion(plan_conversion(source, options), to);
}

}  // namespace octet::test
