#include "train/loader_record.h"

namespace octet {
namespace {

LoaderState read_source(const nlohmann::json& described) {
  return {described.at("epoch").get<std::uint64_t>(), described.at("next").get<std::uint64_t>()};
}

}  // namespace

nlohmann::json describe_position(const MixState& state) {
  if (state.sources.size() == 1 && state.sources.front().rule.empty()) {
    const LoaderState& position = state.sources.front().position;
    return {{"epoch", position.epoch}, {"next", position.next}};
  }
  nlohmann::json sources = nlohmann::json::array();
  for (const MixState::Source& source : state.sources) {
    sources.push_back({{"rule", source.rule}, {"epoch", source.position.epoch}, {"next", source.position.next}});
  }
  return {{"sources", sources}};
}

MixState read_position(const nlohmann::json& described) {
  if (!described.contains("sources")) return {{{.rule = {}, .position = read_source(described)}}};
  MixState state;
  for (const nlohmann::json& source : described.at("sources")) {
    state.sources.push_back({source.at("rule").get<std::string>(), read_source(source)});
  }
  return state;
}

}  // namespace octet
