#include "model/llama_decoder.h"

#include "ops/host_access.h"

namespace octet {

void LlamaDecoder::allocate(Memory& memory) {
  restart();  // a dry run has counted its steps
  caches_.clear();
  for (const LlamaBlock& block : model_.blocks()) caches_.push_back(block.allocate_cache(memory, capacity_));
  token_ = memory.allocate("token", DType::i32, 1, 1, MemoryClass::activations);
  logits_ = memory.allocate("logits", DType::bf16, 1, model_.config().vocab, MemoryClass::activations);
}

std::span<const bf16> LlamaDecoder::step(ops::Executor& run, std::int32_t token) {
  check(length_ < capacity_, "a decoder is fed no more tokens than its cache holds");
  ops::Device& device = run.backend().device();
  if (!run.memory().planning()) ops::write_value(device, token_.ptr<std::int32_t>(), token);
  model_.decode(run, token_.ptr<std::int32_t>(), length_++, caches_, logits_.tensor());
  host_logits_.resize(static_cast<std::size_t>(model_.config().vocab));
  if (!run.memory().planning()) device.download(host_logits_.data(), logits_.tensor().raw(), logits_.tensor().bytes());
  return host_logits_;
}

}  // namespace octet
