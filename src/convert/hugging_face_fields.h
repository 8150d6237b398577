// The fields of config.json that are one key of Octet's configuration each, and what transformers takes where they are
// missing. Reading and writing walk the same tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "convert/families.h"

namespace octet {

struct IntegerField {
  std::string_view name;      ///< in config.json
  std::string_view key;       ///< of Octet
  std::int64_t fallback = 0;  ///< where it is missing
  std::string_view alias{};   ///< a second name that transformers writes
};

/// What a family has, and defaults that differ from family to family.
struct FamilyFields {
  std::span<const IntegerField> integers;
  std::int64_t kv_heads;  ///< where num_key_value_heads is missing; 0: as many as query heads
  std::int64_t head_dim;  ///< where head_dim is missing; 0: hidden_size / num_attention_heads
  std::int64_t context;   ///< where max_position_embeddings is missing
  bool normalised;        ///< where norm_topk_prob is missing
};

[[nodiscard]] FamilyFields fields_of(const ConvertedFamily& family);

/// A field that must say what Octet computes, wherever it stands in the file.
enum class Constant { no, yes, zero, one, silu, sigmoid, noaux_tc };
struct ConstantField {
  std::string_view name;
  Constant value;
  std::string_view what;  ///< that Octet lacks
};

[[nodiscard]] std::span<const ConstantField> constant_fields();

}  // namespace octet
