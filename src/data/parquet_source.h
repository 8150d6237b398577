// Documents of a Parquet table: a string column, a row each. Compiled where CMake finds Apache Arrow's C++ library.
#pragma once

#include <filesystem>
#include <memory>

#include "data/document_source.h"

namespace octet {

/// Throws UserError for a file that is no Parquet, has no such column of strings, or where this build cannot read any.
[[nodiscard]] std::unique_ptr<DocumentSource> open_parquet(const std::filesystem::path& path,
                                                           const SourceOptions& options);

}  // namespace octet
