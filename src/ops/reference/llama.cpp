// The model as two lists, forward and backward, that mirror each other line by line.
#include "ops/reference/llama.h"

#include <algorithm>
#include <cmath>

#include "ops/reference/attention.h"
#include "ops/reference/casts.h"
#include "ops/reference/embedding.h"
#include "ops/reference/feed_forward.h"
#include "ops/reference/gemm.h"
#include "ops/reference/head_norm.h"
#include "ops/reference/loss.h"
#include "ops/reference/norm.h"

namespace octet::ops::reference {
namespace {

/// What the backward of one block needs.
struct Block {
  Vector input;            // [T, D]: the residual stream before attention
  RmsNorm attention_norm;  // of `input`
  Vector projected;        // [T, (H + 2 KV) hd]: queries, keys and values as they are made
  Vector qkv;              // [T, (H + 2 KV) hd], normed where heads are, rotated
  Softmax softmax;         // [B, H, S, S]
  Vector attended;         // [T, H hd]
  Vector middle;           // [T, D]: the residual stream after attention
  RmsNorm ffn_norm;        // of `middle`
  Vector gate_up;          // [T, 2F]
  Vector hidden;           // [T, F]
};

class Llama {
 public:
  Llama(const LlamaConfig& config, const Parameters& parameters, const LlamaBatch& batch)
      : config_(config),
        parameters_(parameters),
        batch_(batch),
        rows_(batch.batch * batch.seq_len),
        attention_{batch.batch, batch.seq_len, config.heads, config.kv_heads, config.head_dim},
        heads_{rows_, batch.seq_len, config.heads, config.kv_heads, config.head_dim},
        rope_{rows_, attention_.qkv_cols(), config.heads + config.kv_heads, config.head_dim, batch.seq_len, 0},
        cos_sin_(widen(rope_table(batch.seq_len, config.head_dim, config.rope_theta, config.rope_scaling))),
        scale_(1 / std::sqrt(static_cast<double>(config.head_dim))) {}

  LlamaStep step() {
    Vector stream = embedding_forward(batch_.tokens, weight("tok_embeddings.weight"), config_.dim);
    std::vector<Block> blocks;
    for (Index layer = 0; layer < config_.layers; ++layer) blocks.push_back(forward_block(layer, stream));
    const RmsNorm norm = rmsnorm_forward(stream, weight("norm.weight"), rows_, config_.dim, config_.norm_eps);
    LlamaStep result;
    result.logits = gemm(norm.y, weight(head()), rows_, config_.vocab, config_.dim);
    const Vector dlogits = loss(result);

    const Vector dnormed = linear_backward_of(head(), dlogits, norm.y, config_.dim, config_.vocab);
    Vector dstream = norm_backward_of("norm.weight", dnormed, stream, norm);
    for (Index layer = config_.layers - 1; layer >= 0; --layer) dstream = backward_block(layer, blocks[layer], dstream);
    accumulate("tok_embeddings.weight", embedding_backward(batch_.tokens, dstream, config_.vocab, config_.dim));
    result.gradients = std::move(gradients_);
    return result;
  }

 private:
  /// Moves `stream` from before the block to after it.
  Block forward_block(Index layer, Vector& stream) const {
    const std::string prefix = fmt::format("layers.{}.", layer);
    const Index dim = config_.dim;
    Block block;
    block.input = stream;
    block.attention_norm =
        rmsnorm_forward(block.input, weight(prefix + "attention_norm.weight"), rows_, dim, config_.norm_eps);
    block.projected =
        gemm(block.attention_norm.y, weight(prefix + "attention.wqkv.weight"), rows_, attention_.qkv_cols(), dim);
    block.qkv = rope(normed_heads(prefix, block.projected), cos_sin_, rope_, false);
    block.softmax = attention_softmax(block.qkv, attention_, scale_, batch_.document_start);
    block.attended = attention_forward(block.qkv, block.softmax, attention_);
    block.middle = sum_of(
        block.input, gemm(block.attended, weight(prefix + "attention.wo.weight"), rows_, dim, attention_.out_cols()));
    block.ffn_norm = rmsnorm_forward(block.middle, weight(prefix + "ffn_norm.weight"), rows_, dim, config_.norm_eps);
    block.gate_up = gemm(block.ffn_norm.y, weight(prefix + "feed_forward.w13.weight"), rows_, 2 * config_.ffn_dim, dim);
    block.hidden = swiglu_forward(block.gate_up, rows_, config_.ffn_dim);
    stream = sum_of(block.middle,
                    gemm(block.hidden, weight(prefix + "feed_forward.w2.weight"), rows_, dim, config_.ffn_dim));
    return block;
  }

