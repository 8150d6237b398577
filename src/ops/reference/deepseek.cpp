// The model as two lists, forward and backward, that mirror each other line by line.
#include "ops/reference/deepseek.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reference/attention.h"
#include "ops/reference/casts.h"
#include "ops/reference/embedding.h"
#include "ops/reference/feed_forward.h"
#include "ops/reference/gemm.h"
#include "ops/reference/grouped.h"
#include "ops/reference/head_norm.h"
#include "ops/reference/latent_attention.h"
#include "ops/reference/loss.h"
#include "ops/reference/norm.h"
#include "ops/reference/routing.h"

namespace octet::ops::reference {
namespace {

/// Columns [begin, begin + count) of a matrix of `cols`.
Vector columns_of(View matrix, Index cols, Index begin, Index count) {
  Vector taken;
  for (Index r = 0; r < std::ssize(matrix) / std::max<Index>(cols, 1); ++r) {
    const View part = row(matrix, r, cols).subspan(begin, count);
    taken.insert(taken.end(), part.begin(), part.end());
  }
  return taken;
}

/// Writes x [rows, count] to columns [begin, begin + count) of a matrix of `cols`.
void put_columns(Vector& matrix, Index cols, Index begin, Index count, View x) {
  for (Index r = 0; r < std::ssize(matrix) / cols; ++r) {
    std::ranges::copy(row(x, r, count), row(matrix, r, cols).begin() + begin);
  }
}

/// What the backward of a SwiGLU network needs.
struct Network {
  Vector gate_up, hidden;
};

struct Mixture {
  Vector logits;
  Routing routing;
  Permutation order;
  Vector in, gate_up, hidden;  // of routed rows
  Network shared;
};

/// What the backward of one block needs.
struct LatentBlock {
  Vector input;            // [T, D]: the residual stream before attention
  RmsNorm attention_norm;  // of `input`
  Vector down;             // [T, q part + Rkv + rope], or [T, (H + 2 KV) rope] of grouped queries
  Vector q_part, kv_part;  // its latents, or queries
  RmsNorm q_norm, kv_norm;
  Vector qkv;       // [T, C], assembled
  Softmax softmax;  // [B, H, S, S]
  Vector attended;  // [T, H value]
  Vector middle;    // [T, D]: the residual stream after attention
  RmsNorm ffn_norm;
  Network ffn;
  Mixture moe;
};

/// A depth of multi-token prediction.
struct Further {
  std::vector<std::int32_t> tokens, targets;
  Vector stream, embedded;  // what it reads
  RmsNorm stream_norm, token_norm;
  LatentBlock block;
  Vector end;  // the stream that it makes
  RmsNorm final_norm;
  Vector dlogits;
};

/// Of `tokens`, which lie as those of `batch` do: each document's one to the left, `last` at its end.
std::vector<std::int32_t> shifted(const std::vector<std::int32_t>& tokens, const LlamaBatch& batch, std::int32_t last) {
  std::vector<std::int32_t> result(tokens.size(), last);
  for (Index i = 0; i + 1 < std::ssize(tokens); ++i) {
    const Index next = (i + 1) % batch.seq_len;
    const Index first = batch.document_start.empty() ? 0 : batch.document_start[i + 1];
    if (next != first) result[i] = tokens[i + 1];
  }
  return result;
}

class DeepSeek {
 public:
  DeepSeek(const DeepSeekConfig& config, const Parameters& parameters, const LlamaBatch& batch,
           const std::map<std::string, Vector>& biases)
      : config_(config),
        parameters_(parameters),
        batch_(batch),
        biases_(biases),
        rows_(batch.batch * batch.seq_len),
        rows_shape_{rows_, batch.seq_len, config.heads, config.nope_dim, config.rope_dim, config.value_dim},
        attention_{batch.batch,          batch.seq_len,   config.heads, is_latent() ? config.heads : config.kv_heads,
                   rows_shape_.qk_dim(), config.value_dim},
        heads_{rows_, batch.seq_len, config.heads, config.kv_heads, config.rope_dim},
        rope_{rows_, heads_.cols(), heads_.normed_heads(), config.rope_dim, batch.seq_len, 0},
        q_part_(config.q_lora_rank > 0 ? config.q_lora_rank : rows_shape_.q_cols()),
        down_(q_part_ + config.kv_lora_rank + config.rope_dim),
        cos_sin_(widen(table())),
        scale_((config.yarn ? config.yarn->attention_growth() : 1) /
               std::sqrt(static_cast<double>(rows_shape_.qk_dim()))) {}

