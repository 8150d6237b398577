// Decoding one token at a time against the training forward: the same logits at every position.
#include <gtest/gtest.h>

#include <limits>

#include "model/agreement.h"
#include "model/faulty_backend.h"
#include "model/llama_decoder.h"

namespace octet::test {
namespace {

using ops::reference::LlamaBatch;
using ops::reference::Parameters;
using ops::reference::Vector;
using ops::reference::View;

/// The logits [tokens, V] of a decoder that reads `tokens`.
Vector decoded_logits(const LlamaConfig& config, const Parameters& weights, const std::vector<std::int32_t>& tokens,
                      const PrecisionOptions& precision, const ops::Backend& backend) {
  const auto capacity = std::ssize(tokens);
  Memory planning;
  std::unique_ptr<Memory> memory;
  Llama model(config, 1, capacity, precision, WeightCodes::cached);
  {
    LlamaDecoder planned(model, capacity);
    model.allocate(planning, SlabUse::inference);
    planned.allocate(planning);
    ops::Executor plan(backend, planning);
    const ProgramScope program(planning, "decode");
    (void)planned.step(plan, 0);
  }
  {
    ops::Executor plan(backend, planning);
    const ProgramScope program(planning, "cast_weights");
    model.cast_weights(plan);
  }
}

}  // namespace
}  // namespace octet::test
