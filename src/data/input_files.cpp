// Expands folders and patterns, and tells formats by names.
#include "data/input_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "core/error.h"
#include "io/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

DocumentFile describe_file(const fs::path& path, DocumentFormat format) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw UserError("{}: {}: check the path", printable(path.string()), std::generic_category().message(errno));
  }
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return {path, format, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      found.push_back(entry->path());
    }
  }
  if (error) throw UserError("{}: cannot be searched ({}): check the folder", folder.string(), error.message());
  if (found.empty()) throw UserError("{}: there is no file in the folder: name another", printable(folder.string()));
  std::ranges::sort(found, {}, [](const fs::path& path) { return path.string(); });
  return found;
}

}  // namespace

std::optional<DocumentFormat> format_by_name(fs::path path) {
  if (path.extension() == ".gz" || path.extension() == ".zst") path.replace_extension();
  const std::string suffix = path.extension().string();
  if (suffix == ".txt" || suffix == ".text" || suffix == ".md") return DocumentFormat::text;
  if (suffix == ".jsonl" || suffix == ".ndjson") return DocumentFormat::jsonl;
  if (suffix == ".parquet") return DocumentFormat::parquet;
  return {};
}

bool is_pattern(const std::string& name) {
  std::error_code absent;
  return name.find_first_of("*?[") != std::string::npos && !fs::exists(name, absent);
}

std::vector<fs::path> matching_files(const std::string& pattern) {
  glob_t matches{};
  std::vector<fs::path> found;
  if (::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &matches) == 0) {
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
      if (fs::path path = matches.gl_pathv[i]; fs::is_regular_file(path)) found.push_back(std::move(path));
    }
  }
  ::globfree(&matches);
  if (found.empty()) throw UserError("{}: no file matches the pattern: correct it", printable(pattern));
  std::ranges::sort(found, {}, [](const fs::path& path) { return path.string(); });
  return found;
}

DocumentFiles find_document_files(std::span<const std::string> names, std::optional<DocumentFormat> format) {
  DocumentFiles result;
  std::set<fs::path> seen;
  const auto add = [&](const fs::path& path, bool was_named) {
    const auto its_format = format ? format : format_by_name(path);
    if (!its_format && was_named) {
      throw UserError("{}: its name does not say what it holds: give --format text, jsonl or parquet",
                      printable(path.string()));
    }
    if (!its_format) return result.left_out.push_back(path);
    result.files.push_back(describe_file(path, *its_format));
    if (!seen.insert(fs::canonical(path)).second) {
      throw UserError("{}: is named twice among the inputs: name it once", printable(path.string()));
    }
  };
  for (const std::string& name : names) {
    std::error_code absent;
    if (is_pattern(name)) {
      for (const fs::path& path : matching_files(name)) add(path, false);
    } else if (fs::is_directory(name, absent)) {
      for (const fs::path& path : files_below(name)) add(path, false);
    } else {
      add(name, true);
    }
  }
  if (result.files.empty()) {
    throw UserError("none of the {} files found is of a known format, {} for one: give --format text, jsonl or parquet",
                    result.left_out.size(), printable(result.left_out.empty() ? "" : result.left_out[0].string()));
  }
  return result;
}

}  // namespace octet