  DeepSeekStep step() {
    step_.least_margin = std::numeric_limits<double>::infinity();
    Vector stream = embedding_forward(batch_.tokens, weight("tok_embeddings.weight"), config_.dim);
    std::vector<LatentBlock> blocks;
    for (Index layer = 0; layer < config_.layers; ++layer) {
      blocks.push_back(forward_block(fmt::format("layers.{}.", layer), is_dense(layer), stream));
    }
    const RmsNorm norm = norm_of("norm.weight", stream, config_.dim);
    step_.logits = gemm(norm.y, weight("output.weight"), rows_, config_.vocab, config_.dim);
    const Vector dlogits = loss(step_.logits, batch_.targets, 1, step_.loss);
    std::vector<Further> further = predict_further(stream);

    Vector dread(stream.size());  // of a stream, from the depth that has read it
    for (Index depth = config_.mtp_depth - 1; depth >= 0; --depth)
      dread = backward_further(depth, further[depth], dread);
    const Vector dnormed = linear_backward_of("output.weight", dlogits, norm.y, config_.dim, config_.vocab);
    Vector dstream = sum_of(dread, norm_backward_of("norm.weight", dnormed, stream, norm, config_.dim));
    for (Index layer = config_.layers - 1; layer >= 0; --layer) {
      dstream = backward_block(fmt::format("layers.{}.", layer), is_dense(layer), blocks[layer], dstream);
    }
    accumulate("tok_embeddings.weight", embedding_backward(batch_.tokens, dstream, config_.vocab, config_.dim));
    return std::move(step_);
  }

 private:
  // ---- forward ------------------------------------------------------------------------------------------------------

  [[nodiscard]] bool is_latent() const { return config_.kv_heads == 0; }
  [[nodiscard]] bool is_dense(Index layer) const { return layer < config_.dense_layers; }

  /// Moves `stream` from before the block to after it.
  LatentBlock forward_block(const std::string& prefix, bool dense, Vector& stream) {
    LatentBlock block;
    block.input = stream;
    block.attention_norm = norm_of(prefix + "attention_norm.weight", block.input, config_.dim);
    block.middle = sum_of(block.input, attend(prefix + "attention.", block));
    block.ffn_norm = norm_of(prefix + "ffn_norm.weight", block.middle, config_.dim);
    const Vector& x = block.ffn_norm.y;
    const Vector delta =
        dense ? network_of(prefix + "feed_forward.", x, config_.ffn_dim, block.ffn) : mix(prefix, x, block.moe);
    stream = sum_of(block.middle, delta);
    return block;
  }

