// Parameters live in slabs: one contiguous piece per block, so that an optimizer pass, a collective or a shard is one
// range. Optimizer states mirror the layout; gradients lie in two arrays, one for each dtype that they may have.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/memory.h"
#include "ops/executor.h"

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

/// How a micro-batch makes a parameter's gradient.
enum class GradientWrites : std::uint8_t {
  once,       ///< one product writes all of it: nothing is lost where it is rounded to bf16
  rows_once,  ///< one op writes some of its rows, each as a whole: may be bf16 as well, and it must start at zero
  in_parts,   ///< the first part is written, others are added: fp32
  added       ///< ops only add to it: fp32, and it must start at zero
};

/// One matrix [rows, cols] (a vector is [1, cols]) at `offset` elements of its slab.
struct Parameter {
  std::string name;
  std::int64_t rows, cols;
  std::int64_t offset;
  Initial initial;
  GradientWrites gradient_writes;
  bool measured;                     ///< the optimizer measures the new weight's rows and columns for the casts
  std::vector<ParameterPart> parts;  ///< cover all rows in order
  std::int64_t matrices = 1;         ///< that the rows are cut into, as those of experts: each has column maxima
  std::int64_t gradient_offset = 0;  ///< elements of the slab's array of gradients that are written so

  [[nodiscard]] std::int64_t numel() const { return rows * cols; }
  [[nodiscard]] bool gradient_is_written_once() const {
    return gradient_writes == GradientWrites::once || gradient_writes == GradientWrites::rows_once;
  }
  [[nodiscard]] bool gradient_starts_at_zero() const {
    return gradient_writes == GradientWrites::rows_once || gradient_writes == GradientWrites::added;
  }
};

/// The views that a layer computes with.
struct ParameterView {
  Tensor weight;       // [rows, cols] bf16
  Tensor row_amax;     // [1, rows] bf16; empty where the parameter is not measured
  Tensor column_amax;  // [matrices, cols] bf16
};

/// How long gradients have memory of their own.
enum class GradientLife : std::uint8_t {
  run,  ///< always
  step  ///< from their slab's backward to its update, as temporaries of a program
};

/// What a slab keeps of each element besides the bf16 weight.
struct SlabStorage {
  bool master = true;            ///< the parameter in fp32; without, the bf16 weight is the parameter
  bool training = true;          ///< gradients and moments
  DType moments = DType::f32;    ///< or bf16
  DType gradients = DType::f32;  ///< of those that are written once, or bf16; all others are f32
  GradientLife gradient_life = GradientLife::run;
};

class Slab {
 public:
  explicit Slab(std::string name) : name_(std::move(name)) {}

  std::size_t add(Parameter parameter);
  void allocate(Memory& memory, const SlabStorage& storage);

  /// Before anything is written to a step's gradients: takes their memory where they live for the step and have none
  /// yet, and clears those that must start at zero, and what lies between parameters.
  void begin_gradients(ops::Executor& run);
  /// Gives the memory back where gradients live for the step.
  void end_gradients();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] std::int64_t numel() const { return numel_; }
  [[nodiscard]] ParameterView view(std::size_t index) const;
  /// [rows, cols] bf16 or f32 of a parameter. Without data where it has no memory now.
  [[nodiscard]] Tensor gradient(std::size_t index) const;
  [[nodiscard]] bool has_master() const { return static_cast<bool>(master_); }

  [[nodiscard]] const Tensor& weights() const { return weights_.tensor(); }  // [1, numel] bf16
  [[nodiscard]] const Tensor& master() const { return master_.tensor(); }    // [1, numel] f32
  [[nodiscard]] const Tensor& first_moment() const { return m_.tensor(); }   // [1, numel] f32 or bf16
  [[nodiscard]] const Tensor& second_moment() const { return v_.tensor(); }  // [1, numel] f32 or bf16
  /// The arrays of gradients that there are, [1, n]: of those written once, and of the others (f32).
  [[nodiscard]] std::vector<Tensor> gradients() const;
  /// What training changes: master, or weights where there is none.
  [[nodiscard]] const Tensor& values() const { return has_master() ? master() : weights(); }

 private:
  struct Maxima {
    Buffer rows, columns;  // [1, rows], [matrices, cols] bf16; empty for a parameter that is not measured
  };

  /// Gradients that share a dtype.
  struct Gradients {
    std::int64_t numel = 0;
    Buffer elements;  // [1, numel]
  };

  [[nodiscard]] Gradients& gradients_of(const Parameter& parameter);
  void take_gradients(Memory& memory);
  void clear(ops::Executor& run, const Gradients& gradients) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  std::int64_t numel_ = 0;
  SlabStorage storage_;
  Buffer weights_, master_, m_, v_;
  Gradients written_once_, summed_;
  std::vector<Maxima> maxima_;
};

/// One parameter's part of a slab's array [1, numel].
[[nodiscard]] Tensor part_of(const Tensor& array, const Parameter& parameter);

/// A vector [1, count] f32 that training changes by other means than gradients. It starts at zero; checkpoints hold it.
struct TrainedState {
  std::string name;
  std::int64_t count;
  Buffer values;
};

/// All slabs of a model, and what it learns beside them. Addresses of both are stable.
class Parameters {
 public:
  [[nodiscard]] Slab& add_slab(std::string name) { return slabs_.emplace_back(std::move(name)); }
  [[nodiscard]] const std::deque<Slab>& slabs() const { return slabs_; }
  [[nodiscard]] std::deque<Slab>& slabs() { return slabs_; }
  [[nodiscard]] TrainedState& add_state(std::string name, std::int64_t count) {
    return states_.emplace_back(TrainedState{std::move(name), count, {}});
  }
  [[nodiscard]] const std::deque<TrainedState>& states() const { return states_; }
  /// Elements of the slabs' parameters.
  [[nodiscard]] std::int64_t count() const;

  /// Fills every parameter from `seed`, each from a random stream of its own name, and states with zeros.
  void initialize(ops::Device& device, std::uint64_t seed) const;
  /// The same for one slab.
  static void initialize(ops::Device& device, const Slab& slab, std::uint64_t seed);
  /// Rounds masters, where there are any, to the bf16 weights that layers read: after a checkpoint was loaded.
  void round_weights(ops::Device& device) const;

 private:
  std::deque<Slab> slabs_;
  std::deque<TrainedState> states_;
};

}  // namespace octet
