// What a run says about where it ran: processor, memory, this binary, the libraries in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace octet {

struct MachineFacts {
  std::string cpu;  ///< model name as the system gives it
  std::int64_t cores = 0;
  std::string isa;
  std::int64_t memory_bytes = 0;
};

[[nodiscard]] MachineFacts machine_facts();
/// Name to version of what Octet was built with or found at run time.
[[nodiscard]] std::map<std::string, std::string> library_versions();
/// XXH3 of the running executable, hexadecimal.
[[nodiscard]] std::string binary_hash();
/// Resident set size of this process in bytes.
[[nodiscard]] std::int64_t resident_bytes();
/// Memory of the host that programs can take without swapping, as the system estimates it; nothing where it does not.
[[nodiscard]] std::optional<std::size_t> available_host_bytes();
/// Now, in UTC: "2026-11-30T12:00:00Z".
[[nodiscard]] std::string iso_time();

}  // namespace octet
