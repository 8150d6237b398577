#include "gpu/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/error.h"

namespace octet::gpu {
namespace {

namespace fs = std::filesystem;

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name == nullptr || *map->l_name == '\0') return name;
  return map->l_name;
}

/// A loaded library, or in `refusal`, the first time that there is one, what the loader has against a file that is
/// there.
void* open(const std::string& name, std::string& refusal) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr || !refusal.empty()) return handle;
  const std::string message = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one for each thread
  if (!message.starts_with(name + ": cannot open shared object file")) refusal = message;
  return nullptr;
}

void add_if_there(std::vector<std::string>& directories, const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) directories.push_back(path.string());
}

/// <prefix>/lib/python3.X/{site,dist}-packages, whatever X is there.
void add_python(std::vector<std::string>& directories, const fs::path& prefix, std::string_view package) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", none)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      add_if_there(directories, entry.path() / packages / "nvidia" / package / "lib");
      add_if_there(directories, entry.path() / packages / "nvidia" / "cu13" / "lib");
    }
  }
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

}  // namespace

LibrarySearch DynamicLibrary::find(std::span<const std::string_view> names, std::span<const std::string> directories) {
  std::string refusal;
  for (const std::string_view name : names) {
    for (const std::string& directory : directories) {
      const std::string path = (fs::path(directory) / name).string();
      if (void* handle = open(path, refusal)) return {DynamicLibrary(handle, path_of(handle, path)), ""};
    }
    const std::string plain(name);
    if (void* handle = open(plain, refusal)) return {DynamicLibrary(handle, path_of(handle, plain)), ""};
  }
  if (refusal.empty()) return {std::nullopt, fmt::format("there is no {}", names.front())};
  return {std::nullopt, fmt::format("{} cannot be loaded ({})", names.front(), refusal)};
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* DynamicLibrary::address(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr)
    throw UserError("{} has no {}: it is too old or damaged, install a newer version of it", path_, symbol);
  return found;
}

void* DynamicLibrary::keep_loaded() const {
  void* handle = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  check(handle != nullptr, "a loaded library can be opened again");
  return handle;
}

std::vector<std::string> listed_directories() {
  std::vector<std::string> directories;
  const std::string listed = environment("OCTET_LIBRARY_PATH");
  for (std::size_t begin = 0; begin < listed.size();) {
    const std::size_t end = std::min(listed.find(':', begin), listed.size());
    add_if_there(directories, listed.substr(begin, end - begin));
    begin = end + 1;
  }
  return directories;
}

std::vector<std::string> library_directories(std::string_view package) {
  std::vector<std::string> directories = listed_directories();
  if (const std::string active = environment("VIRTUAL_ENV"); !active.empty()) {
    add_python(directories, active, package);
  }
  if (const std::string home = environment("HOME"); !home.empty()) add_python(directories, home + "/.local", package);
  for (const char* prefix : {"/usr/local", "/usr"}) add_python(directories, prefix, package);
  return directories;
}

}  // namespace octet::gpu
