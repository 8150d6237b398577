// Communicator: ranks that exchange memory of their devices. What carries it, MPI, NCCL or RCCL, stands behind this.
//
// Every rank of a communicator makes the same calls in the same order. A call returns at once: what it reads must have
// been put on the device before, and from then on until `wait` with its ticket neither its input may change nor its
// output be read. Calls of one communicator are carried out in their order, beside the ops. There is no call that
// adds numbers: sums and maxima over ranks are ops on what was exchanged (collectives.h), so that their order, and
// with it every bit, is ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace octet::parallel {

/// A call that was made.
struct Ticket {
  std::uint64_t number = 0;
};

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  /// One line for people: "4 ranks, Open MPI 4.1.4".
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // `what` names the data for whoever asks what a rank waits for: "layers.4.feed_forward, weight codes".

  /// Rank r's `bytes[r]` bytes of `mine` to every rank: `all` holds them one after the other in the order of ranks.
  /// `mine` may be its own place in `all`.
  [[nodiscard]] virtual Ticket all_gather(std::string_view what, const void* mine, void* all,
                                          std::span<const std::size_t> bytes) = 0;
  /// `send` holds send_bytes[r] bytes for rank r, one rank after the other; `receive` gets receive_bytes[r] of it.
  [[nodiscard]] virtual Ticket all_to_all(std::string_view what, const void* send,
                                          std::span<const std::size_t> send_bytes, void* receive,
                                          std::span<const std::size_t> receive_bytes) = 0;
  /// Ops that are run from here on see what the call brought, and may change what it read.
  virtual void wait(Ticket ticket) = 0;

  // Of host memory, for what ranks agree on; they return when it is there.

  /// `mine` of every rank, in the order of ranks: `all` is size() times as long.
  virtual void all_gather_on_host(std::string_view what, std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// Returns when every rank has come.
  virtual void barrier(std::string_view what) = 0;

  /// The ranks that give the same `color`, in the order of their ranks here, as a communicator of their own. A
  /// collective call.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split(int color) = 0;
};

}  // namespace octet::parallel
