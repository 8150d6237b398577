// Trial: one run of one op on one case: its guarded buffers, the run itself, and the comparisons that follow.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/backend.h"
#include "ops/reference/casts.h"
#include "ops/selftest/guarded_buffer.h"
#include "ops/selftest/inputs.h"

namespace octet::ops::selftest {

/// An absolute error for each element of an output, or one for all of them.
class Allowance {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a number and a vector are both written where an allowance is meant
  Allowance(double all) : each_{all} {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Allowance(Vector each) : each_(std::move(each)), same_(false) {}

  [[nodiscard]] double operator[](Index i) const { return each_[same_ ? 0 : i]; }

 private:
  Vector each_;
  bool same_ = true;
};

/// factor * x, as an allowance.
[[nodiscard]] Allowance fraction(double factor, View x);

/// The device says that it cannot run the case.
struct Refused {
  const char* reason;
};

class Trial {
 public:
  explicit Trial(const Backend& backend) : backend_(backend), allocator_(backend.device().shared_allocator()) {}

  /// A copy of `values` that the op must leave as it is.
  template <typename T>
  [[nodiscard]] const T* input(std::string_view name, const std::vector<T>& values) {
    T* copy = updated(name, values).data();
    buffers_.back().freeze();
    outputs_.pop_back();
    return copy;
  }

  /// Memory that the op must fill.
  template <typename T>
  [[nodiscard]] std::span<T> output(std::string_view name, Index count) {
    static_assert(std::is_trivially_copyable_v<T>);
    buffers_.emplace_back(name, allocator_, static_cast<std::size_t>(count) * sizeof(T));
    outputs_.push_back(buffers_.back().data());
    return {reinterpret_cast<T*>(buffers_.back().data().data()), static_cast<std::size_t>(count)};
  }

  /// A copy of `initial` that the op changes.
  template <typename T>
  [[nodiscard]] std::span<T> updated(std::string_view name, const std::vector<T>& initial) {
    const std::span<T> copy = output<T>(name, std::ssize(initial));
    std::copy(initial.begin(), initial.end(), copy.begin());
    return copy;
  }

  /// Room for the codes of a bf16 output [rows, cols], and for the amax of its rows where they are `measured`; nothing
  /// without a rule.
  [[nodiscard]] RowCodes row_codes(const std::optional<fp8::ScaleRule>& rule, bool measured, Index rows, Index cols);
  /// Room for the transposed codes of a matrix [rows, cols] whose columns have these maxima.
  [[nodiscard]] ColumnCodes column_codes(const fp8::ScaleRule& rule, const std::vector<bf16>& amax, Index rows);
  /// Room for the amax of the columns of a bf16 output [..., cols]; nothing where they are not `measured`.
  [[nodiscard]] ColumnMaxima column_maxima(bool measured, Index cols);

  /// What a sum of products of these operands may be off by beyond the roundoff of fp32, as a part of the sum of their
  /// magnitudes. A GPU's matrix unit adds 32 products of codes, and what it has, to some 13 bits behind the first of
  /// the largest, and cuts off the rest (DeepSeek-AI, 2024, DeepSeek-V3 Technical Report, section 3.5.2).
  [[nodiscard]] double sum_error(DType operands) const {
    return operands == DType::bf16 || backend_.device().host_memory() ? 0 : 0x1p-9;
  }
  /// Whether packed documents that are whole sequences must not change a bit of attention.
  [[nodiscard]] bool attends_alike() const { return backend_.device().attends_alike(); }

  template <typename Op>
  [[nodiscard]] bool supports() const {
    return backend_.supports<Op>();
  }

  /// Runs the op with exactly the workspace that it asks for, and looks for damaged memory. Throws Refused.
  template <typename Op>
  void run(const Op& op) {
    if (const char* reason = backend_.refusal(op)) throw Refused{reason};
    buffers_.emplace_back("its workspace", allocator_, backend_.workspace_bytes(op));
    backend_.run(op, buffers_.back().data());
    backend_.device().finish();
    look_for_damage();
  }

