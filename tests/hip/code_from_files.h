// Test programs that open AMD's GPUs with code objects of their choice: octet's, from where the build puts them before
// it embeds them, and a test's own beside them or in their place.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet::test {

/// A code object's file.
struct CodeFile {
  std::string source;  ///< its name without extension: "casts"
  std::string arch;    ///< "gfx942"
  std::filesystem::path path;
};

/// A code object of src/kernels, as it was built.
[[nodiscard]] CodeFile built_code(const std::string& source, const std::string& arch);

/// What gpu::code_objects() gives from now on, to devices that are opened later.
void set_code(const std::vector<CodeFile>& files);

}  // namespace octet::test
