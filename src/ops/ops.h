// The op table: one struct per operation, with the shapes and dtypes of its operands beside every pointer.
//
// An op knows pointers and sizes, never Tensors. `flops` counts multiply-adds twice; `bytes` is what must move at least
// once. A pointer marked "optional" may be null. While a plan is being made all pointers are null and nothing runs.
// T tokens, D model dim, F feed-forward dim, V vocabulary, H query heads, KV key/value heads, hd head dim, S sequence.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "core/dtype.h"
#include "core/step_scalars.h"
#include "fp8/scale.h"
#include "ops/documents.h"
#include "ops/head_norm_ops.h"
#include "ops/mla_ops.h"
#include "ops/moe_ops.h"
#include "ops/operands.h"

namespace octet::ops {

/// How many partial sums a column reduction over tokens keeps: fixed, so that the bits do not depend on the threads.
inline constexpr std::int64_t kColumnPartials = 16;

// ---- embedding ------------------------------------------------------------------------------------------------------

struct EmbeddingForward {
  static constexpr std::string_view name = "embedding";
  const std::int32_t* tokens;  // [T]
  const bf16* table;           // [V, D]
  bf16* out;                   // [T, D]
  std::int64_t rows, dim, vocab;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * dim * 4 + rows * 4); }
};

/// dtable[token] += dy: each element summed in fp32, in token order, and rounded once.
struct EmbeddingBackward {
  static constexpr std::string_view name = "embedding_backward";
  const std::int32_t* tokens;  // [T]
  const bf16* dy;              // [T, D]
  void* dtable;                // [V, D] of `dtype`, accumulated
  std::int64_t rows, dim, vocab;
  DType dtype;  // f32 or bf16

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim) * static_cast<double>(2 + 2 * size_of(dtype)) +
           static_cast<double>(rows * 4);
  }
};

/// Each token's successor in its document; `last` after a document's last token, and a sequence's.
struct ShiftTokens {
  static constexpr std::string_view name = "shift_tokens";
  const std::int32_t* tokens;  // [T]
  std::int32_t* shifted;       // [T]
  std::int64_t rows, seq_len;  // T is a multiple of seq_len
  std::int32_t last;
  Documents documents;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * (documents.packed ? 12 : 8)); }
};

// ---- norms ----------------------------------------------------------------------------------------------------------

/// x' = x + delta (rounded to bf16; without delta x' = x), rstd = 1/sqrt(mean(x'^2) + eps), y = x' * rstd * weight.
/// The row codes are those of the bf16 y, which need not be stored where nobody reads it in bf16.
struct RmsNormForward {
  static constexpr std::string_view name = "rmsnorm";
  const bf16* x;         // [T, D] in rows of x_stride
  const bf16* delta;     // [T, D], optional
  const bf16* weight;    // [D]
  bf16* x_out;           // [T, D], written where delta is given
  bf16* y;               // [T, D], untouched unless `stored`
  float* rstd;           // [T]
  RowCodes codes;        // of y
  ColumnMaxima columns;  // of y
  std::int64_t rows, dim;
  float eps;
  bool has_delta;
  bool stored = true;
  std::int64_t x_stride = 0;  // 0: D; another one without delta only

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim * (has_delta ? 5 : 4)); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim * ((has_delta ? 6 : 2) + (stored ? 2 : 0)) + dim * 2 + rows * 4) +
           codes.bytes(rows, dim);
  }
};

/// Transposed codes of the y that RmsNormForward makes of x', bit by bit: see SwigluBackwardCast.
struct RmsNormForwardCast {
  static constexpr std::string_view name = "rmsnorm_cast";
  const bf16* x;           // [T, D]: x' of the forward
  const bf16* weight;      // [D]
  const float* rstd;       // [T]
  ColumnCodes transposed;  // of y [T, D]
  std::int64_t rows, dim;

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim * 2); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim * 2 + dim * 2 + rows * 4) + transposed.bytes(rows, dim);
  }
};

