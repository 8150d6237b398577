// Graph: a sequence of work that a device has captured, to be started again with a single call.
#pragma once

#include <cstdint>

namespace octet {

/// Reads and writes the addresses, and has the sizes and other arguments, that the work was captured with. Goes before
/// its device; may go while it is being run.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  virtual ~Graph() = default;

  /// Kernels, copies and clears that one replay starts.
  [[nodiscard]] virtual std::int64_t launches() const = 0;
};

}  // namespace octet
