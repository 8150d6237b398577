#include "core/error.h"

namespace octet {

void assertion_failed(const char* condition, const char* message, std::source_location where) {
  throw Failure("internal {} failed: {} ({}:{})", condition, message, where.file_name(), where.line());
}

}  // namespace octet
