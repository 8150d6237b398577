// Mesh: how the ranks of a job are laid out, and which of them exchange what.
//
// World rank = replica * shard + place. Ranks of a replica hold a shard of every dense slab each. `expert` consecutive
// places of a replica share its experts out between them, E / expert to each; the shard / expert groups that do so
// hold a shard each of the experts that they have in common.
#pragma once

#include <cstdint>

namespace octet::parallel {

/// Factors of the world's size; -1, in one of `replicate` and `shard`, takes what the others leave. `expert` divides
/// `shard`.
struct MeshShape {
  std::int64_t replicate = 1;
  std::int64_t shard = 1;
  std::int64_t expert = 1;
  bool operator==(const MeshShape&) const = default;
};

/// One rank's place in a shape whose factors are all known.
struct MeshPlace {
  MeshShape shape;
  std::int64_t rank = 0;  ///< in the world

  [[nodiscard]] std::int64_t replica() const { return rank / shape.shard; }
  [[nodiscard]] std::int64_t shard() const { return rank % shape.shard; }             ///< of dense slabs
  [[nodiscard]] std::int64_t expert_group() const { return shard() % shape.expert; }  ///< which experts it holds
  [[nodiscard]] std::int64_t expert_shard() const { return shard() / shape.expert; }  ///< which shard of them

  // Colors for Communicator::split: ranks of one color form a group.
  [[nodiscard]] std::int64_t shard_color() const { return replica(); }
  [[nodiscard]] std::int64_t replicate_color() const { return shard(); }
  [[nodiscard]] std::int64_t expert_color() const { return replica() * (shape.shard / shape.expert) + expert_shard(); }
  [[nodiscard]] std::int64_t expert_shard_color() const { return replica() * shape.expert + expert_group(); }
};

}  // namespace octet::parallel