/// dx = residual + rstd * (dy*weight - xhat * mean(dy*weight*xhat)), xhat = x * rstd; dweight += sum over rows of
/// dy*xhat. The row codes are those of the bf16 dx.
struct RmsNormBackward {
  static constexpr std::string_view name = "rmsnorm_backward";
  const bf16* dy;        // [T, D]
  const bf16* x;         // [T, D] in rows of x_stride: x' of the forward
  const bf16* weight;    // [D]
  const float* rstd;     // [T]
  const bf16* residual;  // [T, D], optional: the gradient that bypasses the norm
  bf16* dx;              // [T, D] in rows of x_stride
  float* dweight;        // [D], accumulated
  RowCodes codes;        // of dx
  ColumnMaxima columns;  // of dx
  std::int64_t rows, dim;
  bool has_residual;
  std::int64_t x_stride = 0;  // 0: D; another one without residual only

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim * 9); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim * (has_residual ? 8 : 6) + dim * 10 + rows * 4) + codes.bytes(rows, dim);
  }
};

// ---- attention ------------------------------------------------------------------------------------------------------

/// Rotates the first `heads` heads of each row in place: pair (i, i + hd/2) of a head by position * frequency[i]
/// (the half-split layout of Hugging Face checkpoints). `inverse` rotates back: the backward of the same op. Row codes
/// and column maxima are those of whole rows, with the heads that are not rotated.
struct Rope {
  static constexpr std::string_view name = "rope";
  bf16* qkv;             // [T, row_stride]
  const float* cos_sin;  // [S, hd]: cosines in the first half of a row, sines in the second
  std::int64_t rows, row_stride, heads, head_dim, seq_len;  // row t has position t % seq_len + offset
  std::int64_t offset;
  bool inverse;
  RowCodes codes = {};        // of the new qkv
  ColumnMaxima columns = {};  // of the new qkv

  /// Whether the heads that are not rotated are read as well.
  [[nodiscard]] bool reads_whole_rows() const { return codes.wanted || columns.wanted; }
  [[nodiscard]] double flops() const { return static_cast<double>(rows * heads * head_dim * 3); }
  [[nodiscard]] double bytes() const {
    const std::int64_t rotated = heads * head_dim;
    return static_cast<double>(rows * (rotated + (reads_whole_rows() ? row_stride : rotated)) * 2) +
           codes.bytes(rows, row_stride);
  }
};

/// Sizes shared by attention's directions. A row of qkv holds H query heads and KV key heads of hd each, then KV value
/// heads of vd, as long as the others unless said otherwise (in multi-head latent attention they are shorter).
struct AttentionShape {
  std::int64_t batch, seq_len, heads, kv_heads, head_dim;
  std::int64_t value_dim = head_dim;

  [[nodiscard]] std::int64_t qkv_cols() const { return (heads + kv_heads) * head_dim + kv_heads * value_dim; }
  [[nodiscard]] std::int64_t out_cols() const { return heads * value_dim; }
  [[nodiscard]] std::int64_t rows() const { return batch * seq_len; }
  /// Of products over the causal half that contract or make `dims` elements of each head.
  [[nodiscard]] double causal_flops(std::int64_t dims) const {
    return static_cast<double>(batch * heads * dims) * static_cast<double>(seq_len * (seq_len + 1));
  }
};

/// out = softmax(scale * q k^T, causal) v per head; query head h reads key/value head h * KV / H. A query sees the keys
/// of its own document up to itself. FLOPs are those of whole sequences, however documents divide them: what a model
/// costs a token does not depend on what it reads.
struct AttentionForward {
  static constexpr std::string_view name = "attention";
  const bf16* qkv;  // [T, (H + KV) hd + KV vd], rotated
  bf16* out;        // [T, H vd]
  float* lse;       // [B, H, S]: log of the sum of exp(scale * q k^T)
  AttentionShape shape;
  float scale;
  Documents documents;

