// A vendor's library as octet info shows it.
#pragma once

#include <string>

namespace octet::gpu {

/// Of what was compiled against our own declarations alone, and never met the real library on a GPU.
inline constexpr const char* kNotRunOnHardware = "not run on hardware";

struct VendorLibrary {
  std::string name;       ///< "cuBLASLt"
  std::string version;    ///< "13.1.0"; empty where there is none of use
  std::string path;       ///< the file that was loaded
  std::string problem;    ///< one line with the package that mends it, where the library is missing or of no use
  std::string note = {};  ///< what a user should know of our use of it: "not run on hardware"
};

}  // namespace octet::gpu
