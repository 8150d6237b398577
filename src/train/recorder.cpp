#include "train/recorder.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "io/text.h"
#include "ops/host_access.h"
#include "train/named_tensors.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDirectory = "records";
constexpr std::string_view kFilePrefix = "step-";
constexpr std::string_view kFileSuffix = ".safetensors";

std::vector<NamedTensor> tensors_to_record(const Parameters& parameters, const RecordRequest& request) {
  std::vector<NamedTensor> tensors;
  if (request.gradients) tensors = named_gradients(parameters, kGradientPrefix);
  if (request.weights)
    std::ranges::move(named_tensors(parameters, kWeightPrefix, &Slab::values), std::back_inserter(tensors));
  return tensors;
}

/// The step in "step-000012.safetensors"; none for another name.
std::optional<std::int64_t> step_of(std::string_view file) {
  if (!file.starts_with(kFilePrefix) || !file.ends_with(kFileSuffix)) return std::nullopt;
  file.remove_prefix(kFilePrefix.size());
  file.remove_suffix(kFileSuffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), step);
  if (error != std::errc() || end != file.data() + file.size()) return std::nullopt;
  return step;
}

}  // namespace

Recorder::Recorder(const fs::path& run_directory, RecordRequest request, ops::Device& device,
                   const Parameters& parameters)
    : directory_(run_directory / kDirectory), request_(request), device_(device), parameters_(parameters) {
  make_directory(directory_);
}

RecordPlan Recorder::plan(std::int64_t first, std::int64_t last) const {
  RecordPlan plan;
  plan.records = last / request_.every - (first - 1) / request_.every;
  for (const NamedTensor& tensor : tensors_to_record(parameters_, request_)) plan.bytes_each += tensor.tensor.bytes();
  std::error_code unknown;
  const fs::space_info space = fs::space(directory_, unknown);
  if (!unknown) plan.free_bytes = space.available;
  return plan;
}

void Recorder::record(std::int64_t step) const {
  if (step % request_.every != 0) return;
  const fs::path file = directory_ / fmt::format("{}{:06}{}", kFilePrefix, step, kFileSuffix);
  try {
    std::vector<ops::HostBytes> bytes;
    std::vector<FileTensor> tensors;
    for (const NamedTensor& tensor : tensors_to_record(parameters_, request_)) {
      bytes.emplace_back(device_, tensor.tensor);
      tensors.push_back(file_tensor(tensor, bytes.back().bytes()));
    }
    write_safetensors(file, tensors, {{"format", "octet"}, {"step", std::to_string(step)}});
  } catch (const UserError& error) {
    throw UserError("{}; earlier records and checkpoints are untouched", error.what());
  }
}

std::map<std::int64_t, fs::path> list_records(const fs::path& run_directory) {
  std::map<std::int64_t, fs::path> records;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run_directory / kDirectory, none)) {
    if (const auto step = step_of(entry.path().filename().string())) records[*step] = entry.path();
  }
  return records;
}

void remove_records_after(const fs::path& run_directory, std::int64_t last_step) {
  for (const auto& [step, file] : list_records(run_directory)) {
    std::error_code error;
    if (step > last_step && !fs::remove(file, error) && error) {
      throw UserError("cannot remove {}, a record of a step that is run again: {}", printable(file.string()),
                      error.message());
    }
  }
}

}  // namespace octet