  [[nodiscard]] double flops() const { return shape.causal_flops(shape.head_dim + shape.value_dim); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(shape.rows() * (shape.qkv_cols() + shape.out_cols()) * 2 +
                               shape.rows() * (shape.heads * 4 + (documents.packed ? 4 : 0)));
  }
};

struct AttentionBackward {
  static constexpr std::string_view name = "attention_backward";
  const bf16* qkv;   // [T, (H + KV) hd + KV vd]
  const bf16* out;   // [T, H vd]
  const bf16* dout;  // [T, H vd]
  const float* lse;  // [B, H, S]
  bf16* dqkv;        // [T, (H + KV) hd + KV vd]
  AttentionShape shape;
  float scale;
  Documents documents;

  [[nodiscard]] double flops() const { return shape.causal_flops(3 * shape.head_dim + 2 * shape.value_dim); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(shape.rows() * (shape.qkv_cols() + shape.out_cols()) * 4 +
                               shape.rows() * (shape.heads * 4 + (documents.packed ? 4 : 0)));
  }
};

/// Copies the key and value heads of the T newest rows of each sequence to its caches, from `position` on.
struct AppendToCache {
  static constexpr std::string_view name = "append_to_cache";
  const bf16* qkv;  // [B T, (H + KV) hd + KV vd], rotated
  bf16* cache_k;    // [B, capacity, KV hd]
  bf16* cache_v;    // [B, capacity, KV vd]
  std::int64_t batch, position, capacity, heads, kv_heads, head_dim;
  std::int64_t value_dim = head_dim;
  std::int64_t seq_len = 1;  // T

  [[nodiscard]] std::int64_t qkv_cols() const { return (heads + kv_heads) * head_dim + kv_heads * value_dim; }
  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(4 * batch * seq_len * kv_heads * (head_dim + value_dim));
  }
};

/// One new position per sequence against its cache: rows of qkv are the newest tokens, positions [0, length) are
/// cached.
struct AttentionDecode {
  static constexpr std::string_view name = "attention_decode";
  const bf16* qkv;      // [B, (H + KV) hd + KV vd], rotated; its keys and values lie in the cache already
  const bf16* cache_k;  // [B, capacity, KV hd]
  const bf16* cache_v;  // [B, capacity, KV vd]
  bf16* out;            // [B, H vd]
  std::int64_t batch, length, capacity, heads, kv_heads, head_dim;
  float scale;
  std::int64_t value_dim = head_dim;

  [[nodiscard]] std::int64_t qkv_cols() const { return (heads + kv_heads) * head_dim + kv_heads * value_dim; }
  [[nodiscard]] double flops() const {
    return static_cast<double>(2 * batch * length * heads * (head_dim + value_dim));
  }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(2 * batch * length * kv_heads * (head_dim + value_dim));
  }
};

// ---- feed-forward ---------------------------------------------------------------------------------------------------

/// y = silu(gate) * up, gate = columns [0, F), up = columns [F, 2F). The row codes are those of the bf16 y. Where
/// nobody reads that it need not be stored.
struct SwigluForward {
  static constexpr std::string_view name = "swiglu";
  const bf16* gate_up;   // [T, 2F]
  bf16* y;               // [T, F], untouched unless `stored`
  RowCodes codes;        // of y
  ColumnMaxima columns;  // of y
  std::int64_t rows, dim;
  bool stored = true;

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim * 6); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim * (stored ? 6 : 4)) + codes.bytes(rows, dim);
  }
};

/// The gradient in bf16, in the place of gate_up or elsewhere, and what is wanted beside it. Where nobody reads it in
/// bf16 it need not be stored.
struct SwigluBackward {
  static constexpr std::string_view name = "swiglu_backward";
  const bf16* gate_up;   // [T, 2F]
  const bf16* dy;        // [T, F]
  bf16* dgate_up;        // [T, 2F]: gate_up itself, or what does not overlap it; untouched unless `stored`
  RowCodes codes;        // of dgate_up
  ColumnMaxima columns;  // of dgate_up
  std::int64_t rows, dim;
  bool stored = true;

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim * 12); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim * (stored ? 10 : 6)) + codes.bytes(rows, 2 * dim);
  }
};

