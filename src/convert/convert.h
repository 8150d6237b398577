// Conversion of whole models, either way: planned first, then written tensor by tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convert/model_source.h"

namespace octet {

/// The dtype of what is written. `keep`: as it lies in the files, but F16 becomes F32 (exactly), and FP8 with scales
/// BF16. Routers' biases are F32 always.
enum class WrittenDType : std::uint8_t { keep, bf16, fp32 };

struct ConvertOptions {
  WrittenDType dtype = WrittenDType::keep;
  std::uint64_t shard_bytes = 5'000'000'000;  ///< of tensors in one file of Hugging Face's; one tensor may have more
  /// A directory of Hugging Face's: its tokenizer's files go into the new one, and its config.json says the context
  /// and the ids of special tokens. Nothing: those of the model's own directory, where it has any.
  std::optional<std::filesystem::path> like = std::nullopt;
};

struct PlannedTensor {
  const SourceTensor* source;
  FileTensor target;  ///< without bytes
};

struct PlannedFile {
  std::string name;
  std::vector<PlannedTensor> tensors;  ///< in the order of the file
};

/// What a conversion writes. Valid as long as its source.
struct Conversion {
  ModelLayout to;
  std::vector<PlannedFile> files;
  std::string config_name;  ///< "config.json" or "config.toml"
  std::string config_text;
  std::vector<std::filesystem::path> side_files;  ///< to copy: tokenizer and the like
  std::filesystem::path source_config;            ///< config.json to keep beside config.toml; empty: none
  std::uint64_t bytes = 0;                        ///< of tensors
  std::uint64_t elements = 0;
};

/// To the other layout than the source's. UserError where the other side cannot express the model.
[[nodiscard]] Conversion plan_conversion(const ModelSource& source, const ConvertOptions& options);

/// Hears of bytes of tensors that were written, from 0 to Conversion::bytes.
using ConvertProgress = std::function<void(std::uint64_t bytes)>;

/// Writes `target`, which must not exist or be an empty directory, as `target`.partial, and renames it when it is
/// whole. Memory holds a piece of a tensor at a time. UserError for a full disk and the like, and for a tensor that
/// does not match its checksum; nothing stays then.
void write_conversion(const Conversion& conversion, const std::filesystem::path& target,
                      const ConvertProgress& progress = {});

/// A run, a checkpoint or a model directory of Octet's, written as a directory of Hugging Face's: what
/// octet checkpoint export does. UserError where `from` is none of these.
void export_model(const std::filesystem::path& from, const std::filesystem::path& target, const ConvertOptions& options,
                  const ConvertProgress& progress = {});

}  // namespace octet