  /// From the stream that the model ended with.
  std::vector<Further> predict_further(const Vector& stream) {
    std::vector<Further> all;
    const Vector* read = &stream;
    const std::vector<std::int32_t>* tokens = &batch_.tokens;
    const std::vector<std::int32_t>* targets = &batch_.targets;
    all.reserve(config_.mtp_depth);
    for (Index depth = 0; depth < config_.mtp_depth; ++depth) {
      const std::string prefix = fmt::format("mtp.{}.", depth);
      Further& further = all.emplace_back();
      further.tokens = shifted(*tokens, batch_, 0);
      further.targets = shifted(*targets, batch_, -1);
      further.stream = *read;
      further.embedded = embedding_forward(further.tokens, weight("tok_embeddings.weight"), config_.dim);
      further.stream_norm = norm_of(prefix + "hnorm.weight", further.stream, config_.dim);
      further.token_norm = norm_of(prefix + "enorm.weight", further.embedded, config_.dim);
      const auto project = [&](const char* name, View x) {
        return gemm(x, weight(prefix + name), rows_, config_.dim, config_.dim);
      };
      further.end = sum_of(project("proj_stream.weight", further.stream_norm.y),
                           project("proj_token.weight", further.token_norm.y));
      further.block = forward_block(prefix + "block.", is_dense(config_.layers + depth), further.end);
      further.final_norm = norm_of("norm.weight", further.end, config_.dim);
      const Vector logits = gemm(further.final_norm.y, weight("output.weight"), rows_, config_.vocab, config_.dim);
      const double share = 1 / static_cast<double>(config_.mtp_depth);
      further.dlogits = loss(logits, further.targets, share, step_.prediction_loss);
      for (double& value : further.dlogits) value *= config_.mtp_weight;
      read = &further.end;
      tokens = &further.tokens;
      targets = &further.targets;
    }
    return all;
  }

  Vector attend(const std::string& prefix, LatentBlock& block) const {
    block.qkv = is_latent() ? latent_qkv(prefix, block) : grouped_qkv(prefix, block);
    block.softmax = attention_softmax(block.qkv, attention_, scale_, batch_.document_start);
    block.attended = attention_forward(block.qkv, block.softmax, attention_);
    return gemm(block.attended, weight(prefix + "wo.weight"), rows_, config_.dim, attention_.out_cols());
  }

  Vector grouped_qkv(const std::string& prefix, LatentBlock& block) const {
    block.down = gemm(block.attention_norm.y, weight(prefix + "wqkv.weight"), rows_, heads_.cols(), config_.dim);
    return rope(head_norm_forward(block.down, weight(prefix + "qk_norm.weight"), heads_, config_.norm_eps), cos_sin_,
                rope_, false);
  }

  Vector latent_qkv(const std::string& prefix, LatentBlock& block) const {
    const MlaShape& shape = rows_shape_;
    block.down = gemm(block.attention_norm.y, weight(prefix + "wqkv_a.weight"), rows_, down_, config_.dim);
    block.q_part = columns_of(block.down, down_, 0, q_part_);
    block.kv_part = columns_of(block.down, down_, q_part_, config_.kv_lora_rank);
    Vector q = block.q_part;
    if (config_.q_lora_rank > 0) {
      block.q_norm = norm_of(prefix + "q_norm.weight", block.q_part, q_part_);
      q = gemm(block.q_norm.y, weight(prefix + "wq_b.weight"), rows_, shape.q_cols(), q_part_);
    }
    block.kv_norm = norm_of(prefix + "kv_norm.weight", block.kv_part, config_.kv_lora_rank);
    const Vector kv =
        gemm(block.kv_norm.y, weight(prefix + "wkv_b.weight"), rows_, shape.kv_cols(), config_.kv_lora_rank);
    const Vector k_rope = columns_of(block.down, down_, q_part_ + config_.kv_lora_rank, config_.rope_dim);
    return mla_assemble(q, kv, k_rope, cos_sin_, shape);
  }

  Vector network_of(const std::string& prefix, View x, Index ffn_dim, Network& network) const {
    network.gate_up = gemm(x, weight(prefix + "w13.weight"), rows_, 2 * ffn_dim, config_.dim);
    network.hidden = swiglu_forward(network.gate_up, rows_, ffn_dim);
    return gemm(network.hidden, weight(prefix + "w2.weight"), rows_, config_.dim, ffn_dim);
  }

