// Takes Composable Kernel's place behind the plugin's entries: keeps what it is asked for.
//
//   OCTET_STANDIN_CK_ARCH=gfx950     the processor that it says it runs on (default gfx942)
//   OCTET_STANDIN_CK_FAIL=1          the runtime fails
#include "hip/standin_ck.h"

#include "gpu/standin_environment.h"
#include "grouped_gemm.h"

namespace {

octet::test::CkRecord record;

void keep(void* workspace, void* stream) {
  if (octet::test::setting("OCTET_STANDIN_CK_FAIL", 0) != 0) throw std::runtime_error("a launch failed");
  record.workspace = workspace;
  record.stream = stream;
}

}  // namespace

extern "C" const octet::test::CkRecord* standin_ck_record() {
  return &record;
}

namespace octet_ck {

const char* implementation() {
  return "a stand-in";
}

std::string device_arch() {
  const std::string named = octet::test::text_setting("OCTET_STANDIN_CK_ARCH");
  return named.empty() ? "gfx942" : named;
}

std::size_t workspace_bytes(std::int32_t groups) {
  return static_cast<std::size_t>(groups) * 100;
}

void multiply_rows(const octet_ck_rows_grouped& product, void* workspace, void* stream) {
  keep(workspace, stream);
  record.rows = product;
  ++record.rows_grouped;
}

void multiply_columns(const octet_ck_columns_grouped& product, void* workspace, void* stream) {
  keep(workspace, stream);
  record.columns = product;
  ++record.columns_grouped;
}

}  // namespace octet_ck
