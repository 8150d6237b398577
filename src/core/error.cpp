#include "core/error.h"

namespace octet {

void check_failed(const char* must_hold, std::source_location where) {
  throw Failure("internal check failed: {} ({}:{})", must_hold, where.file_name(), where.line());
}

}  // namespace octet