  Vector mix(const std::string& layer, View x, Mixture& mixture) {
    const std::string prefix = layer + "moe.";
    const RouterRule& rule = config_.rule;
    const Index ffn = config_.expert_ffn_dim;
    mixture.logits = gemm(x, weight(prefix + "gate.weight"), rows_, rule.experts, config_.dim);
    const std::string name = layer.substr(0, layer.size() - 1);
    const auto bias = biases_.find(name);
    mixture.routing = route(mixture.logits, bias == biases_.end() ? View() : bias->second, rows_, rule);
    for (const double margin : mixture.routing.margins) step_.least_margin = std::min(step_.least_margin, margin);
    mixture.order = group_tokens(mixture.routing.experts, rule.experts);
    auto& load = step_.load[name];
    load.resize(rule.experts);
    for (const std::int32_t expert : mixture.routing.experts) ++load[expert];

    const Permutation& order = mixture.order;
    mixture.in = gather_rows(x, order.choice_of_row, rule.top_k, config_.dim);
    mixture.gate_up =
        grouped_gemm(mixture.in, weight(prefix + "experts.w13.weight"), order.offsets, 2 * ffn, config_.dim);
    mixture.hidden = grouped_swiglu(mixture.gate_up, mixture.routing.weights, order.choice_of_row, ffn);
    const Vector routed =
        grouped_gemm(mixture.hidden, weight(prefix + "experts.w2.weight"), order.offsets, config_.dim, ffn);
    Vector shared;
    if (config_.shared_experts > 0) {
      shared = network_of(prefix + "shared_experts.", x, config_.shared_experts * ffn, mixture.shared);
    }
    return combine_rows(routed, order.row_of_choice, shared, rule.top_k, config_.dim);
  }

  // ---- backward -----------------------------------------------------------------------------------------------------

  /// The gradient of the stream that the depth has read; `dread` is that of its own, from the depth after it.
  Vector backward_further(Index depth, const Further& further, const Vector& dread) {
    const std::string prefix = fmt::format("mtp.{}.", depth);
    const Index dim = config_.dim;
    const Vector dnormed =
        linear_backward_of("output.weight", further.dlogits, further.final_norm.y, dim, config_.vocab);
    const Vector dend = sum_of(dread, norm_backward_of("norm.weight", dnormed, further.end, further.final_norm, dim));
    const Vector dsum = backward_block(prefix + "block.", is_dense(config_.layers + depth), further.block, dend);
    const Vector dtoken = linear_backward_of(prefix + "proj_token.weight", dsum, further.token_norm.y, dim, dim);
    const Vector dembedded =
        norm_backward_of(prefix + "enorm.weight", dtoken, further.embedded, further.token_norm, dim);
    accumulate("tok_embeddings.weight", embedding_backward(further.tokens, dembedded, config_.vocab, dim));
    const Vector dstream = linear_backward_of(prefix + "proj_stream.weight", dsum, further.stream_norm.y, dim, dim);
    return norm_backward_of(prefix + "hnorm.weight", dstream, further.stream, further.stream_norm, dim);
  }

  /// The gradient of the block's input from that of its output.
  Vector backward_block(const std::string& prefix, bool dense, const LatentBlock& block, const Vector& dout) {
    const Vector& x = block.ffn_norm.y;
    const Vector dffn = dense ? network_backward(prefix + "feed_forward.", dout, x, config_.ffn_dim, block.ffn)
                              : mix_backward(prefix + "moe.", dout, x, block.moe);
    const Vector dmiddle =
        sum_of(dout, norm_backward_of(prefix + "ffn_norm.weight", dffn, block.middle, block.ffn_norm, config_.dim));
    const Vector dnormed = attend_backward(prefix + "attention.", dmiddle, block);
    return sum_of(dmiddle, norm_backward_of(prefix + "attention_norm.weight", dnormed, block.input,
                                            block.attention_norm, config_.dim));
  }

