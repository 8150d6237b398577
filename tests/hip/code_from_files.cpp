#include "hip/code_from_files.h"

#include <list>

#include "gpu/hip/code_objects.h"
#include "hip/embedded_code.h"
#include "io/files.h"

namespace octet {
namespace {

struct Code {
  std::list<test::CodeFile> files;  // elements that views may point to
  std::list<std::string> contents;
  std::vector<gpu::CodeObject> objects;
};

Code& code() {
  static Code code;
  return code;
}

}  // namespace

namespace test {

CodeFile built_code(const std::string& source, const std::string& arch) {
  return {source, arch, code_object_path(source, arch)};
}

void set_code(const std::vector<CodeFile>& files) {
  code().objects.clear();
  for (const CodeFile& file : files) {
    const CodeFile& kept = code().files.emplace_back(file);
    const std::string& contents = code().contents.emplace_back(read_file(file.path));
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
