#include "data/row_packer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace octet {

RowPacker::RowPacker(std::size_t row_tokens, std::size_t window_tokens, std::int32_t padding,
                     std::function<void(const MarkedTokens&)> close)
    : row_tokens_(row_tokens), window_tokens_(window_tokens), padding_(padding), close_(std::move(close)) {
  check(row_tokens >= 2, "rows have an input and a target");
}

void RowPacker::add(MarkedTokens document) {
  const std::size_t size = document.tokens.size();
  check(size >= 1 && size <= row_tokens_ && size == document.marks.size(), "a document fits into a row");
  document.marks.front() = TokenMark::begins_document | TokenMark::no_target;
  waiting_.push_back(std::move(document));
  waiting_tokens_ += size;
  if (waiting_tokens_ >= window_tokens_) finish();
}

void RowPacker::finish() {
  const auto size_of = [this](std::size_t document) { return waiting_[document].tokens.size(); };
  std::vector<std::size_t> by_size(waiting_.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::stable_sort(by_size, std::greater<>(), size_of);
  std::vector<std::vector<std::size_t>> rows;       // the documents of each
  std::multimap<std::size_t, std::size_t> by_room;  // a row by the room that it has left
  for (const std::size_t document : by_size) {
    const std::size_t size = size_of(document);
    const auto fitting = by_room.lower_bound(size);
    std::size_t row = rows.size();
    std::size_t room = row_tokens_;
    if (fitting != by_room.end()) {
      std::tie(room, row) = *fitting;
      by_room.erase(fitting);
    } else {
      rows.emplace_back();
    }
    rows[row].push_back(document);
    by_room.emplace(room - size, row);
  }
  for (const auto& documents : rows) close(documents);
  waiting_.clear();
  waiting_tokens_ = 0;
}

void RowPacker::close(const std::vector<std::size_t>& documents) {
  MarkedTokens row;
  for (const std::size_t document : documents) {
    const auto& [tokens, marks] = waiting_[document];
    row.tokens.insert(row.tokens.end(), tokens.begin(), tokens.end());
    row.marks.insert(row.marks.end(), marks.begin(), marks.end());
  }
  padded_ += row_tokens_ - row.tokens.size();
  ++rows_;
  row.tokens.resize(row_tokens_, padding_);
  row.marks.resize(row_tokens_, TokenMark::begins_document | TokenMark::no_target);
  close_(row);
}

}  // namespace octet
