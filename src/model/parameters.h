// Parameters live in slabs: one contiguous piece per block, so that an optimizer pass, a collective or a shard is one
// range. Gradients and optimizer states mirror the layout.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/memory.h"
#include "ops/backend.h"

namespace octet {

/// How a parameter starts.
struct Initial {
  double standard_deviation = 0;  ///< of a normal distribution; 0 leaves the constant
  double constant = 0;
};

/// Rows of a merged matrix under the name that checkpoints know: wq, wk and wv of wqkv.
struct ParameterPart {
  std::string name;
  std::int64_t rows;
};

/// One matrix [rows, cols] (a vector is [1, cols]) at `offset` elements of its slab.
struct Parameter {
  std::string name;
  std::int64_t rows, cols;
  std::int64_t offset;
  Initial initial;
  bool sums_gradient;                ///< ops only add to its gradient, which must start at zero
  bool measured;                     ///< the optimizer measures the new weight's rows and columns for the casts
  std::vector<ParameterPart> parts;  ///< cover all rows in order

  [[nodiscard]] std::int64_t numel() const { return rows * cols; }
};

/// The views that a layer computes with.
struct ParameterView {
  Tensor weight;       // [rows, cols] bf16
  Tensor gradient;     // [rows, cols] f32; empty in inference
  Tensor row_amax;     // [1, rows] bf16; empty where the parameter is not measured
  Tensor column_amax;  // [1, cols] bf16
};

/// What a slab keeps of each element besides the bf16 weight.
struct SlabStorage {
  bool master = true;          ///< the parameter in fp32; without, the bf16 weight is the parameter
  bool training = true;        ///< gradients and moments
  DType moments = DType::f32;  ///< or bf16
};

class Slab {
 public:
  explicit Slab(std::string name) : name_(std::move(name)) {}

  std::size_t add(Parameter parameter);
  void allocate(Memory& memory, const SlabStorage& storage);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] std::int64_t numel() const { return numel_; }
  [[nodiscard]] ParameterView view(std::size_t index) const;
  [[nodiscard]] bool has_master() const { return static_cast<bool>(master_); }

  [[nodiscard]] const Tensor& weights() const { return weights_.tensor(); }      // [1, numel] bf16
  [[nodiscard]] const Tensor& master() const { return master_.tensor(); }        // [1, numel] f32
  [[nodiscard]] const Tensor& gradients() const { return gradients_.tensor(); }  // [1, numel] f32
  [[nodiscard]] const Tensor& first_moment() const { return m_.tensor(); }       // [1, numel] f32 or bf16
  [[nodiscard]] const Tensor& second_moment() const { return v_.tensor(); }      // [1, numel] f32 or bf16
  /// What training changes: master, or weights where there is none.
  [[nodiscard]] const Tensor& values() const { return has_master() ? master() : weights(); }

 private:
  struct Maxima {
    Buffer rows, columns;  // [1, rows], [1, cols] bf16; empty for a parameter that is not measured
  };

  std::string name_;
  std::vector<Parameter> parameters_;
  std::int64_t numel_ = 0;
  Buffer weights_, master_, gradients_, m_, v_;
  std::vector<Maxima> maxima_;
};

/// One parameter's part of a slab's array [1, numel].
[[nodiscard]] Tensor part_of(const Tensor& array, const Parameter& parameter);

/// All slabs of a model. Addresses of slabs are stable.
class Parameters {
 public:
  [[nodiscard]] Slab& add_slab(std::string name) { return slabs_.emplace_back(std::move(name)); }
  [[nodiscard]] const std::deque<Slab>& slabs() const { return slabs_; }
  [[nodiscard]] std::int64_t count() const;

  /// Fills every parameter from `seed`, each from a random stream of its own name.
  void initialize(ops::Device& device, std::uint64_t seed) const;
  /// The same for one slab.
  static void initialize(ops::Device& device, const Slab& slab, std::uint64_t seed);
  /// Rounds masters, where there are any, to the bf16 weights that layers read: after a checkpoint was loaded.
  void round_weights(ops::Device& device) const;

 private:
  std::deque<Slab> slabs_;
};

}  // namespace octet
