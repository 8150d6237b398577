// Packs whole documents into rows of one length: best fit, the longest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/shard_format.h"

namespace octet {

/// Tokens with a mark each.
struct MarkedTokens {
  std::vector<std::int32_t> tokens;
  std::vector<TokenMark> marks;
};

/// Documents are packed some million tokens at a time, so that memory is bounded: from the longest to the shortest,
/// each into the row in which it leaves the least room, or into a row of its own where it fits nowhere (best-fit
/// decreasing, which takes at most 11/9 of the fewest rows possible and one more: D. S. Johnson, 1973). What is left at
/// a row's end is filled with documents of one token that is no target.
class RowPacker {
 public:
  /// `close` gets each row, `row_tokens` long. `padding` is the token that fills rows; documents are packed when they
  /// have `window_tokens` tokens together.
  RowPacker(std::size_t row_tokens, std::size_t window_tokens, std::int32_t padding,
            std::function<void(const MarkedTokens&)> close);

  /// Adds a document of 1 to `row_tokens` tokens. Its first token is marked as the beginning and as no target, since
  /// what comes before it in the row is of another document.
  void add(MarkedTokens document);
  /// Packs what is waiting.
  void finish();

  [[nodiscard]] std::uint64_t rows() const { return rows_; }      ///< closed
  [[nodiscard]] std::uint64_t padded() const { return padded_; }  ///< tokens of padding in them

 private:
  void close(const std::vector<std::size_t>& documents);

  std::size_t row_tokens_;
  std::size_t window_tokens_;
  std::int32_t padding_;
  std::function<void(const MarkedTokens&)> close_;
  std::vector<MarkedTokens> waiting_;
  std::size_t waiting_tokens_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t padded_ = 0;
};

}  // namespace octet