  Vector attend_backward(const std::string& prefix, const Vector& dout, const LatentBlock& block) {
    const Vector dattended =
        linear_backward_of(prefix + "wo.weight", dout, block.attended, attention_.out_cols(), config_.dim);
    const Vector dqkv = attention_backward(block.qkv, block.softmax, dattended, attention_, scale_);
    return is_latent() ? latent_qkv_backward(prefix, dqkv, block) : grouped_qkv_backward(prefix, dqkv, block);
  }

  Vector grouped_qkv_backward(const std::string& prefix, const Vector& dqkv, const LatentBlock& block) {
    const std::string name = prefix + "qk_norm.weight";
    const HeadNormGradients gradients =
        head_norm_backward(rope(dqkv, cos_sin_, rope_, true), block.down, weight(name), heads_, config_.norm_eps);
    accumulate(name, gradients.dweights);
    return linear_backward_of(prefix + "wqkv.weight", gradients.dx, block.attention_norm.y, config_.dim, heads_.cols());
  }

  Vector latent_qkv_backward(const std::string& prefix, const Vector& dqkv, const LatentBlock& block) {
    const MlaShape& shape = rows_shape_;
    const MlaGradients parts = mla_assemble_backward(dqkv, cos_sin_, shape);
    const Index kv_lora = config_.kv_lora_rank;
    const Vector dkv_normed =
        linear_backward_of(prefix + "wkv_b.weight", parts.dkv, block.kv_norm.y, kv_lora, shape.kv_cols());
    Vector dq = parts.dq;
    if (config_.q_lora_rank > 0) {
      const Vector dq_normed =
          linear_backward_of(prefix + "wq_b.weight", parts.dq, block.q_norm.y, q_part_, shape.q_cols());
      dq = norm_backward_of(prefix + "q_norm.weight", dq_normed, block.q_part, block.q_norm, q_part_);
    }
    Vector ddown(block.down.size());
    put_columns(ddown, down_, 0, q_part_, dq);
    put_columns(ddown, down_, q_part_, kv_lora,
                norm_backward_of(prefix + "kv_norm.weight", dkv_normed, block.kv_part, block.kv_norm, kv_lora));
    put_columns(ddown, down_, q_part_ + kv_lora, config_.rope_dim, parts.dk_rope);
    return linear_backward_of(prefix + "wqkv_a.weight", ddown, block.attention_norm.y, config_.dim, down_);
  }

  Vector network_backward(const std::string& prefix, View dout, View x, Index ffn_dim, const Network& network) {
    const Vector dhidden = linear_backward_of(prefix + "w2.weight", dout, network.hidden, ffn_dim, config_.dim);
    const Vector dgate_up = swiglu_backward(network.gate_up, dhidden, rows_, ffn_dim);
    return linear_backward_of(prefix + "w13.weight", dgate_up, x, config_.dim, 2 * ffn_dim);
  }

  Vector mix_backward(const std::string& prefix, View dout, View x, const Mixture& mixture) {
    const RouterRule& rule = config_.rule;
    const Permutation& order = mixture.order;
    const Index dim = config_.dim;
    const Index ffn = config_.expert_ffn_dim;
    const Vector drouted = gather_rows(dout, order.choice_of_row, rule.top_k, dim);
    const Vector dhidden = grouped_dgrad(drouted, weight(prefix + "experts.w2.weight"), order.offsets, dim, ffn);
    accumulate(prefix + "experts.w2.weight", grouped_wgrad(drouted, mixture.hidden, order.offsets, dim, ffn));
    const GroupedSwigluGradients gradients =
        grouped_swiglu_backward(mixture.gate_up, dhidden, mixture.routing.weights, order.choice_of_row, ffn);
    const Vector din =
        grouped_dgrad(gradients.dgate_up, weight(prefix + "experts.w13.weight"), order.offsets, 2 * ffn, dim);
    accumulate(prefix + "experts.w13.weight",
               grouped_wgrad(gradients.dgate_up, mixture.in, order.offsets, 2 * ffn, dim));

    // A step's balance loss is the mean over its sequences.
    const double balance_scale = config_.balance_weight / static_cast<double>(batch_.batch);
    const RouteGradients routed = route_backward(mixture.logits, mixture.routing.experts, gradients.dweights, rows_,
                                                 batch_.seq_len, rule, balance_scale);
    step_.balance_loss += routed.balance_loss;
    Vector dx = linear_backward_of(prefix + "gate.weight", routed.dlogits, x, dim, rule.experts);
    if (config_.shared_experts > 0) {
      dx = sum_of(dx,
                  network_backward(prefix + "shared_experts.", dout, x, config_.shared_experts * ffn, mixture.shared));
    }
    return combine_rows(din, order.row_of_choice, dx, rule.top_k, dim);
  }

