// Graphs: work with its order, built node by node or captured from streams; and graphs that can be launched.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "sim/hip/abi.h"
#include "sim/hip/work.h"

struct hipGraphNode {
  octet::sim::hip::Work work;
  std::vector<hipGraphNode_t> dependencies;  // of the same graph
};

struct ihipGraph {
  std::vector<std::unique_ptr<hipGraphNode>> nodes;  // in the order in which they were added
};

namespace octet::sim::hip {

[[nodiscard]] bool holds(const ihipGraph& graph, const hipGraphNode* node);

/// HipError when a dependency is none of the graph's nodes.
hipGraphNode_t add_node(ihipGraph& graph, Work work, std::span<const hipGraphNode_t> dependencies);

/// `to` runs after `from`. HipError when it did already, or one of them is none of the graph's nodes.
void add_dependency(ihipGraph& graph, hipGraphNode_t from, hipGraphNode_t to);

/// The nodes that no other depends on.
[[nodiscard]] std::vector<const hipGraphNode*> leaves(const ihipGraph& graph);

[[nodiscard]] hipGraphNodeType type_of(const hipGraphNode& node);

/// A node at its turn.
struct Step {
  const hipGraphNode* node;  ///< a name for it; it may not exist any more
  Work work;
  std::vector<std::size_t> dependencies;  ///< numbers of earlier steps
};
using Steps = std::vector<Step>;

/// The graph in an order that keeps dependencies and is otherwise that in which nodes were added. HipError when there
/// is none, as dependencies go round in a circle.
[[nodiscard]] Steps steps_of(const ihipGraph& graph);

/// What keeps `next` from replacing `steps`: only what a node of the same type does may differ.
[[nodiscard]] hipGraphExecUpdateResult compare(const Steps& steps, const Steps& next);

}  // namespace octet::sim::hip

struct hipGraphExec {
  std::shared_ptr<const octet::sim::hip::Steps> steps;  // replaced whole: a launch may be under way
};
