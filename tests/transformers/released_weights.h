// Models as Hugging Face's files hold them, given to the oracle by its own names.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"
#include "ops/reference/deepseek.h"

namespace octet::test {

/// One model of vectors.safetensors. What each name holds, and which rows are joined, is said in docs/models.md.
class ReleasedModel {
 public:
  ReleasedModel(const SafetensorsFile& file, std::string_view model) : file_(file), prefix_(std::string(model) + "/") {}

  [[nodiscard]] ops::reference::Parameters parameters(const ops::reference::LlamaConfig& config);
  [[nodiscard]] ops::reference::Parameters parameters(const ops::reference::DeepSeekConfig& config);
  /// [E] by the oracle's names of layers.
  [[nodiscard]] std::map<std::string, ops::reference::Vector> biases(const ops::reference::DeepSeekConfig& config);

  [[nodiscard]] std::vector<std::int32_t> tokens();
  [[nodiscard]] ops::reference::Vector logits() { return take("logits"); }
  /// Names of its tensors that nobody has asked for.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  [[nodiscard]] const FileTensor& find(const std::string& name);
  [[nodiscard]] ops::reference::Vector take(const std::string& name);
  /// Rows of several matrices, one after another.
  [[nodiscard]] ops::reference::Vector joined(const std::vector<std::string>& names);
  void add_ends(ops::reference::Parameters& to, bool tied);
  void add_norms(ops::reference::Parameters& to, std::int64_t layer);
  void add_grouped_attention(ops::reference::Parameters& to, std::int64_t layer, bool normed);
  void add_latent_attention(ops::reference::Parameters& to, std::int64_t layer, bool low_rank_queries);
  void add_network(ops::reference::Parameters& to, const std::string& name, const std::string& from);
  void add_experts(ops::reference::Parameters& to, std::int64_t layer, std::int64_t experts, bool shared);

  const SafetensorsFile& file_;
  std::string prefix_;
  std::set<std::string> read_;
};

}  // namespace octet::test