/// Transposed codes of the gradient that SwigluBackward makes of the same operands, bit by bit, and of what
/// SwigluForward made of them. A column's scale needs all of it, hence a second pass; one that computes the values
/// again moves less than one that reads what the first has stored, and what forward made does not wait for backward.
struct SwigluBackwardCast {
  static constexpr std::string_view name = "swiglu_backward_cast";
  const bf16* gate_up;     // [T, 2F]
  const bf16* dy;          // [T, F]
  ColumnCodes transposed;  // of dgate_up [T, 2F]
  std::int64_t rows, dim;
  ColumnCodes activated = {};  // of silu(gate) * up [T, F]

  [[nodiscard]] double flops() const { return static_cast<double>(rows * dim * (activated.wanted ? 14 : 12)); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * dim * 6) + transposed.bytes(rows, 2 * dim) + activated.bytes(rows, dim);
  }
};

// ---- sums -----------------------------------------------------------------------------------------------------------

/// y = a + b in fp32, rounded once; without b, a rounded.
struct Add {
  static constexpr std::string_view name = "add";
  const void* a;  // [n] of `dtype`
  const bf16* b;  // [n], null where `has_b` is false
  bf16* y;        // [n]: may be b, or a where that is bf16
  std::int64_t count;
  DType dtype;  // f32 or bf16
  bool has_b;

  [[nodiscard]] double flops() const { return has_b ? static_cast<double>(count) : 0; }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(count) * static_cast<double>(size_of(dtype) + (has_b ? 4 : 2));
  }
};

// ---- casts ----------------------------------------------------------------------------------------------------------

/// Row codes of x: one scale per row, codes where the values were. Measures the columns on the way.
struct QuantizeRows {
  static constexpr std::string_view name = "quantize_rows";
  const bf16* x;         // [rows, cols]
  RowCodes codes;        // [rows, cols]
  ColumnMaxima columns;  // of x
  std::int64_t rows, cols;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * cols * 2) + codes.bytes(rows, cols); }
};

/// The amax of each row and of each column of x, where no producer has left them. Of several matrices that lie one
/// after another, as those of experts do, each has column maxima of its own.
struct Maxima {
  static constexpr std::string_view name = "maxima";
  const bf16* x;      // [matrices, rows, cols]
  bf16* row_amax;     // [matrices, rows], optional
  bf16* column_amax;  // [matrices, cols]
  std::int64_t rows, cols;
  std::int64_t matrices = 1;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(matrices * (rows * cols + rows + cols) * 2); }
};

/// Codes of x under maxima that are known, as stored or transposed or both, in one pass over x. A product that
/// contracts the rows finds transposed codes contiguous. Of several matrices each is transposed by itself, and has one
/// scale of its own where one serves a matrix: scale_inverse is [matrices, outer] or [matrices].
struct Cast {
  static constexpr std::string_view name = "cast";
  const bf16* x;            // [matrices, rows, cols]
  const bf16* row_amax;     // [matrices, rows]: scales of as_stored by row
  const bf16* column_amax;  // [matrices, cols]: scales of transposed by row, and of either where one serves a matrix
  CastLayout as_stored;     // [matrices, rows, cols]
  CastLayout transposed;    // [matrices, cols, rows]
  fp8::ScaleRule rule;
  std::int64_t rows, cols;
  std::int64_t matrices = 1;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const {
    const int layouts = (as_stored.wanted() ? 1 : 0) + (transposed.wanted() ? 1 : 0);
    return static_cast<double>(matrices * (rows * cols * (2 + layouts) + (rows + cols) * 2));
  }
};

