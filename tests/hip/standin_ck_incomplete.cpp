// A plugin that stops in the middle of its interface; as OCTET_STANDIN_CK_VERSION says, of another version.
#include "gpu/standin_environment.h"
#include "octet_ck.h"

extern "C" {

int32_t octet_ck_abi_version(void) {
  return static_cast<int32_t>(octet::test::setting("OCTET_STANDIN_CK_VERSION", OCTET_CK_ABI_VERSION));
}
const char* octet_ck_description(void) {
  return "incomplete";
}
size_t octet_ck_workspace_bytes(int32_t) {
  return 0;
}
int octet_ck_multiply_rows(const struct octet_ck_rows_grouped*, void*, void*) {
  return OCTET_CK_DONE;
}

}  // extern "C"