  /// dx [rows, in] of the routed rows of y_e = x_e w_e^T, w [E, out, in].
  static Vector grouped_dgrad(View dy, View w, Offsets offsets, Index out, Index in) {
    Vector transposed(w.size());
    for (Index e = 0; e < std::ssize(offsets) - 1; ++e) {
      for (Index o = 0; o < out; ++o) {
        for (Index i = 0; i < in; ++i) transposed[(e * in + i) * out + o] = w[(e * out + o) * in + i];
      }
    }
    return grouped_gemm(dy, transposed, offsets, in, out);
  }

  // ---- both ---------------------------------------------------------------------------------------------------------

  /// Adds `share` of the sum of the targets' losses, over the number of the batch's targets that count. Returns the
  /// gradient of the logits.
  Vector loss(View logits, const std::vector<std::int32_t>& targets, double share, double& total) const {
    CrossEntropyLoss each = cross_entropy(logits, targets, rows_, config_.vocab);
    const auto counted = std::ranges::count_if(batch_.targets, [](std::int32_t target) { return target >= 0; });
    check(counted > 0, "a batch has a target that counts");
    for (const double value : each.loss) total += share * value / static_cast<double>(counted);
    for (double& value : each.dlogits) value *= share / static_cast<double>(counted);
    return std::move(each.dlogits);
  }

  [[nodiscard]] RmsNorm norm_of(const std::string& name, View x, Index dim) const {
    return rmsnorm_forward(x, weight(name), rows_, dim, config_.norm_eps);
  }

  /// Accumulates the weight's gradient; returns that of the layer's input.
  Vector linear_backward_of(const std::string& name, View dy, View x, Index in, Index out) {
    LinearGradients gradients = linear_backward(dy, x, weight(name), rows_, in, out);
    accumulate(name, gradients.dweight);
    return std::move(gradients.dx);
  }

  Vector norm_backward_of(const std::string& name, View dy, View x, const RmsNorm& norm, Index dim) {
    RmsNormGradients gradients = rmsnorm_backward(dy, x, weight(name), norm.rstd, rows_, dim);
    accumulate(name, gradients.dweight);
    return std::move(gradients.dx);
  }

  void accumulate(const std::string& name, View gradient) {
    Vector& sum = step_.gradients.try_emplace(name, gradient.size()).first->second;
    add_scaled(sum, 1, gradient);
  }

  [[nodiscard]] std::vector<float> table() const {
    if (!config_.yarn) return rope_table(batch_.seq_len, config_.rope_dim, config_.rope_theta, std::nullopt);
    return rope_table(batch_.seq_len, yarn_frequencies(config_.rope_dim, config_.rope_theta, *config_.yarn),
                      config_.yarn->rotated_magnitude());
  }

  [[nodiscard]] View weight(const std::string& name) const { return parameters_.at(name); }

