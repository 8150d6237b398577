// Text files to token shards, with a held-out tail for validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "data/tokenizer.h"

namespace octet {

struct TokenizeResult {
  std::uint64_t train_tokens = 0;
  std::uint64_t validation_tokens = 0;
};

/// Told after each piece of text: bytes done, and bytes in all inputs together.
using TokenizeProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the tokens of `inputs`, in the order given, to `train`, and those of the last `validation_fraction` of the
/// bytes to `validation`. The cut is moved back to the end of a paragraph, else of a line (text_boundary.h): the split
/// is the same at every call. A fraction of 0 holds nothing out and leaves `validation` alone.
/// Throws UserError for a missing or empty input, a fraction outside [0, 1), a split with an empty side, an output that
/// is also an input or the other output, and a disk that refuses.
TokenizeResult tokenize_text_files(const Tokenizer& tokenizer, std::span<const std::filesystem::path> inputs,
                                   const std::filesystem::path& train, const std::filesystem::path& validation,
                                   double validation_fraction, const TokenizeProgress& progress = {});

}  // namespace octet
