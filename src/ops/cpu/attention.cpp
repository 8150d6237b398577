// Causal grouped-query attention on the CPU, forward and backward, in blocks of query rows.
//
// A block of rows sees keys up to its last row: its scores are one tile product, its softmax one pass over each row,
// and nothing of size S x S is ever kept. Where documents are packed, blocks of keys before the document of the block's
// first row are left out. Backward recomputes the probabilities from lse; keys and values of one head are summed by one
// thread, in block order, so the bits do not depend on the threads.
#include <algorithm>

#include "ops/cpu/cpu_device.h"
#include "ops/cpu/parallel.h"

namespace octet::ops::cpu {
namespace {

constexpr Index kBlockRows = 128;

/// A [rows, cols] matrix of product operands with its row stride; the element type is the device's.
struct Matrix {
  const std::byte* data;
  Index stride;

  [[nodiscard]] Matrix from_row(Index row, DType dtype) const {
    return {data + row * stride * static_cast<Index>(size_of(dtype)), stride};
  }
};

/// What one thread needs: copies of a head where products are in f32, score blocks, gradient sums.
struct HeadScratch {
  std::byte *q, *k, *v, *dout;  // [block, hd], [S, hd], [S, vd], [block, vd] in f32; unused where operands are bf16
  std::byte *p, *ds;            // [block, S] as operands
  bf16 *p_bf16, *ds_bf16;       // [block, S]
  float *scores, *dp;           // [block, S]
  float *tile, *dk, *dv;        // [block, hd or vd], [S, hd], [S, vd]
  std::byte* product;           // oneDNN's own
};

class HeadWorker {
 public:
  HeadWorker(const CpuDevice& device, const AttentionShape& shape, float scale, const Documents& documents)
      : device_(device),
        kernels_(device.kernels()),
        shape_(shape),
        scale_(scale),
        documents_(documents),
        copies_(device.products().operands() != DType::bf16) {}

  [[nodiscard]] Index blocks() const { return (shape_.seq_len + kBlockRows - 1) / kBlockRows; }

  /// Lays one thread's scratch out; the forward leaves the gradient parts empty.
  HeadScratch cut(WorkspaceCutter& cutter, bool backward) const {
    const Index s = shape_.seq_len;
    const Index hd = shape_.head_dim;
    const Index vd = shape_.value_dim;
    const Index block = std::min(kBlockRows, s);
    const Index copy_bytes = copies_ ? Index{sizeof(float)} : 0;
    HeadScratch scratch{};
    scratch.q = cutter.take<std::byte>(block * hd * copy_bytes);
    scratch.k = cutter.take<std::byte>(s * hd * copy_bytes);
    scratch.v = cutter.take<std::byte>(s * vd * copy_bytes);
    scratch.p_bf16 = cutter.take<bf16>(block * s);
    scratch.p = copies_ ? cutter.take<std::byte>(block * s * copy_bytes) : reinterpret_cast<std::byte*>(scratch.p_bf16);
    scratch.scores = cutter.take<float>(block * s);
    scratch.tile = cutter.take<float>(block * std::max(hd, vd));
    if (backward) {
      scratch.dout = cutter.take<std::byte>(block * vd * copy_bytes);
      scratch.ds_bf16 = cutter.take<bf16>(block * s);
      scratch.ds =
          copies_ ? cutter.take<std::byte>(block * s * copy_bytes) : reinterpret_cast<std::byte*>(scratch.ds_bf16);
      scratch.dp = cutter.take<float>(block * s);
      scratch.dk = cutter.take<float>(s * hd);
      scratch.dv = cutter.take<float>(s * vd);
    }
    scratch.product = cutter.take<std::byte>(static_cast<Index>(product_scratch(backward)) + 64);
    return scratch;
  }

