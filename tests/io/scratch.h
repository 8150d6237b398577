// What tests of files share: a directory of their own, and the one line a user would read.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/error.h"
#include "io/files.h"

namespace octet {

/// A fresh directory, removed with the object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = testing::TempDir() + "octet_XXXXXX";
    check(::mkdtemp(name.data()) != nullptr, "tests can make a directory");
    path_ = name;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(std::string_view name, std::string_view text) const {
    std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// A file without a disk, for tests that write thousands.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("octet_test", MFD_CLOEXEC)) {
    check(file_.get() >= 0, "tests can make a file in memory");
  }

  /// Replaces the contents; the path that opens them.
  std::filesystem::path write(std::string_view text) {
    check(::ftruncate(file_.get(), 0) == 0, "a file in memory can be emptied");
    const auto written = ::pwrite(file_.get(), text.data(), text.size(), 0);
    check(written == static_cast<ssize_t>(text.size()), "a file in memory takes what is written");
    return "/proc/self/fd/" + std::to_string(file_.get());
  }

 private:
  FileDescriptor file_;
};

/// The message of the UserError that `action` throws; fails the test if it throws none or several lines.
template <typename Action>
std::string user_error(Action&& action) {
  try {
    action();
  } catch (const UserError& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no UserError";
  return "";
}

/// Shows both texts where `part` is not in `text`.
inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" does not contain \"" << part << '"';
}

}  // namespace octet
