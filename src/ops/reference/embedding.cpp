// The embedding is a choice of rows; its gradient gives every row back to where it came from.
#include "ops/reference/embedding.h"

namespace octet::ops::reference {

Vector embedding_forward(std::span<const std::int32_t> tokens, View table, Index dim) {
  Vector out;
  for (const std::int32_t token : tokens) {
    const View chosen = row(table, token, dim);
    out.insert(out.end(), chosen.begin(), chosen.end());
  }
  return out;
}

Vector embedding_backward(std::span<const std::int32_t> tokens, View dy, Index vocab, Index dim) {
  Vector dtable(vocab * dim);
  for (Index t = 0; t < std::ssize(tokens); ++t) add_scaled(row(dtable, tokens[t], dim), 1, row(dy, t, dim));
  return dtable;
}

}  // namespace octet::ops::reference