  void forward(const AttentionForward& op, Index batch, Index head, Index block, const HeadScratch& scratch) const {
    const Rows rows = rows_of(batch, block);
    const Index hd = shape_.head_dim;
    const Index vd = shape_.value_dim;
    const Index stride = shape_.qkv_cols();
    const Index first_key = rows.first_key * stride;
    const Matrix q = load(query(op.qkv, batch, head) + rows.begin * stride, stride, rows.count, hd, scratch.q);
    const Matrix k = load(key(op.qkv, batch, head) + first_key, stride, rows.keys, hd, scratch.k);
    const Matrix v = load(value(op.qkv, batch, head) + first_key, stride, rows.keys, vd, scratch.v);
    multiply(scores_shape(rows, hd, q.stride, k.stride), q, k, scratch.scores, scratch);
    float* lse = op.lse + (batch * shape_.heads + head) * shape_.seq_len + rows.begin;
    for (Index r = 0; r < rows.count; ++r) {
      const Index first = hidden_keys(batch, rows, r);
      const Index begin = r * rows.keys + first;
      std::fill_n(scratch.p_bf16 + r * rows.keys, first, bf16{0});
      lse[r] = kernels_.softmax_row(scratch.scores + begin, rows.seen_by(r) - first, rows.keys - first, scale_,
                                    scratch.p_bf16 + begin);
    }
    const Matrix p = operand(scratch.p_bf16, scratch.p, rows);
    multiply({rows.count, vd, rows.keys, p.stride, v.stride, vd, false, true, false}, p, v, scratch.tile, scratch);
    store(scratch.tile, rows.count, vd, op.out + (batch * shape_.seq_len + rows.begin) * shape_.out_cols() + head * vd,
          shape_.out_cols());
  }

  /// Gradients of one key/value head and the query heads that read it.
  void backward(const AttentionBackward& op, Index batch, Index kv_head, const HeadScratch& scratch) const {
    const Index hd = shape_.head_dim;
    const Index vd = shape_.value_dim;
    const Index stride = shape_.qkv_cols();
    const Index group = shape_.heads / shape_.kv_heads;
    std::fill_n(scratch.dk, shape_.seq_len * hd, 0.0F);
    std::fill_n(scratch.dv, shape_.seq_len * vd, 0.0F);
    const Matrix k = load(key(op.qkv, batch, kv_head * group), stride, shape_.seq_len, hd, scratch.k);
    const Matrix v = load(value(op.qkv, batch, kv_head * group), stride, shape_.seq_len, vd, scratch.v);
    for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (Index block = 0; block < blocks(); ++block) backward_block(op, batch, head, block, k, v, scratch);
    }
    bf16* keys = op.dqkv + batch * shape_.seq_len * stride + shape_.heads * hd;
    bf16* values = keys + shape_.kv_heads * hd;
    store(scratch.dk, shape_.seq_len, hd, keys + kv_head * hd, stride);
    store(scratch.dv, shape_.seq_len, vd, values + kv_head * vd, stride);
  }

 private:
  struct Rows {
    Index begin, count;     // rows [begin, begin + count)
    Index first_key, keys;  // see keys in [first_key, first_key + keys), which ends with them

    /// The end of the keys that row `begin` + r sees, counted from first_key.
    [[nodiscard]] Index seen_by(Index r) const { return begin + r + 1 - first_key; }
  };

  /// Keys begin with a block, so that few shapes of products are ever made.
  [[nodiscard]] Rows rows_of(Index batch, Index block) const {
    const Index begin = block * kBlockRows;
    const Index count = std::min(kBlockRows, shape_.seq_len - begin);
    const Index first_key = document_start(batch, begin) / kBlockRows * kBlockRows;
    return {begin, count, first_key, begin + count - first_key};
  }

  [[nodiscard]] Index document_start(Index batch, Index row) const {
    return documents_.packed ? documents_.start[batch * shape_.seq_len + row] : 0;
  }

  /// Of the keys from rows.first_key on, how many row `begin` + r does not see, as they lie before its document.
  [[nodiscard]] Index hidden_keys(Index batch, const Rows& rows, Index r) const {
    return document_start(batch, rows.begin + r) - rows.first_key;
  }

  [[nodiscard]] const bf16* query(const bf16* qkv, Index batch, Index head) const {
    return qkv + batch * shape_.seq_len * shape_.qkv_cols() + head * shape_.head_dim;
  }
  [[nodiscard]] const bf16* key(const bf16* qkv, Index batch, Index head) const {
    return query(qkv, batch, shape_.heads + head * shape_.kv_heads / shape_.heads);
  }
  [[nodiscard]] const bf16* value(const bf16* qkv, Index batch, Index head) const {
    return query(qkv, batch, shape_.heads + shape_.kv_heads) + head * shape_.kv_heads / shape_.heads * shape_.value_dim;
  }