/// How a cast with one scale per row treated its input: counts go to `saturated` (|x * scale| above the format's
/// largest value: a saturating cast clips it), `overflowed` (a plain cast makes it NaN or infinity) and `underflowed`
/// (x is not zero and |x * scale| at most half the smallest subnormal: its code is zero). All are added to. Run where
/// numbers are watched, not in every step.
struct CastStatistics {
  static constexpr std::string_view name = "cast_statistics";
  const bf16* x;               // [rows, cols]
  const float* scale_inverse;  // [rows], or [1] where `one_scale`
  std::uint64_t* saturated;    // [1]
  std::uint64_t* overflowed;   // [1]
  std::uint64_t* underflowed;  // [1]
  fp8::Format format;
  std::int64_t rows, cols;
  bool one_scale;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * cols * 2); }
};

// ---- matrix product -------------------------------------------------------------------------------------------------

/// D[m, n] = A[m, k] B[n, k]^T, or D += with `accumulate`; fp32 accumulation, inverse scales in the epilogue.
/// Deterministic for any number of threads. bf16 D is rounded once, from the scaled fp32 sum.
struct Gemm {
  static constexpr std::string_view name = "gemm";
  GemmOperand a = {};  // [m, k]
  GemmOperand b = {};  // [n, k]
  void* d;             // [m, n] bf16 or f32
  std::int64_t m, n, k;
  DType d_dtype;
  bool accumulate;  // f32 D only
  Accumulation accumulation;

  [[nodiscard]] bool is_fp8() const { return a.dtype != DType::bf16; }
  [[nodiscard]] std::int64_t operand_elements() const { return (m + n) * k; }
  [[nodiscard]] double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n * k); }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(m * k) * static_cast<double>(size_of(a.dtype)) +
           static_cast<double>(n * k) * static_cast<double>(size_of(b.dtype)) +
           static_cast<double>(m * n) * static_cast<double>(size_of(d_dtype)) * (accumulate ? 2 : 1);
  }
};

// ---- loss -----------------------------------------------------------------------------------------------------------

/// loss[t] = logsumexp(logits[t]) - logits[t, target]; with `gradient` the logits are replaced by
/// (softmax - onehot) * gradient_scale. No probabilities are stored. A target below 0 is ignored: loss 0, gradient 0.
struct CrossEntropy {
  static constexpr std::string_view name = "cross_entropy";
  bf16* logits;                 // [rows, vocab], overwritten with `gradient`
  const std::int32_t* targets;  // [rows]
  float* loss;                  // [rows]
  std::int64_t rows, vocab;
  float gradient_scale;
  bool gradient;

  [[nodiscard]] double flops() const { return static_cast<double>(rows * vocab * 4); }
  [[nodiscard]] double bytes() const { return static_cast<double>(rows * vocab * (gradient ? 4 : 2) + rows * 8); }
};

/// total[0] += scale * (x[0] + ... + x[n-1]), in double, in a fixed order.
struct SumFloats {
  static constexpr std::string_view name = "sum";
  const float* x;  // [n]
  double* total;   // [1]
  std::int64_t count;
  double scale;

  [[nodiscard]] double flops() const { return static_cast<double>(count); }
  [[nodiscard]] double bytes() const { return static_cast<double>(count * 4); }
};

// ---- optimizer ------------------------------------------------------------------------------------------------------

struct Zero {
  static constexpr std::string_view name = "zero";
  void* data;
  std::int64_t size;  // bytes

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(size); }
};

/// total[0] += sum of x^2, in double, in a fixed order. NaN and inf stay visible.
struct SumOfSquares {
  static constexpr std::string_view name = "sum_of_squares";
  const void* x;  // [n] bf16 or f32
  double* total;  // [1]
  std::int64_t count;
  DType dtype;

  [[nodiscard]] double flops() const { return static_cast<double>(count * 2); }
  [[nodiscard]] double bytes() const { return static_cast<double>(count) * static_cast<double>(size_of(dtype)); }
};

using octet::StepScalars;

