#include "ops/cpu/tile_product.h"

#include <fmt/format.h>
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#include "core/error.h"

namespace octet::ops::cpu {
namespace {

using dnnl::memory;

/// oneDNN chooses its kernel for the number of threads that OpenMP would give it, and starts them where it runs outside
/// a team of several: one, since each call belongs to one thread of ours.
class OneThreadScope {
 public:
  OneThreadScope() : threads_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThreadScope() { omp_set_num_threads(threads_); }
  OneThreadScope(const OneThreadScope&) = delete;
  OneThreadScope& operator=(const OneThreadScope&) = delete;

 private:
  int threads_;
};

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::dims strides(std::int64_t row, bool transposed) {
  return transposed ? memory::dims{1, row} : memory::dims{row, 1};
}

dnnl::matmul::primitive_desc describe(const memory::desc& a, const memory::desc& b, const memory::desc& d,
                                      const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), a, b, d, attributes};
#else
  return {dnnl::matmul::desc(a, b, d), attributes, cpu_engine()};
#endif
}

std::string_view isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    default:
      return isa > dnnl::cpu_isa::avx512_core_bf16 ? "amx or newer" : "other";
  }
}

}  // namespace

struct TileProduct::Impl {
  memory::desc a, b, d, scratch;
  dnnl::matmul product;
};

TileProduct::TileProduct(const TileShape& shape, DType operands) : impl_(std::make_unique<Impl>()) {
  const OneThreadScope one_thread;
  const auto type = operands == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  impl_->a = memory::desc({shape.m, shape.k}, type, strides(shape.a_stride, shape.a_transposed));
  impl_->b = memory::desc({shape.k, shape.n}, type, strides(shape.b_stride, !shape.b_transposed));
  impl_->d = memory::desc({shape.m, shape.n}, memory::data_type::f32, strides(shape.d_stride, false));
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0F);
    attributes.set_post_ops(post_ops);
  }
  const auto description = describe(impl_->a, impl_->b, impl_->d, attributes);
  impl_->scratch = description.scratchpad_desc();
  impl_->product = dnnl::matmul(description);
}

TileProduct::~TileProduct() = default;

std::size_t TileProduct::scratch_bytes() const {
  return impl_->scratch.get_size();
}

void TileProduct::run(const void* a, const void* b, float* d, std::byte* scratch) const {
  const OneThreadScope one_thread;
  const auto& engine = cpu_engine();
  dnnl::stream stream(engine);
  // oneDNN takes non-const pointers for what it only reads.
  impl_->product.execute(stream, {{DNNL_ARG_SRC, memory(impl_->a, engine, const_cast<void*>(a))},
                                  {DNNL_ARG_WEIGHTS, memory(impl_->b, engine, const_cast<void*>(b))},
                                  {DNNL_ARG_DST, memory(impl_->d, engine, d)},
                                  {DNNL_ARG_SCRATCHPAD, memory(impl_->scratch, engine, scratch)}});
  stream.wait();
}

DType TileProducts::fastest_operands() {
  return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16 ? DType::bf16 : DType::f32;
}

std::string TileProducts::description() {
  const dnnl_version_t& version = *dnnl_version();
  return fmt::format("oneDNN {}.{}.{} ({}), products in {}", version.major, version.minor, version.patch,
                     isa_name(dnnl::get_effective_cpu_isa()), name(fastest_operands()));
}

const TileProduct& TileProducts::find(const TileShape& shape) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<TileProduct>& product = products_[shape];
  if (!product) product = std::make_unique<TileProduct>(shape, operands_);
  return *product;
}

}  // namespace octet::ops::cpu
