// Runs a single op with the workspace that it asks for.
#pragma once

#include <vector>

#include "ops/backend.h"

namespace octet::test {

template <typename Op>
void run_one(const ops::Backend& backend, const Op& op) {
  const auto workspace = backend.device().allocator()(backend.workspace_bytes(op) + Memory::kAlignment);
  backend.run(op, {workspace.get(), backend.workspace_bytes(op)});
  backend.device().finish();
}

}  // namespace octet::test
