#include "train/event_log.h"

#include <chrono>
#include <string>
#include <vector>

namespace octet {
namespace {

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

EventLog::EventLog(const Config::Logging& logging, const std::filesystem::path& run_directory, std::int64_t first_step)
    : histogram_interval_(logging.histogram_interval),
      file_(run_directory / "tensorboard", first_step, unix_seconds()) {}

bool EventLog::wants_scales(std::int64_t step) const {
  return histogram_interval_ > 0 && step % histogram_interval_ == 0;
}

void EventLog::append(const io::StepMetrics& record) {
  std::vector<TaggedScalar> scalars = {{"loss", record.loss},
                                       {"grad_norm", record.grad_norm},
                                       {"lr", record.learning_rate},
                                       {"tokens_per_second", record.tokens_per_second},
                                       {"memory_bytes", static_cast<double>(record.memory_bytes)}};
  if (record.val_loss) scalars.push_back({"val_loss", *record.val_loss});
  if (record.balance_loss) scalars.push_back({"balance_loss", *record.balance_loss});
  if (record.mtp_loss) scalars.push_back({"mtp_loss", *record.mtp_loss});
  if (record.worst_expert_load) scalars.push_back({"worst_expert_load", *record.worst_expert_load});
  file_.append(record.step, unix_seconds(), scalars);
}

void EventLog::append(std::int64_t step, const ScaleWatch& scales) {
  if (scales.log2_scales().empty()) return;
  std::vector<std::string> tags;
  std::vector<TaggedHistogram> histograms;
  tags.reserve(scales.log2_scales().size());  // the histograms view them
  for (const auto& [what, histogram] : scales.log2_scales()) {
    histograms.push_back({tags.emplace_back("log2_scale/" + what), histogram});
  }
  file_.append(step, unix_seconds(), histograms);
}

}  // namespace octet
