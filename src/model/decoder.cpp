#include "model/decoder.h"

namespace octet {

void Decoder::allocate(Memory& memory) {
  length_ = 0;  // a dry run has counted its tokens
  caches_ = model_.allocate_caches(memory, capacity_);
  tokens_ = memory.allocate("tokens", DType::i32, 1, capacity_, MemoryClass::activations);
  logits_ = memory.allocate("logits", DType::bf16, 1, model_.vocab(), MemoryClass::activations);
}

std::span<const bf16> Decoder::prefill(ops::Executor& run, std::span<const std::int32_t> tokens) {
  length_ = 0;
  return feed(run, tokens);
}

std::span<const bf16> Decoder::step(ops::Executor& run, std::int32_t token) {
  return feed(run, {&token, 1});
}

std::span<const bf16> Decoder::feed(ops::Executor& run, std::span<const std::int32_t> tokens) {
  const std::int64_t count = std::ssize(tokens);
  check(count >= 1 && length_ + count <= capacity_, "a decoder is fed no more tokens than its cache holds");
  ops::Device& device = run.backend().device();
  const bool planning = run.memory().planning();
  if (!planning) device.upload(tokens_.tensor().raw(), tokens.data(), tokens.size_bytes());
  model_.decode(run, tokens_.ptr<std::int32_t>(), count, length_, caches_, logits_.tensor());
  length_ += count;
  host_logits_.resize(static_cast<std::size_t>(model_.vocab()));
  if (!planning) device.download(host_logits_.data(), logits_.tensor().raw(), logits_.tensor().bytes());
  return host_logits_;
}

}  // namespace octet
