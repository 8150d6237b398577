// The simulator in place of AMD's runtime within a test program, which may then call Octet's backend itself.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <string>

#include "cli/environment.h"
#include "core/error.h"

namespace octet::test {

/// Loads the simulator's libamdhip64 with these settings, CDNA_SIM_..., which it reads once. Whoever looks for the
/// library by its name from now on is given this one, as it is loaded already.
inline void load_simulator(Environment& environment, const std::map<std::string, std::string>& settings) {
  for (const auto& [name, value] : settings) environment.set(("CDNA_SIM_" + name).c_str(), value);
  const auto library = std::filesystem::path(OCTET_SIM_HIP) / "libamdhip64.so.7";
  check(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr, "the simulator's library loads");
}

}  // namespace octet::test
