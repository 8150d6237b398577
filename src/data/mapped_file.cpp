// Maps files with POSIX mmap.
#include "data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"

namespace octet {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void unreadable(const std::filesystem::path& path, int error) {
  throw UserError("{}: cannot be read ({}): check the path and its permissions", path.string(),
                  std::generic_category().message(error));
}

}  // namespace

void MappedFile::Unmap::operator()(const std::byte* data) const {
  ::munmap(const_cast<std::byte*>(data), size);  // munmap takes what mmap gave, whatever its protection
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(path);
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) throw UserError("{}: is not a regular file: name a file", path.string());
  if (status.st_size == 0) return;  // mmap refuses a length of zero

  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (data == MAP_FAILED) unreadable(path, errno);  // NOLINT(performance-no-int-to-ptr): a macro of the C library
  data_ = {static_cast<const std::byte*>(data), Unmap{size}};
}

}  // namespace octet
