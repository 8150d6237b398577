// Which files a user means by what was named: files, folders and patterns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/document_source.h"

namespace octet {

/// A file of documents, as it lay there when the job began.
struct DocumentFile {
  std::filesystem::path path;
  DocumentFormat format = DocumentFormat::text;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970
};

struct DocumentFiles {
  std::vector<DocumentFile> files;
  std::vector<std::filesystem::path> left_out;  ///< found in folders or by patterns, but of no known format
};

/// What the name of a file says that it holds: .txt, .text and .md are texts, .jsonl and .ndjson JSON lines, each with
/// .gz or .zst behind it or not; .parquet.
[[nodiscard]] std::optional<DocumentFormat> format_by_name(std::filesystem::path path);

/// The files that match `pattern`, a shell's (*, ?, [...]), sorted by the bytes of their names.
[[nodiscard]] std::vector<std::filesystem::path> matching_files(const std::string& pattern);

/// Whether `name` is a pattern, and not the name of something that exists.
[[nodiscard]] bool is_pattern(const std::string& name);

/// Each name in the order given: a file; a folder, with what lies below it, hidden files and folders aside, sorted by
/// the bytes of their paths; or a pattern. `format` is that of all files; without one the names decide.
/// Throws UserError for what does not exist, for a pattern or folder without a file, for a file that was named and
/// whose format is unknown, and for a file that is meant twice.
[[nodiscard]] DocumentFiles find_document_files(std::span<const std::string> names,
                                                std::optional<DocumentFormat> format);

}  // namespace octet
