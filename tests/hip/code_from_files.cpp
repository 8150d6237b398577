#include "hip/code_from_files.h"

#include <fmt/format.h>

#include <cstddef>
#include <list>

#include "core/error.h"
#include "gpu/hip/code_objects.h"
#include "sim/gpu.h"

namespace octet {
namespace {

struct Code {
  std::list<test::CodeFile> files;  // elements that views may point to
  std::list<std::vector<std::byte>> contents;
  std::vector<gpu::CodeObject> objects;
};

Code& code() {
  static Code code;
  return code;
}

}  // namespace

namespace test {

CodeFile built_code(const std::string& source, const std::string& arch) {
  return {source, arch, std::filesystem::path(OCTET_CODE_OBJECTS) / fmt::format("{}.{}.co", source, arch)};
}

void set_code(const std::vector<CodeFile>& files) {
  code().objects.clear();
  for (const CodeFile& file : files) {
    const CodeFile& kept = code().files.emplace_back(file);
    const auto& contents = code().contents.emplace_back(sim::file_bytes(file.path));
    check(!contents.empty(), "a code object's file is there");
    code().objects.push_back({kept.source, kept.arch, contents.data()});
  }
}

}  // namespace test

namespace gpu {

// In place of the generated one, which the linker leaves in its library.
std::span<const CodeObject> code_objects() {
  return code().objects;
}

}  // namespace gpu
}  // namespace octet
