// Records: what a bitwise comparison of two runs needs beside metrics.jsonl, a file a step:
// RUN/records/step-000012.safetensors with tensors gradient.<name> (fp32 or bf16 as it was computed, of all
// micro-batches, before clipping) and weight.<name> (the parameter after the update, as checkpoints hold it), in the
// model's order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "model/parameters.h"

namespace octet {

inline constexpr std::string_view kGradientPrefix = "gradient.";
inline constexpr std::string_view kWeightPrefix = "weight.";

/// What a run is asked to keep: every `every` steps.
struct RecordRequest {
  bool gradients = false;
  bool weights = false;
  std::int64_t every = 1;

  [[nodiscard]] bool keeps_tensors() const { return gradients || weights; }
};

/// What recording will take on the disk.
struct RecordPlan {
  std::int64_t records = 0;
  std::uint64_t bytes_each = 0;
  std::optional<std::uint64_t> free_bytes;  ///< of the disk, now; some file systems do not say

  [[nodiscard]] std::uint64_t bytes() const { return static_cast<std::uint64_t>(records) * bytes_each; }
};

class Recorder {
 public:
  /// `device` and its `parameters` must outlive the recorder. Makes the directory. Throws UserError where the disk
  /// refuses.
  Recorder(const std::filesystem::path& run_directory, RecordRequest request, ops::Device& device,
           const Parameters& parameters);

  [[nodiscard]] const RecordRequest& request() const { return request_; }
  /// For the steps from `first` to `last`, both included.
  [[nodiscard]] RecordPlan plan(std::int64_t first, std::int64_t last) const;

  /// Keeps `step` where it is wanted; replaces an earlier record of it. To be called after the update, of an
  /// engine that keeps its gradients where they are asked for. Throws UserError for a full disk; earlier records and
  /// checkpoints stay.
  void record(std::int64_t step) const;

 private:
  std::filesystem::path directory_;
  RecordRequest request_;
  ops::Device& device_;
  const Parameters& parameters_;
};

/// The records of a run by step; empty where it kept none.
[[nodiscard]] std::map<std::int64_t, std::filesystem::path> list_records(const std::filesystem::path& run_directory);

/// Removes the records of steps after `last_step`, which a resumed run goes through again. Throws UserError where the
/// disk refuses.
void remove_records_after(const std::filesystem::path& run_directory, std::int64_t last_step);

}  // namespace octet
