#include "sim/hip/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "core/error.h"

namespace octet::sim::hip {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kPrefix = "CDNA_SIM_";
constexpr std::array<std::string_view, 7> kNames{"ARCH", "MEMORY", "THREADS", "CHECK", "COUNTS", "TRAFFIC", "ERRORS"};

/// The environment's variables of ours, without the prefix.
Variables read_variables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    if (!text.starts_with(kPrefix)) continue;
    text.remove_prefix(kPrefix.size());
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, equals);
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
      throw UserError("{}{} means nothing: use CDNA_SIM_ARCH, _MEMORY, _THREADS, _CHECK, _COUNTS, _TRAFFIC or _ERRORS",
                      kPrefix, name);
    }
    variables.emplace(name, text.substr(std::min(equals + 1, text.size())));
  }
  return variables;
}

std::uint64_t number(const Variables& variables, const char* name, std::uint64_t otherwise, std::uint64_t largest) {
  const auto found = variables.find(name);
  if (found == variables.end()) return otherwise;
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > largest) {
    throw UserError("{}{}={} is not valid: give a number from 1 to {}", kPrefix, name, text, largest);
  }
  return value;
}

bool flag(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second == "0") return false;
  if (found->second != "1") throw UserError("{}{}={} is not valid: give 0 or 1", kPrefix, name, found->second);
  return true;
}

/// A file that can be written; it is there afterwards. One launch after the other is appended to it.
std::optional<std::filesystem::path> file(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  if (!std::ofstream(found->second, std::ios::app)) {
    throw UserError("{}{}={} cannot be written: give a file in a directory that exists", kPrefix, name, found->second);
  }
  return found->second;
}

std::vector<const Processor*> read_processors(std::string_view list) {
  std::vector<const Processor*> processors;
  if (list == "none") return processors;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view name = list.substr(begin, end - begin);
    const Processor* processor = find_processor(name);
    if (processor == nullptr) {
      throw UserError("{}ARCH={}: there is no '{}': give none, or one of {} for each device, with commas between",
                      kPrefix, list, name, processor_names());
    }
    processors.push_back(processor);
    begin = end + 1;
  }
  if (processors.size() > kMostDevices) {
    throw UserError("{}ARCH names {} devices: give at most {}", kPrefix, processors.size(), kMostDevices);
  }
  return processors;
}

}  // namespace

Settings read_settings() {
  constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
  constexpr std::uint64_t kMostThreads = 4096;
  const Variables variables = read_variables();
  Settings settings;
  const auto arch = variables.find("ARCH");
  settings.processors = read_processors(arch == variables.end() ? "gfx942" : arch->second);
  settings.memory_bytes = number(variables, "MEMORY", kGibibyte, 1024 * kGibibyte);
  const std::uint64_t processors = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  settings.threads = static_cast<int>(number(variables, "THREADS", processors, kMostThreads));
  settings.check = flag(variables, "CHECK");
  settings.counts = file(variables, "COUNTS");
  settings.traffic = flag(variables, "TRAFFIC");
  settings.errors = file(variables, "ERRORS");
  if (settings.traffic && !settings.counts) {
    throw UserError("{}TRAFFIC=1 counts into no file: give one as {}COUNTS", kPrefix, kPrefix);
  }
  return settings;
}

}  // namespace octet::sim::hip
