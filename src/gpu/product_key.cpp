#include "gpu/product_key.h"

#include <fmt/format.h>

namespace octet::gpu {

ProductKey product_key(const Product& p) {
  return {p.m,      p.n,          p.k,           p.a.dtype, p.b.dtype, p.d_dtype, p.a.transposed, p.b.transposed,
          p.a.axis, p.accumulate, p.accumulation};
}

char layout_letter(const Product& p) {
  if (p.a.transposed) return p.b.transposed ? '2' : 'a';
  return p.b.transposed ? 'b' : '0';
}

char operand_letter(const Product& p) {
  if (p.a.dtype == DType::bf16) return 'b';
  const bool full = p.accumulation == fp8::Accumulation::full;
  if (p.a.axis == fp8::ScaleAxis::row) return full ? 'R' : 'r';
  return full ? 'T' : 't';
}

char output_letter(const Product& p) {
  if (p.d_dtype == DType::bf16) return 'b';
  return p.accumulate ? '+' : 'f';
}

std::string_view kernel_side(DType dtype, bool transposed) {
  if (dtype == DType::bf16) return transposed ? "bf16t" : "bf16";
  return dtype == DType::e5m2 || dtype == DType::e5m2fnuz ? "e5m2" : "e4m3";
}

std::string text_of(const Product& p) {
  const bool fast = p.a.dtype != DType::bf16 && p.accumulation == fp8::Accumulation::fast;
  return fmt::format("[{}, {}] over {}, {} x {} -> {}{}{}{}{}", p.m, p.n, p.k, name(p.a.dtype), name(p.b.dtype),
                     name(p.d_dtype), p.a.transposed ? ", A transposed" : "", p.b.transposed ? ", B transposed" : "",
                     p.accumulate ? ", added to" : "", fast ? ", fast accumulation" : "");
}

}  // namespace octet::gpu