  /// Rows of `cols` values as a product operand: in place where operands are bf16, else an f32 copy.
  [[nodiscard]] Matrix load(const bf16* x, Index stride, Index rows, Index cols, std::byte* copy) const {
    if (!copies_) return {reinterpret_cast<const std::byte*>(x), stride};
    for (Index r = 0; r < rows; ++r)
      kernels_.widen_to_f32(x + r * stride, reinterpret_cast<float*>(copy) + r * cols, 0, cols);
    return {copy, cols};
  }

  /// A block of probabilities [count, keys] as a product operand.
  [[nodiscard]] Matrix operand(const bf16* block, std::byte* copy, const Rows& rows) const {
    if (copies_) kernels_.widen_to_f32(block, reinterpret_cast<float*>(copy), 0, rows.count * rows.keys);
    return {copy, rows.keys};
  }

  /// Of [count, keys] = [count, dim] [keys, dim]^T: scores, and gradients of probabilities.
  static TileShape scores_shape(const Rows& rows, Index dim, Index a_stride, Index b_stride) {
    return {rows.count, rows.keys, dim, a_stride, b_stride, rows.keys, false, false, false};
  }

  void multiply(const TileShape& shape, const Matrix& a, const Matrix& b, float* d, const HeadScratch& scratch) const {
    device_.products().find(shape).run(a.data, b.data, d, scratch.product);
  }

  void store(const float* sums, Index rows, Index cols, bf16* out, Index stride) const {
    kernels_.epilogue({sums, rows, cols, nullptr, nullptr, false, false, out, stride, DType::bf16, false});
  }

  void backward_block(const AttentionBackward& op, Index batch, Index head, Index block, const Matrix& k,
                      const Matrix& v, const HeadScratch& scratch) const {
    const Rows rows = rows_of(batch, block);
    const Matrix seen_k = k.from_row(rows.first_key, device_.products().operands());
    const Matrix seen_v = v.from_row(rows.first_key, device_.products().operands());
    const Index hd = shape_.head_dim;
    const Index vd = shape_.value_dim;
    const Index stride = shape_.qkv_cols();
    const Index first_row = batch * shape_.seq_len + rows.begin;
    const bf16* out = op.out + first_row * shape_.out_cols() + head * vd;
    const bf16* dout_rows = op.dout + first_row * shape_.out_cols() + head * vd;
    const float* lse = op.lse + (batch * shape_.heads + head) * shape_.seq_len + rows.begin;
    const Matrix q = load(query(op.qkv, batch, head) + rows.begin * stride, stride, rows.count, hd, scratch.q);
    const Matrix dout = load(dout_rows, shape_.out_cols(), rows.count, vd, scratch.dout);
    multiply(scores_shape(rows, hd, q.stride, k.stride), q, seen_k, scratch.scores, scratch);
    multiply(scores_shape(rows, vd, dout.stride, v.stride), dout, seen_v, scratch.dp, scratch);
    for (Index r = 0; r < rows.count; ++r) {
      const float delta = kernels_.dot(out + r * shape_.out_cols(), dout_rows + r * shape_.out_cols(), vd);
      const Index first = hidden_keys(batch, rows, r);
      const Index begin = r * rows.keys + first;
      std::fill_n(scratch.p_bf16 + r * rows.keys, first, bf16{0});
      std::fill_n(scratch.ds_bf16 + r * rows.keys, first, bf16{0});
      kernels_.softmax_backward_row(scratch.scores + begin, scratch.dp + begin, rows.seen_by(r) - first,
                                    rows.keys - first, scale_, lse[r], delta, scratch.p_bf16 + begin,
                                    scratch.ds_bf16 + begin);
    }
    const Matrix p = operand(scratch.p_bf16, scratch.p, rows);
    const Matrix ds = operand(scratch.ds_bf16, scratch.ds, rows);
    // dV[keys, vd] += P^T dO and dK[keys, hd] += dS^T Q: the contraction runs over the block's rows.
    float* dk = scratch.dk + rows.first_key * hd;
    float* dv = scratch.dv + rows.first_key * vd;
    multiply({rows.keys, vd, rows.count, p.stride, dout.stride, vd, true, true, true}, p, dout, dv, scratch);
    multiply({rows.keys, hd, rows.count, ds.stride, q.stride, hd, true, true, true}, ds, q, dk, scratch);
    multiply({rows.count, hd, rows.keys, ds.stride, k.stride, hd, false, true, false}, ds, seen_k, scratch.tile,
             scratch);
    store(scratch.tile, rows.count, hd, op.dqkv + first_row * stride + head * hd, stride);
  }