  const DeepSeekConfig& config_;
  const Parameters& parameters_;
  const LlamaBatch& batch_;
  const std::map<std::string, Vector>& biases_;
  Index rows_;
  MlaShape rows_shape_;
  AttentionShape attention_;
  HeadNormShape heads_;
  RopeShape rope_;
  Index q_part_, down_;
  Vector cos_sin_;
  double scale_;
  DeepSeekStep step_;
};

}  // namespace

std::map<std::string, Index> deepseek_parameter_sizes(const DeepSeekConfig& config) {
  const Index dim = config.dim;
  const Index q_cols = config.heads * (config.nope_dim + config.rope_dim);
  const Index q_part = config.q_lora_rank > 0 ? config.q_lora_rank : q_cols;
  std::map<std::string, Index> sizes{
      {"tok_embeddings.weight", config.vocab * dim}, {"norm.weight", dim}, {"output.weight", config.vocab * dim}};
  const auto block = [&](const std::string& prefix, bool dense) {
    const auto network = [&](const std::string& name, Index ffn_dim) {
      sizes[prefix + name + ".w13.weight"] = 2 * ffn_dim * dim;
      sizes[prefix + name + ".w2.weight"] = dim * ffn_dim;
    };
    sizes[prefix + "attention_norm.weight"] = dim;
    if (config.kv_heads > 0) {
      sizes[prefix + "attention.wqkv.weight"] = (config.heads + 2 * config.kv_heads) * config.rope_dim * dim;
      sizes[prefix + "attention.qk_norm.weight"] = 2 * config.rope_dim;
    } else {
      sizes[prefix + "attention.wqkv_a.weight"] = (q_part + config.kv_lora_rank + config.rope_dim) * dim;
      sizes[prefix + "attention.kv_norm.weight"] = config.kv_lora_rank;
      sizes[prefix + "attention.wkv_b.weight"] =
          config.heads * (config.nope_dim + config.value_dim) * config.kv_lora_rank;
    }
    if (config.q_lora_rank > 0) {
      sizes[prefix + "attention.q_norm.weight"] = config.q_lora_rank;
      sizes[prefix + "attention.wq_b.weight"] = q_cols * config.q_lora_rank;
    }
    sizes[prefix + "attention.wo.weight"] = dim * config.heads * config.value_dim;
    sizes[prefix + "ffn_norm.weight"] = dim;
    if (dense) return network("feed_forward", config.ffn_dim);
    sizes[prefix + "moe.gate.weight"] = config.rule.experts * dim;
    sizes[prefix + "moe.experts.w13.weight"] = config.rule.experts * 2 * config.expert_ffn_dim * dim;
    sizes[prefix + "moe.experts.w2.weight"] = config.rule.experts * dim * config.expert_ffn_dim;
    if (config.shared_experts > 0) network("moe.shared_experts", config.shared_experts * config.expert_ffn_dim);
  };
  for (Index layer = 0; layer < config.layers; ++layer) {
    block(fmt::format("layers.{}.", layer), layer < config.dense_layers);
  }
  for (Index depth = 0; depth < config.mtp_depth; ++depth) {
    const std::string prefix = fmt::format("mtp.{}.", depth);
    for (const char* name : {"hnorm.weight", "enorm.weight"}) sizes[prefix + name] = dim;
    for (const char* name : {"proj_stream.weight", "proj_token.weight"}) sizes[prefix + name] = dim * dim;
    block(prefix + "block.", config.layers + depth < config.dense_layers);
  }
  return sizes;
}

DeepSeekStep deepseek_step(const DeepSeekConfig& config, const Parameters& parameters, const LlamaBatch& batch,
                           const std::map<std::string, Vector>& biases) {
  for (const auto& [name, size] : deepseek_parameter_sizes(config)) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) throw Failure("the reference model misses {}", name);
    if (std::ssize(found->second) != size) {
      throw Failure("{} of the reference model has {} elements, expected {}", name, found->second.size(), size);
    }
  }
  return DeepSeek(config, parameters, batch, biases).step();
}

}  // namespace octet::ops::reference
