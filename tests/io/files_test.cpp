// Files that are whole or absent.
#include "io/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>

#include "io/file_size_limit.h"
#include "io/scratch.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator{}));
}

/// Gives up root's right to write anywhere.
class UnprivilegedUser {
 public:
  UnprivilegedUser() {
    if (was_root_) check(::seteuid(65534) == 0, "root can become nobody");
  }
  UnprivilegedUser(const UnprivilegedUser&) = delete;
  UnprivilegedUser& operator=(const UnprivilegedUser&) = delete;
  ~UnprivilegedUser() {
    if (was_root_) check(::seteuid(0) == 0, "nobody can become root again");
  }

 private:
  bool was_root_ = ::geteuid() == 0;
};

TEST(Files, WrittenTextReadsBack) {
  const ScratchDirectory scratch;
  const std::string text("a\0b\nlast", 8);
  write_file_atomically(scratch.path() / "f", "longer than what replaces it");
  write_file_atomically(scratch.path() / "f", text);
  EXPECT_EQ(read_file(scratch.path() / "f"), text);
  EXPECT_FALSE(fs::exists(scratch.path() / "f.partial"));
  const MappedFile mapped(scratch.path() / "f");
  EXPECT_EQ(mapped.bytes().size(), text.size());
  EXPECT_EQ(mapped.bytes()[2], std::byte{'b'});
}

TEST(Files, AnEmptyFileIsEmpty) {
  const ScratchDirectory scratch;
  write_file_atomically(scratch.path() / "f", "");
  EXPECT_EQ(read_file(scratch.path() / "f"), "");
  EXPECT_TRUE(MappedFile(scratch.path() / "f").bytes().empty());
}

TEST(Files, WithoutCommitTheTargetStays) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.write("f", "old");
  {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span("new")));
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_FALSE(fs::exists(scratch.path() / "f.partial"));
}

TEST(Files, AFullDiskIsNamedAndLeavesTheOldFile) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.write("f", "old");
  const std::size_t descriptors = open_descriptors();
  {
    const FileSizeLimit limit(1000);
    const std::string message = user_error([&] { write_file_atomically(path, std::string(5000, 'x')); });
    EXPECT_TRUE(contains(message, "cannot write " + path.string() + ": File too large; free some space"));
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_FALSE(fs::exists(path.string() + ".partial"));
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(Files, AMissingFileOrDirectoryIsNamed) {
  const ScratchDirectory scratch;
  const fs::path missing = scratch.path() / "none" / "f";
  EXPECT_TRUE(contains(user_error([&] { (void)read_file(missing); }),
                       "cannot open " + missing.string() + ": No such file or directory; check the path"));
  EXPECT_TRUE(contains(user_error([&] { write_file_atomically(missing, "x"); }), "No such file or directory"));
}

TEST(Files, OnlyRegularFilesAreRead) {
  const ScratchDirectory scratch;
  EXPECT_TRUE(contains(user_error([&] { (void)read_file(scratch.path()); }), "Is a directory"));
  const fs::path pipe = scratch.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(contains(user_error([&] { const MappedFile file(pipe); }), "not a regular file"));
}

TEST(Files, MovingAMappingKeepsItsBytes) {
  const ScratchDirectory scratch;
  MappedFile a(scratch.write("a", "first"));
  const MappedFile b(std::move(a));
  EXPECT_EQ(b.bytes()[0], std::byte{'f'});
}

TEST(MakeDirectory, CreatesParentsAndAcceptsWhatExists) {
  const ScratchDirectory scratch;
  make_directory(scratch.path() / "a" / "b");
  make_directory(scratch.path() / "a" / "b");
  EXPECT_TRUE(fs::is_directory(scratch.path() / "a" / "b"));
}

TEST(MakeDirectory, SaysWhatIsInTheWay) {
  const ScratchDirectory scratch;
  const fs::path file = scratch.write("file", "x");
  EXPECT_TRUE(contains(user_error([&] { make_directory(file); }), "Not a directory"));
  EXPECT_TRUE(contains(user_error([&] { make_directory(file / "below"); }), "Not a directory; a part of the path"));

  fs::permissions(scratch.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  {
    const UnprivilegedUser user;
    const std::string message = user_error([&] { make_directory(scratch.path() / "new"); });
    EXPECT_TRUE(contains(message, "cannot create directory " + (scratch.path() / "new").string()));
    EXPECT_TRUE(contains(message, "Permission denied; choose a place that this user may use"));
  }
  fs::permissions(scratch.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace octet
