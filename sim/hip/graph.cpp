#include "sim/hip/graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "sim/hip/errors.h"

namespace octet::sim::hip {

bool holds(const ihipGraph& graph, const hipGraphNode* node) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const auto& candidate) { return candidate.get() == node; });
}

hipGraphNode_t add_node(ihipGraph& graph, Work work, std::span<const hipGraphNode_t> dependencies) {
  const std::set<hipGraphNode_t> distinct(dependencies.begin(), dependencies.end());
  require(distinct.size() == dependencies.size(), hipErrorInvalidValue);
  for (const hipGraphNode* dependency : distinct) require(holds(graph, dependency), hipErrorInvalidValue);
  graph.nodes.push_back(
      std::make_unique<hipGraphNode>(hipGraphNode{std::move(work), {dependencies.begin(), dependencies.end()}}));
  return graph.nodes.back().get();
}

void add_dependency(ihipGraph& graph, hipGraphNode_t from, hipGraphNode_t to) {
  require(from != to && holds(graph, from) && holds(graph, to), hipErrorInvalidValue);
  const bool known = std::find(to->dependencies.begin(), to->dependencies.end(), from) != to->dependencies.end();
  require(!known, hipErrorInvalidValue);
  to->dependencies.push_back(from);
}

std::vector<const hipGraphNode*> leaves(const ihipGraph& graph) {
  std::set<const hipGraphNode*> waited_for;
  for (const auto& node : graph.nodes) waited_for.insert(node->dependencies.begin(), node->dependencies.end());
  std::vector<const hipGraphNode*> result;
  for (const auto& node : graph.nodes) {
    if (!waited_for.contains(node.get())) result.push_back(node.get());
  }
  return result;
}

hipGraphNodeType type_of(const hipGraphNode& node) {
  constexpr std::array kTypes{hipGraphNodeTypeKernel, hipGraphNodeTypeMemcpy, hipGraphNodeTypeMemset,
                              hipGraphNodeTypeHost, hipGraphNodeTypeEmpty};
  static_assert(kTypes.size() == std::variant_size_v<Work>);
  return kTypes[node.work.index()];
}

Steps steps_of(const ihipGraph& graph) {
  std::map<const hipGraphNode*, std::size_t> added;  // the number of each node
  for (const auto& node : graph.nodes) added.emplace(node.get(), added.size());
  std::vector<std::vector<std::size_t>> dependents(graph.nodes.size());
  std::vector<std::size_t> missing(graph.nodes.size());
  std::set<std::size_t> ready;
  for (std::size_t number = 0; number < graph.nodes.size(); ++number) {
    missing[number] = graph.nodes[number]->dependencies.size();
    for (const hipGraphNode* dependency : graph.nodes[number]->dependencies) {
      dependents[added.at(dependency)].push_back(number);
    }
    if (missing[number] == 0) ready.insert(number);
  }
  Steps steps;
  std::map<const hipGraphNode*, std::size_t> turn;
  while (!ready.empty()) {
    const std::size_t number = *ready.begin();
    ready.erase(ready.begin());
    const hipGraphNode& node = *graph.nodes[number];
    Step step{&node, node.work, {}};
    for (const hipGraphNode* dependency : node.dependencies) step.dependencies.push_back(turn.at(dependency));
    turn.emplace(&node, steps.size());
    steps.push_back(std::move(step));
    for (const std::size_t dependent : dependents[number]) {
      if (--missing[dependent] == 0) ready.insert(dependent);
    }
  }
  require(steps.size() == graph.nodes.size(), hipErrorInvalidValue);
  return steps;
}

hipGraphExecUpdateResult compare(const Steps& steps, const Steps& next) {
  if (steps.size() != next.size()) return hipGraphExecUpdateErrorTopologyChanged;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].dependencies != next[i].dependencies) return hipGraphExecUpdateErrorTopologyChanged;
    if (steps[i].work.index() != next[i].work.index()) return hipGraphExecUpdateErrorNodeTypeChanged;
  }
  return hipGraphExecUpdateSuccess;
}

}  // namespace octet::sim::hip
