#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/plan_text.h"
#include "io/watch_summary.h"

namespace octet::cli {

Console::Console(const Config& config) : config_(config), terminal_(isatty(STDOUT_FILENO) != 0) {}

void Console::on_start(const Engine& engine, std::int64_t first_step, std::int64_t last_step) {
  last_step_ = last_step;
  fmt::print("{}", plan_text(engine, config_, PlanDetail::brief));
  if (first_step > 1) fmt::print("resuming at step {}\n", first_step);
  std::fflush(stdout);
}

void Console::on_records(const RecordPlan& plan) {
  const auto bytes = [](std::uint64_t count) { return bytes_text(static_cast<double>(count)); };
  fmt::print("records     {} files of {} will take {}{}\n", plan.records, bytes(plan.bytes_each), bytes(plan.bytes()),
             plan.free_bytes ? "; " + bytes(*plan.free_bytes) + " are free" : "");
  std::fflush(stdout);
}

void Console::on_untuned_products(const std::vector<std::string>& products) {
  fmt::print(
      "products    {} run as the library proposes first, untuned; run.json lists them, octet bench step --tune "
      "measures "
      "them\n",
      products.size());
  std::fflush(stdout);
}

void Console::on_step(const io::StepMetrics& record, double seconds_left) {
  const bool plain =
      record.step == 1 || record.step % config_.logging.interval == 0 || record.step == last_step_ || record.val_loss;
  if (!terminal_ && !plain) return;
  std::string line =
      fmt::format("step {:>{}}/{}  loss {:.4f}  grad norm {:.3f}  lr {:.2e}  {:.0f} tokens/s  {} left", record.step,
                  std::to_string(last_step_).size(), last_step_, record.loss, record.grad_norm, record.learning_rate,
                  record.tokens_per_second, duration_text(seconds_left));
  if (record.worst_expert_load) line += fmt::format("  busiest expert {:.2f}x", *record.worst_expert_load);
  if (record.val_loss) line += fmt::format("  validation loss {:.4f}", *record.val_loss);
  if (!terminal_) {
    fmt::print("{}\n", line);
  } else {
    fmt::print("\r{}\x1b[K", line);
    line_open_ = true;
    if (record.val_loss) end_updating_line();
  }
  std::fflush(stdout);
}

void Console::on_checkpoint(const std::filesystem::path& directory, const io::SavedCheckpoint& saved) {
  end_updating_line();
  fmt::print("checkpoint of step {} in {} (saved in {:.2f} s, training waited for {:.4f} s)\n", saved.step,
             directory.string(), saved.milliseconds / 1e3, saved.stall_milliseconds / 1e3);
  std::fflush(stdout);
}

void Console::on_checkpoint_wait(std::int64_t earlier, std::int64_t next) {
  end_updating_line();
  fmt::print("checkpoint of step {} waits for that of step {}, which is still being written\n", next, earlier);
  std::fflush(stdout);
}

void Console::on_skip(std::int64_t step, const std::string& first_non_finite) {
  end_updating_line();
  fmt::print("step {} skipped: the first NaN or inf is in {}\n", step, first_non_finite);
  std::fflush(stdout);
}

void Console::on_watch(const io::WatchedStep& watched) {
  end_updating_line();
  fmt::print("watch of step {}: {}; loss {:.4f}, in bf16 {:.4f}\n", watched.step, io::watch_summary(watched),
             watched.loss, watched.loss_bf16);
  std::fflush(stdout);
}

void Console::end_updating_line() {
  if (line_open_) fmt::print("\n");
  line_open_ = false;
}

}  // namespace octet::cli
