// Races in global memory: two workgroups of a launch access a byte, and one of them writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/launch/program.h"
#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim {

/// Octet's kernels hand results from one workgroup to another only through the next launch, so that no access of theirs
/// waits for another workgroup: order by fences and flags within a launch is not looked for. What two workgroups do by
/// atomic updates, or by loads and stores that are coherent for all the GPU (sc1, as atomic ones are), does not race.
/// Which of several races is found does not depend on the number of threads. Takes twelve bytes for each byte that a
/// launch accesses.
class WorkgroupRaces : public AccessListener {
 public:
  /// Both must outlive it.
  WorkgroupRaces(const Program& program, const Memory& memory);

  [[nodiscard]] bool needs_order() const override { return true; }
  void on_launch(const LaunchShape& shape) override;
  void on_workgroup(std::size_t lds_bytes) override;
  void on_access(const Access& access) override;

 private:
  /// What an instruction did in a workgroup. Numbers of these stand in the shadow; 0 is nobody.
  struct Seen {
    std::uint32_t workgroup;
    std::uint32_t instruction;
    AccessKind kind;
    bool coherent;
  };
  /// The first of each kind: as workgroups come in order, another workgroup than the current one is among the writers
  /// or readers of a byte only if the first of them is another.
  struct Byte {
    std::uint32_t writer = 0;  // as plain as any of its workgroup
    std::uint32_t reader = 0;
    std::uint32_t plain_reader = 0;
  };
  static constexpr std::uint64_t kPageBytes = 4096;
  using Page = std::array<Byte, kPageBytes>;

  [[nodiscard]] std::uint32_t number_of(const Access& access);
  [[nodiscard]] Byte& shadow(std::uint64_t address);
  [[nodiscard]] bool conflict(std::uint32_t earlier, const Seen& now) const;
  [[nodiscard]] std::uint32_t find_conflict(const Byte& byte, const Seen& now) const;
  void remember(Byte& byte, std::uint32_t number) const;
  [[noreturn]] void report(const Access& access, std::size_t lane, std::uint64_t address, const Seen& earlier) const;

  const Program& program_;
  const Memory& memory_;
  std::array<std::uint32_t, 3> grid_{};
  std::uint32_t begun_ = 0;  // workgroups of this launch
  std::vector<Seen> seen_;
  std::vector<std::uint32_t> latest_;  // [instructions] the last of seen_
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  Page* recent_ = nullptr;
  std::uint64_t recent_number_ = 0;
};

}  // namespace octet::sim
