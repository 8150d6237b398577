// A shared library that is looked for when the program runs: the binary starts, and says so, where it is missing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet::gpu {

struct LibrarySearch;

/// Stays loaded as long as the object lives.
class DynamicLibrary {
 public:
  /// The first of `names` that lies in one of `directories`, or that the system's loader finds.
  [[nodiscard]] static LibrarySearch find(std::span<const std::string_view> names,
                                          std::span<const std::string> directories = {});

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  /// The file that was loaded.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Sets `function` to the symbol. Throws UserError, and names library and symbol, where there is none.
  template <typename Function>
  void bind(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(address(symbol));
  }
  /// The system's handle of the library, which from now on stays loaded until the process ends: for code that keeps
  /// addresses of its functions.
  [[nodiscard]] void* keep_loaded() const;

 private:
  DynamicLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  [[nodiscard]] void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string path_;
};

/// What a search for a library came to.
struct LibrarySearch {
  std::optional<DynamicLibrary> library;
  std::string problem;  ///< without a library: that there is none of the first name, or why the file is of no use
};

/// The directories that OCTET_LIBRARY_PATH lists, as far as they are there.
[[nodiscard]] std::vector<std::string> listed_directories();

/// Where PyPI's packages of NVIDIA keep their libraries, below every Python that this user is likely to run, after what
/// OCTET_LIBRARY_PATH lists: nvidia/<package>/lib directories.
[[nodiscard]] std::vector<std::string> library_directories(std::string_view package);

}  // namespace octet::gpu