  /// The gradient of the block's input from that of its output.
  Vector backward_block(Index layer, const Block& block, const Vector& dout) {
    const std::string prefix = fmt::format("layers.{}.", layer);
    const Index dim = config_.dim;
    const Vector dhidden =
        linear_backward_of(prefix + "feed_forward.w2.weight", dout, block.hidden, config_.ffn_dim, dim);
    const Vector dgate_up = swiglu_backward(block.gate_up, dhidden, rows_, config_.ffn_dim);
    const Vector dffn_normed =
        linear_backward_of(prefix + "feed_forward.w13.weight", dgate_up, block.ffn_norm.y, dim, 2 * config_.ffn_dim);
    const Vector dmiddle =
        sum_of(dout, norm_backward_of(prefix + "ffn_norm.weight", dffn_normed, block.middle, block.ffn_norm));
    const Vector dattended =
        linear_backward_of(prefix + "attention.wo.weight", dmiddle, block.attended, attention_.out_cols(), dim);
    const Vector drotated = attention_backward(block.qkv, block.softmax, dattended, attention_, scale_);
    const Vector dqkv = normed_heads_backward(prefix, rope(drotated, cos_sin_, rope_, true), block.projected);
    const Vector dnormed =
        linear_backward_of(prefix + "attention.wqkv.weight", dqkv, block.attention_norm.y, dim, attention_.qkv_cols());
    return sum_of(dmiddle,
                  norm_backward_of(prefix + "attention_norm.weight", dnormed, block.input, block.attention_norm));
  }

  [[nodiscard]] Vector normed_heads(const std::string& prefix, const Vector& projected) const {
    if (!config_.qk_norm) return projected;
    return head_norm_forward(projected, weight(prefix + "attention.qk_norm.weight"), heads_, config_.norm_eps);
  }

  Vector normed_heads_backward(const std::string& prefix, const Vector& dnormed, View projected) {
    if (!config_.qk_norm) return dnormed;
    const std::string name = prefix + "attention.qk_norm.weight";
    HeadNormGradients gradients = head_norm_backward(dnormed, projected, weight(name), heads_, config_.norm_eps);
    accumulate(name, gradients.dweights);
    return std::move(gradients.dx);
  }

  /// Sets the mean loss of the logits. Returns its gradient.
  Vector loss(LlamaStep& result) const {
    CrossEntropyLoss each = cross_entropy(result.logits, batch_.targets, rows_, config_.vocab);
    const auto counted = std::ranges::count_if(batch_.targets, [](std::int32_t target) { return target >= 0; });
    check(counted > 0, "a batch has a target that counts");
    for (const double value : each.loss) result.loss += value / static_cast<double>(counted);
    for (double& value : each.dlogits) value /= static_cast<double>(counted);
    return std::move(each.dlogits);
  }

  /// Accumulates the weight's gradient; returns that of the layer's input.
  Vector linear_backward_of(const std::string& name, View dy, View x, Index in, Index out) {
    LinearGradients gradients = linear_backward(dy, x, weight(name), rows_, in, out);
    accumulate(name, gradients.dweight);
    return std::move(gradients.dx);
  }

  Vector norm_backward_of(const std::string& name, View dy, View x, const RmsNorm& norm) {
    RmsNormGradients gradients = rmsnorm_backward(dy, x, weight(name), norm.rstd, rows_, config_.dim);
    accumulate(name, gradients.dweight);
    return std::move(gradients.dx);
  }

  void accumulate(const std::string& name, View gradient) {
    Vector& sum = gradients_.try_emplace(name, gradient.size()).first->second;
    add_scaled(sum, 1, gradient);
  }

  [[nodiscard]] View weight(const std::string& name) const { return parameters_.at(name); }
  [[nodiscard]] std::string head() const { return config_.tied ? "tok_embeddings.weight" : "output.weight"; }

  const LlamaConfig& config_;
  const Parameters& parameters_;
  const LlamaBatch& batch_;
  Index rows_;
  AttentionShape attention_;
  HeadNormShape heads_;
  RopeShape rope_;
  Vector cos_sin_;
  double scale_;
  Parameters gradients_;
};

}  // namespace

std::map<std::string, Index> llama_parameter_sizes(const LlamaConfig& config) {
  std::map<std::string, Index> sizes{{"tok_embeddings.weight", config.vocab * config.dim}, {"norm.weight", config.dim}};
  if (!config.tied) sizes["output.weight"] = config.vocab * config.dim;
  for (Index layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = fmt::format("layers.{}.", layer);
    sizes[prefix + "attention_norm.weight"] = config.dim;
    sizes[prefix + "attention.wqkv.weight"] = (config.heads + 2 * config.kv_heads) * config.head_dim * config.dim;
    if (config.qk_norm) sizes[prefix + "attention.qk_norm.weight"] = 2 * config.head_dim;
    sizes[prefix + "attention.wo.weight"] = config.dim * config.heads * config.head_dim;
    sizes[prefix + "ffn_norm.weight"] = config.dim;
    sizes[prefix + "feed_forward.w13.weight"] = 2 * config.ffn_dim * config.dim;
    sizes[prefix + "feed_forward.w2.weight"] = config.dim * config.ffn_dim;
  }
  return sizes;
}

LlamaStep llama_step(const LlamaConfig& config, const Parameters& parameters, const LlamaBatch& batch) {
  for (const auto& [name, size] : llama_parameter_sizes(config)) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) throw Failure("the reference model misses {}", name);
    if (std::ssize(found->second) != size) {
      throw Failure("{} of the reference model has {} elements, expected {}", name, found->second.size(), size);
    }
  }
  return Llama(config, parameters, batch).step();
}

}  // namespace octet::ops::reference
