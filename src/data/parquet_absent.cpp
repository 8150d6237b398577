// Builds without Apache Arrow read no Parquet, and say so.
#include "core/error.h"
#include "data/parquet_source.h"

namespace octet {

std::unique_ptr<DocumentSource> open_parquet(const std::filesystem::path& path, const SourceOptions& /*options*/) {
  throw UserError(
      "{}: this octet was built without Apache Arrow, which reads Parquet: build it where CMake finds Arrow and "
      "Parquet, or write the table as JSON lines",
      path.string());
}

}  // namespace octet
