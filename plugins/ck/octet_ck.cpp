// The plugin's entries: they check what they are given, and turn exceptions into what C can return.
#include "octet_ck.h"

#include <exception>
#include <string>

#include "grouped_gemm.h"

namespace {

thread_local std::string last_error;  // NOLINT: octet_ck_error() returns a thread's own

bool is_fp8(std::int32_t type) {
  return type >= OCTET_CK_E4M3FN && type <= OCTET_CK_E5M2FNUZ;
}

void refuse_unless(bool holds, const std::string& what) {
  if (!holds) throw octet_ck::Refusal(what);
}

/// CDNA3 multiplies fnuz codes, CDNA4 those of OCP: the same bytes mean other numbers.
void check_format(std::int32_t type, const std::string& arch) {
  const bool is_fnuz = type == OCTET_CK_E4M3FNUZ || type == OCTET_CK_E5M2FNUZ;
  refuse_unless(is_fnuz == (arch == "gfx942"),
                arch + " does not multiply codes of " + (is_fnuz ? "fnuz" : "OCP") + " formats");
}

/// Members that both kinds of products have.
template <typename Product>
void check_operands(const Product& p, bool is_transposed) {
  refuse_unless(p.groups > 0 && p.n > 0 && p.k > 0, "a grouped product without groups, n or k");
  refuse_unless(p.a != nullptr && p.b != nullptr && p.d != nullptr && p.offsets != nullptr,
                "a grouped product without an operand, a result or offsets");
  if (p.a_type == OCTET_CK_BF16) {
    refuse_unless(p.b_type == OCTET_CK_BF16 && p.scale == OCTET_CK_SCALE_NONE, "bf16 operands come in pairs, unscaled");
    return;
  }
  refuse_unless(is_fp8(p.a_type) && is_fp8(p.b_type), "operands are bf16 or FP8");
  const std::string arch = octet_ck::device_arch();
  check_format(p.a_type, arch);
  check_format(p.b_type, arch);
  refuse_unless(!is_transposed, "FP8 operands lie along the contraction");
  refuse_unless(p.scale == OCTET_CK_SCALE_TENSOR || p.scale == OCTET_CK_SCALE_ROW,
                "FP8 operands have a scale each or one a row");
  refuse_unless(p.a_scale_inverse != nullptr && p.b_scale_inverse != nullptr, "FP8 operands without inverse scales");
}

void check_rows(const octet_ck_rows_grouped& p) {
  check_operands(p, p.b_transposed != 0);
  refuse_unless(p.rows >= 0 && p.d_type == OCTET_CK_BF16, "results of groups of rows are bf16");
}

void check_columns(const octet_ck_columns_grouped& p) {
  check_operands(p, p.transposed != 0);
  refuse_unless(p.columns >= 0 && (p.d_type == OCTET_CK_BF16 || p.d_type == OCTET_CK_F32),
                "gradients of weights are f32 or bf16");
}

template <typename Work>
int guarded(const Work& work) {
  try {
    last_error.clear();
    work();
    return OCTET_CK_DONE;
  } catch (const octet_ck::Refusal& refusal) {
    last_error = refusal.what();
    return OCTET_CK_REFUSED;
  } catch (const std::exception& error) {
    last_error = error.what();
    return OCTET_CK_FAILED;
  }
}

}  // namespace

extern "C" {

int32_t octet_ck_abi_version(void) {
  return OCTET_CK_ABI_VERSION;
}

const char* octet_ck_description(void) {
  return octet_ck::implementation();
}

size_t octet_ck_workspace_bytes(int32_t groups) {
  return (octet_ck::workspace_bytes(groups) + 255) / 256 * 256;
}

int octet_ck_multiply_rows(const struct octet_ck_rows_grouped* product, void* workspace, void* stream) {
  return guarded([&] {
    check_rows(*product);
    octet_ck::multiply_rows(*product, workspace, stream);
  });
}

int octet_ck_multiply_columns(const struct octet_ck_columns_grouped* product, void* workspace, void* stream) {
  return guarded([&] {
    check_columns(*product);
    octet_ck::multiply_columns(*product, workspace, stream);
  });
}

const char* octet_ck_error(void) {
  return last_error.c_str();
}

}  // extern "C"
