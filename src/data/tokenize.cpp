// Tokenizes text files piece by piece, so that memory stays small whatever their size.
#include "data/tokenize.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "data/shard_writer.h"
#include "data/text_boundary.h"
#include "io/files.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

/// Writing an output that is an input would replace the user's text by its tokens.
void check_outputs(std::span<const fs::path> inputs, const fs::path& train, const fs::path& validation) {
  const auto same = [](const fs::path& a, const fs::path& b) {
    std::error_code absent;  // a file that does not exist yet is no other file
    return fs::weakly_canonical(a, absent) == fs::weakly_canonical(b, absent) || fs::equivalent(a, b, absent);
  };
  if (same(train, validation)) {
    throw UserError("{}: is both the training and the validation output: name two files", train.string());
  }
  for (const fs::path& input : inputs) {
    if (same(input, train) || same(input, validation)) {
      throw UserError("{}: is both an input and an output: name another output", input.string());
    }
  }
}

std::vector<MappedFile> open_inputs(std::span<const fs::path> inputs) {
  if (inputs.empty()) throw UserError("no text to tokenize: name at least one file");
  std::vector<MappedFile> files;
  for (const fs::path& input : inputs) {
    files.emplace_back(input);
    if (files.back().bytes().empty()) throw UserError("{}: the text is empty: leave it out", input.string());
  }
  return files;
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::uint64_t total_bytes(std::span<const MappedFile> files) {
  std::uint64_t total = 0;
  for (const MappedFile& file : files) total += file.bytes().size();
  return total;
}

/// The position of the first held-out byte in all texts taken together.
std::uint64_t first_held_out(std::span<const MappedFile> files, double fraction) {
  const std::uint64_t total = total_bytes(files);
  const auto target = total - static_cast<std::uint64_t>(std::llround(static_cast<double>(total) * fraction));
  std::uint64_t begin = 0;
  for (const MappedFile& file : files) {
    const std::string_view text = text_of(file);
    if (target <= begin) return begin;
    if (target < begin + text.size()) return begin + text_boundary(text, target - begin);
    begin += text.size();
  }
  return total;
}

class Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, std::uint64_t total, const TokenizeProgress& progress)
      : tokenizer_(tokenizer), total_(total), progress_(progress) {}

  /// `ends_document`: the text goes to the end of a file, each of which is a document.
  void encode(std::string_view text, bool ends_document, ShardWriter& out) {
    while (!text.empty()) {
      const std::size_t size = text_boundary(text, std::min(text.size(), kPieceBytes));
      tokens_.clear();
      tokenizer_.encode(text.substr(0, size), tokens_);
      text.remove_prefix(size);
      const auto end = tokenizer_.end_of_document();
      if (text.empty() && ends_document && end) tokens_.push_back(*end);
      out.append(tokens_);
      done_ += size;
      if (progress_) progress_(done_, total_);
    }
  }

 private:
  const Tokenizer& tokenizer_;
  std::uint64_t total_;
  const TokenizeProgress& progress_;
  std::uint64_t done_ = 0;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

TokenizeResult tokenize_text_files(const Tokenizer& tokenizer, std::span<const fs::path> inputs, const fs::path& train,
                                   const fs::path& validation, double validation_fraction,
                                   const TokenizeProgress& progress) {
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {  // written so that NaN is refused
    throw UserError("validation_fraction {}: must be at least 0 and below 1", validation_fraction);
  }
  check_outputs(inputs, train, validation);
  const std::vector<MappedFile> files = open_inputs(inputs);
  const std::uint64_t total = total_bytes(files);
  const std::uint64_t cut = first_held_out(files, validation_fraction);
  const bool holds_out = validation_fraction > 0;
  if (cut == 0 || (holds_out && cut == total)) {
    throw UserError("validation_fraction {}: leaves the {} part of {} bytes of text empty: choose another fraction",
                    validation_fraction, cut == 0 ? "training" : "validation", total);
  }

  Encoder encoder(tokenizer, total, progress);
  const auto encode_range = [&](std::uint64_t from, std::uint64_t to, const fs::path& path) {
    ShardWriter out(path, tokenizer.vocab_size(), {tokenizer.fingerprint(), tokenizer.end_of_document()});
    std::uint64_t begin = 0;
    for (const MappedFile& file : files) {
      const std::string_view text = text_of(file);
      const std::uint64_t first = std::clamp(from, begin, begin + text.size()) - begin;
      const std::uint64_t last = std::clamp(to, begin, begin + text.size()) - begin;
      encoder.encode(text.substr(first, last - first), last == text.size(), out);
      begin += text.size();
    }
    out.finish();
    return out.token_count();
  };
  TokenizeResult result;
  result.train_tokens = encode_range(0, cut, train);
  if (holds_out) result.validation_tokens = encode_range(cut, total, validation);
  return result;
}

}  // namespace octet
