// Hardware that Octet has run on. Whatever is not listed here is compiled, and simulated at best: every run says so.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

namespace octet::ops {

struct VerifiedHardware {
  std::string_view backend;  ///< as Backend::name() has it
  std::string_view arch;     ///< as Device::arch() has it
  std::string_view on;       ///< what the self-test and whole training runs have passed on
};

/// A pair comes in with the log of both on such a device.
inline constexpr std::array<VerifiedHardware, 2> kVerifiedHardware{{
    {"cpu", "", "every machine that runs Octet's tests"},
    {"cuda", "sm_90", "NVIDIA H200"},
}};

/// On what a backend's architecture was verified; empty where it never was.
[[nodiscard]] constexpr std::string_view verified_on(std::string_view backend, std::string_view arch) {
  for (const VerifiedHardware& verified : kVerifiedHardware) {
    if (verified.backend == backend && verified.arch == arch) return verified.on;
  }
  return {};
}

/// What the owner of a device that never was shall do first; empty where it was. `device` is as runtime.device has it:
/// "hip:1".
[[nodiscard]] inline std::string unverified_notice(std::string_view backend, std::string_view arch,
                                                   std::string_view device) {
  if (!verified_on(backend, arch).empty()) return {};
  return fmt::format("{} {} is not verified on hardware: run octet selftest --device {} first{}", backend, arch, device,
                     backend == "hip" ? "; see docs/amd.md" : "");
}

}  // namespace octet::ops