/// Decoupled weight decay (Loshchilov & Hutter, 2019) on one parameter [rows, cols], or on `matrices` of them that lie
/// one after another, each with column maxima of its own: m, v from clipped gradients, then the parameter. With a
/// master, that is updated and rounded to nearest to the bf16 weight that the model computes with; without, the weight
/// itself is the parameter and is rounded stochastically, as are moments in bf16: an update smaller than half an ulp
/// then still moves the weight in the mean. The random bits of each element are those of core/rounding_bits.h.
struct AdamW {
  static constexpr std::string_view name = "adamw";
  float* master;               // [rows, cols], null where `has_master` is false
  bf16* weight;                // [rows, cols]
  const void* gradient;        // [rows, cols] of `gradients`
  void* m;                     // [rows, cols] of `moments`
  void* v;                     // [rows, cols] of `moments`
  const StepScalars* scalars;  // [1]
  bf16* row_amax;              // [matrices, rows], of the new weight; null where `measures` is false
  bf16* column_amax;           // [matrices, cols]
  std::int64_t rows, cols;
  std::uint64_t stream;  // names the parameter among the random streams
  DType gradients;       // f32 or bf16
  DType moments;         // f32 or bf16
  bool has_master, measures;
  float beta1, beta2, eps, weight_decay;
  float lr_scale;  // multiplies the learning rate
  std::int64_t matrices = 1;

  [[nodiscard]] double flops() const { return static_cast<double>(matrices * rows * cols * 14); }
  [[nodiscard]] double bytes() const {
    const auto read = static_cast<std::int64_t>(size_of(gradients));
    const auto moment = static_cast<std::int64_t>(size_of(moments));
    return static_cast<double>(matrices * rows * cols * ((has_master ? 4 + 4 + 2 : 2 + 2) + read + 4 * moment));
  }
};

// ---- watching -------------------------------------------------------------------------------------------------------

/// first[0] = index of the first NaN or inf of x, or -1.
struct FindNonFinite {
  static constexpr std::string_view name = "find_non_finite";
  const void* x;  // [n] bf16 or f32
  std::int64_t* first;
  std::int64_t count;
  DType dtype;

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(count) * static_cast<double>(size_of(dtype)); }
};

/// to = from, which do not overlap.
struct Copy {
  static constexpr std::string_view name = "copy";
  const void* from;
  void* to;
  std::int64_t size;  // bytes

  [[nodiscard]] double flops() const { return 0; }
  [[nodiscard]] double bytes() const { return static_cast<double>(2 * size); }
};

/// How far x is from a reference: energies[0] += sum of reference^2, energies[1] += sum of (x - reference)^2, in
/// double, in a fixed order, both tensors read once. Ten times the decimal logarithm of their ratio is the signal to
/// quantization noise ratio in dB. NaN and inf stay visible.
struct Difference {
  static constexpr std::string_view name = "difference";
  const void* reference;  // [n] bf16 or f32
  const void* x;          // [n]
  double* energies;       // [2]
  std::int64_t count;
  DType dtype;  // of both

  [[nodiscard]] double flops() const { return static_cast<double>(count * 5); }
  [[nodiscard]] double bytes() const { return static_cast<double>(2 * count) * static_cast<double>(size_of(dtype)); }
};

/// Every op there is. A backend has one entry for each; the op tests walk this list.
template <template <typename...> typename List>
using AllOps = List<EmbeddingForward, EmbeddingBackward, RmsNormForward, RmsNormForwardCast, RmsNormBackward, Rope,
                    AttentionForward, AttentionBackward, AppendToCache, AttentionDecode, SwigluForward, SwigluBackward,
                    SwigluBackwardCast, QuantizeRows, Maxima, Cast, CastStatistics, Gemm, CrossEntropy, SumFloats, Zero,
                    SumOfSquares, AdamW, FindNonFinite, Copy, Difference, Route, RouteBackward, BalanceBias,
                    GroupTokens, GatherRows, GatherRowsCast, CombineRows, GroupedSwigluForward, GroupedSwigluBackward,
                    GroupedSwigluCast, GroupedGemm, GroupedWgrad, MlaAssemble, MlaAssembleBackward, Add, ShiftTokens,
                    HeadNormRope, HeadNormRopeBackward>;

}  // namespace octet::ops