  /// The very same bytes.
  template <typename T>
  void expect_same(std::string_view name, std::span<const T> got, const std::vector<T>& want) {
    const auto bytes_of = [](const T& value) { return std::as_bytes(std::span(&value, 1)); };
    for (Index i = 0; i < std::ssize(got); ++i) {
      if (std::ranges::equal(bytes_of(got[i]), bytes_of(want[i]))) continue;
      return fail(fmt::format("{}[{}] is {}, expected {}", name, i, shown(got[i]), shown(want[i])));
    }
  }

  /// Within one ulp of `want` rounded to bf16, plus `beyond`; not finite where `want` is not.
  void expect_bf16(std::string_view name, std::span<const bf16> got, View want, const Allowance& beyond = 0.0);
  /// Within `allowed` of `want`; not finite where `want` is not.
  void expect_near(std::string_view name, std::span<const float> got, View want, const Allowance& allowed);
  void expect_near(std::string_view name, std::span<const double> got, View want, const Allowance& allowed);
  /// Not finite where `want` is not; elsewhere anything: blocks of a product may carry a NaN over to their neighbours.
  void expect_visible(std::string_view name, std::span<const bf16> got, View want);
  /// Each element is `want` rounded to bf16 with its own `random` bits, by round_stochastically(), where `want` is
  /// known within `allowed` only: one code, or either of two next to each other where that leaves the choice open. Not
  /// finite where `want` is not.
  void expect_stochastic(std::string_view name, std::span<const bf16> got, View want, const Allowance& allowed,
                         std::span<const std::uint16_t> random);
  /// The codes are those of a plain cast of `values` [rows, cols], and so are the maxima where they were measured.
  void expect_row_codes(const RowCodes& codes, std::span<const bf16> values, Index rows, Index cols);
  /// The maxima of the columns of `values` [rows, cols], where they were measured.
  void expect_column_maxima(const ColumnMaxima& columns, std::span<const bf16> values, Index rows, Index cols);

  /// The codes are those of a plain cast of `values` [rows, cols] under the same maxima.
  void expect_column_codes(const ColumnCodes& codes, std::span<const bf16> values, Index rows, Index cols);
  /// The same, of values that are known only as expect_bf16() has them.
  void expect_column_codes_near(const ColumnCodes& codes, View want, const Allowance& beyond, Index rows, Index cols);

  void fail(std::string message) {
    if (failure_.empty()) failure_ = std::move(message);
  }
  /// The first failure; empty where all went well.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// The largest error in units of what was allowed.
  [[nodiscard]] double worst_error() const { return worst_error_; }
  /// `digest` with every output byte mixed in.
  [[nodiscard]] std::uint64_t mix_outputs(std::uint64_t digest) const;

 private:
  template <typename T>
  static std::string shown(T value) {
    if constexpr (std::is_same_v<T, bf16>) {
      return fmt::format("{} ({:#06x})", to_float(value), value.bits);
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      return fmt::format("{:#04x}", value);
    } else {
      return fmt::format("{}", value);
    }
  }

  /// Returns false after the first element that broke the rule.
  bool expect_element(std::string_view name, Index i, double got, double want, double allowed);
  void look_for_damage();

  const Backend& backend_;
  ArenaAllocator allocator_;
  std::vector<GuardedBuffer> buffers_;
  std::vector<std::span<std::byte>> outputs_;
  double worst_error_ = 0;
  std::string failure_;
};

/// An input in either of two dtypes: what the op reads, and the numbers that it holds.
struct RoundedInput {
  /// `dtype` is f32 or bf16, to which `exact` is rounded.
  RoundedInput(Trial& trial, std::string_view name, DType dtype, const std::vector<float>& exact);

  const void* data = nullptr;
  Vector values;
};

}  // namespace octet::ops::selftest
