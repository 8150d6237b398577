// The communicators that one rank's training uses, made of the world's.
#pragma once

#include <memory>

#include "parallel/communicator.h"
#include "parallel/mesh.h"

namespace octet::parallel {

/// A collective call of all ranks of `world`, which outlives the groups. Every factor of `shape` is known, and their
/// product is the world's size.
struct Groups {
  Groups(Communicator& all, const MeshShape& shape)
      : place{shape, all.rank()},
        world(&all),
        shard(all.split(static_cast<int>(place.shard_color()))),
        replicate(all.split(static_cast<int>(place.replicate_color()))),
        expert(all.split(static_cast<int>(place.expert_color()))),
        expert_shard(all.split(static_cast<int>(place.expert_shard_color()))) {}

  MeshPlace place;
  Communicator* world;
  std::unique_ptr<Communicator> shard;         ///< who hold a replica's dense slabs together
  std::unique_ptr<Communicator> replicate;     ///< who hold the same shard of dense slabs
  std::unique_ptr<Communicator> expert;        ///< who hold a replica's experts together, one part each
  std::unique_ptr<Communicator> expert_shard;  ///< who hold the same experts of a replica together, one shard each
};

}  // namespace octet::parallel
