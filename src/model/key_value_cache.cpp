#include "model/key_value_cache.h"

namespace octet {

KeyValueCache::KeyValueCache(Memory& memory, const std::string& name, std::int64_t capacity,
                             const ops::AttentionShape& heads, float scale)
    : name_(name),
      heads_(heads),
      scale_(scale),
      k_(memory.allocate(name + ".cache_k", DType::bf16, capacity, heads.kv_heads * heads.head_dim,
                         MemoryClass::activations)),
      v_(memory.allocate(name + ".cache_v", DType::bf16, capacity, heads.kv_heads * heads.value_dim,
                         MemoryClass::activations)) {}

void KeyValueCache::attend(ops::Executor& run, const Tensor& qkv, std::int64_t position, const Tensor& out) const {
  const std::int64_t tokens = qkv.rows();
  check(tokens == 1 || position == 0, "several tokens are read at once at the start of a sequence only");
  check(position + tokens <= capacity(), "a cache is given no more tokens than it holds");
  run(ops::AppendToCache{.qkv = qkv.ptr<bf16>(),
                         .cache_k = k_.ptr<bf16>(),
                         .cache_v = v_.ptr<bf16>(),
                         .batch = 1,
                         .position = position,
                         .capacity = capacity(),
                         .heads = heads_.heads,
                         .kv_heads = heads_.kv_heads,
                         .head_dim = heads_.head_dim,
                         .value_dim = heads_.value_dim,
                         .seq_len = tokens});
  if (tokens == 1) {
    run(ops::AttentionDecode{.qkv = qkv.ptr<bf16>(),
                             .cache_k = k_.ptr<bf16>(),
                             .cache_v = v_.ptr<bf16>(),
                             .out = out.ptr<bf16>(),
                             .batch = 1,
                             .length = position + 1,
                             .capacity = capacity(),
                             .heads = heads_.heads,
                             .kv_heads = heads_.kv_heads,
                             .head_dim = heads_.head_dim,
                             .scale = scale_,
                             .value_dim = heads_.value_dim});
    return;
  }
  const Buffer lse =
      run.memory().allocate(name_ + ".lse", DType::f32, 1, heads_.heads * tokens, MemoryClass::activations);
  ops::AttentionShape shape = heads_;
  shape.batch = 1;
  shape.seq_len = tokens;
  run(ops::AttentionForward{.qkv = qkv.ptr<bf16>(),
                            .out = out.ptr<bf16>(),
                            .lse = lse.ptr<float>(),
                            .shape = shape,
                            .scale = scale_,
                            .documents = {}});
}

}  // namespace octet
