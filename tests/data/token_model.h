// Random documents as plain arrays and as shards: what a loader must hand out can be said without one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "data/shard.h"
#include "data/shard_writer.h"

namespace octet::test {

inline constexpr std::int32_t kEnd = 0;  // the token that ends each document, where there is one
inline constexpr std::uint64_t kModelVocab = 60;

struct ModelToken {
  std::int32_t id = 0;
  bool begins_document = false;
  bool is_target = true;
};

enum class Documents : std::uint8_t { unknown, ended, marked };

/// `count` tokens in documents of 1 to `longest` tokens. Those of a marked shard may lack any end, and some of their
/// tokens are no targets.
inline std::vector<ModelToken> random_documents(std::mt19937_64& random, std::size_t count, std::size_t longest,
                                                Documents documents) {
  std::vector<ModelToken> tokens(count);
  std::size_t left = 0;  // of the document
  for (ModelToken& token : tokens) {
    token.begins_document = left == 0;
    if (left == 0) left = 1 + random() % longest;
    --left;
    token.id = static_cast<std::int32_t>(1 + random() % (kModelVocab - 1));
    if (documents == Documents::ended && left == 0) token.id = kEnd;
    if (documents == Documents::marked) token.is_target = random() % 3 != 0;
  }
  return tokens;
}

inline void write_model(const std::filesystem::path& path, const std::vector<ModelToken>& tokens, Documents documents,
                        std::uint32_t row_tokens = 0) {
  std::vector<std::int32_t> ids;
  std::vector<TokenMark> marks;
  for (const ModelToken& token : tokens) {
    ids.push_back(token.id);
    marks.push_back((token.begins_document ? TokenMark::begins_document : TokenMark::none) |
                    (token.is_target ? TokenMark::none : TokenMark::no_target));
  }
  const bool marked = documents == Documents::marked;
  ShardOrigin origin{.tokenizer = 1, .document_end = {}};
  if (documents == Documents::ended) origin.document_end = kEnd;
  ShardWriter writer(path, kModelVocab, origin, {.marked = marked, .row_tokens = row_tokens});
  marked ? writer.append(ids, marks) : writer.append(ids);
  writer.finish();
}

struct ModelRow {
  std::vector<std::int32_t> inputs, targets, document_start;
  bool operator==(const ModelRow&) const = default;
};

/// The window of seq_len + 1 tokens that begins at `first`.
inline ModelRow model_row(const std::vector<ModelToken>& tokens, std::size_t first, std::size_t seq_len) {
  ModelRow row;
  for (std::size_t t = 0; t < seq_len; ++t) {
    row.inputs.push_back(tokens[first + t].id);
    row.targets.push_back(tokens[first + t + 1].is_target ? tokens[first + t + 1].id : -1);
    std::size_t begin = t;
    while (begin > 0 && !tokens[first + begin].begins_document) --begin;
    row.document_start.push_back(static_cast<std::int32_t>(begin));
  }
  return row;
}

/// All windows of some shards, as a list of their tokens, in order.
inline std::vector<ModelRow> model_rows(const std::vector<std::vector<ModelToken>>& shards, std::size_t seq_len) {
  std::vector<ModelRow> rows;
  for (const auto& tokens : shards) {
    for (std::size_t at = 0; at + seq_len + 1 <= tokens.size(); at += seq_len + 1) {
      rows.push_back(model_row(tokens, at, seq_len));
    }
  }
  return rows;
}

}  // namespace octet::test