  /// Of every extent that a block may have: full blocks see one to all of them, wherever documents begin, and a last
  /// block that is not full sees some of those before it.
  [[nodiscard]] std::vector<Rows> kinds_of_rows() const {
    std::vector<Rows> kinds;
    for (Index block = 0; block < blocks(); ++block) {
      const Index begin = block * kBlockRows;
      const Index count = std::min(kBlockRows, shape_.seq_len - begin);
      kinds.push_back({begin, count, 0, begin + count});
      const bool partial = count < kBlockRows;
      for (Index first_key = kBlockRows; partial && documents_.packed && first_key <= begin; first_key += kBlockRows) {
        kinds.push_back({begin, count, first_key, begin + count - first_key});
      }
    }
    return kinds;
  }

  /// The most scratch that any product of the op asks for; making them here also readies them before step 1.
  [[nodiscard]] std::size_t product_scratch(bool backward) const {
    const Index hd = shape_.head_dim;
    const Index vd = shape_.value_dim;
    const Index qk = copies_ ? hd : shape_.qkv_cols();
    const Index v = copies_ ? vd : shape_.qkv_cols();
    const Index out = copies_ ? vd : shape_.out_cols();
    std::size_t most = 0;
    const auto consider = [&](const TileShape& shape) {
      most = std::max(most, device_.products().find(shape).scratch_bytes());
    };
    for (const Rows& rows : kinds_of_rows()) {
      consider(scores_shape(rows, hd, qk, qk));
      consider({rows.count, vd, rows.keys, rows.keys, v, vd, false, true, false});
      if (!backward) continue;
      consider(scores_shape(rows, vd, out, v));
      consider({rows.keys, vd, rows.count, rows.keys, out, vd, true, true, true});
      consider({rows.keys, hd, rows.count, rows.keys, qk, hd, true, true, true});
      consider({rows.count, hd, rows.keys, rows.keys, qk, hd, false, true, false});  // dq
    }
    return most;
  }

  const CpuDevice& device_;
  const RowKernels& kernels_;
  const AttentionShape& shape_;
  float scale_;
  const Documents& documents_;
  bool copies_;
};

std::size_t scratch_for_all_threads(const CpuDevice& device, const AttentionShape& shape, const Documents& documents,
                                    bool backward) {
  if (shape.rows() == 0) return 0;
  WorkspaceCutter cutter(nullptr);
  (void)HeadWorker(device, shape, 1.0F, documents).cut(cutter, backward);
  return cutter.used() * static_cast<std::size_t>(device.threads());
}

std::vector<HeadScratch> cut_for_threads(const HeadWorker& worker, int threads, Workspace workspace, bool backward) {
  WorkspaceCutter cutter(workspace.data());
  std::vector<HeadScratch> scratch;
  for (int thread = 0; thread < threads; ++thread) scratch.push_back(worker.cut(cutter, backward));
  check(cutter.used() <= workspace.size(), "attention has the workspace that it asked for");
  return scratch;
}

}  // namespace

std::size_t attention_forward_workspace(const Device& device, const AttentionForward& op) {
  return scratch_for_all_threads(cpu(device), op.shape, op.documents, false);
}

void run_attention_forward(Device& device, const AttentionForward& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  if (op.shape.rows() == 0) return;
  const HeadWorker worker(self, op.shape, op.scale, op.documents);
  const auto scratch = cut_for_threads(worker, self.threads(), workspace, false);
  const Index blocks = worker.blocks();
  self.pool().run(op.shape.batch * op.shape.heads * blocks, [&](Index task, int thread) {
    const Index head = task / blocks;
    worker.forward(op, head / op.shape.heads, head % op.shape.heads, task % blocks,
                   scratch[static_cast<std::size_t>(thread)]);
  });
}

std::size_t attention_backward_workspace(const Device& device, const AttentionBackward& op) {
  return scratch_for_all_threads(cpu(device), op.shape, op.documents, true);
}

void run_attention_backward(Device& device, const AttentionBackward& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  if (op.shape.rows() == 0) return;
  const HeadWorker worker(self, op.shape, op.scale, op.documents);
  const auto scratch = cut_for_threads(worker, self.threads(), workspace, true);
  self.pool().run(op.shape.batch * op.shape.kv_heads, [&](Index task, int thread) {
    worker.backward(op, task / op.shape.kv_heads, task % op.shape.kv_heads, scratch[static_cast<std::size_t>(thread)]);
  });
}

}  // namespace octet::ops::cpu
