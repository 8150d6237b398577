// Files that are whole or absent, over POSIX calls.
#include "io/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "io/text.h"

namespace octet {
namespace {

std::string_view remedy(int error) {
  switch (error) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a place that this user may use, or change its permissions";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space or choose another disk";
    case ENOTDIR:
    case EEXIST:
      return "a part of the path is a file, choose another path";
    case EISDIR:
      return "the path is a directory, name a file";
    default:
      return "check the disk and the path";
  }
}

[[noreturn]] void fail(std::string_view action, const std::filesystem::path& path, int error) {
  throw UserError("cannot {} {}: {}; {}", action, printable(path.string(), std::numeric_limits<std::size_t>::max()),
                  std::generic_category().message(error), remedy(error));
}

int open_or_fail(std::string_view action, const std::filesystem::path& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) fail(action, path, errno);
  return fd;
}

struct RegularFile {
  FileDescriptor file;
  std::size_t bytes;
};

RegularFile open_regular(const std::filesystem::path& path) {
  // Non-blocking, so that a named pipe is refused below and not waited for.
  FileDescriptor file(open_or_fail("open", path, O_RDONLY | O_NONBLOCK));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("inspect", path, errno);
  if (S_ISDIR(status.st_mode)) fail("read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    throw UserError("cannot read {}: not a regular file; copy its contents to one", printable(path.string()));
  }
  return {std::move(file), static_cast<std::size_t>(status.st_size)};
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

void sync_directory(const std::filesystem::path& path) {
  const FileDescriptor directory(open_or_fail("open directory", path, O_RDONLY | O_DIRECTORY));
  // Some network file systems cannot sync a directory and say EINVAL: the rename is as durable as they make it.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) fail("sync directory", path, errno);
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto [file, size] = open_regular(path);
  if (size == 0) return;  // mmap refuses an empty range
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) fail("map", path, errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void forget_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size()) / page * page;
  // Only advice: where it is not taken, the pages go when memory runs short.
  if (begin < end) static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)),
      partial_(path_.string() + ".partial"),
      file_(open_or_fail("create", partial_, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)) {}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path_, errno);
    if (written == 0) fail("write", path_, ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::overwrite(std::size_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path_, errno);
    offset += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) fail("write", path_, errno);
  // A network file system may report a full disk only here; the descriptor is gone either way.
  if (::close(file_.release()) != 0) fail("write", path_, errno);
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail("replace", path_, errno);
  committed_ = true;
  sync_directory(directory_of(path_));
}

std::string read_file(const std::filesystem::path& path) {
  const auto [file, size] = open_regular(path);
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(file.get(), text.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    if (count == 0) break;  // shortened meanwhile
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void make_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("create directory", path, error.value());
  // An existing file of that name is no error to the library.
  if (!std::filesystem::is_directory(path, error)) fail("create directory", path, ENOTDIR);
}

}  // namespace octet
