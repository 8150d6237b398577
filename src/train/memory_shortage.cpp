#include "train/memory_shortage.h"

#include <algorithm>

#include "core/error.h"
#include "train/capacity.h"
#include "train/checkpoint_staging.h"
#include "train/plan_choices.h"

namespace octet {
namespace {

double gib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1U << 30U);
}

/// As options of octet train.
std::string options_of(const FittingPlan& plan, const Config& config) {
  std::vector<std::string> changes;
  for (const Remedy& remedy : plan.remedies) changes.push_back(fmt::format("--set {}={}", remedy.key, remedy.value));
  if (plan.shape.batch != config.training.batch_size) {
    changes.push_back(fmt::format("--set training.batch_size={}", plan.shape.batch));
  }
  if (plan.shape.seq_len != config.training.seq_len) {
    changes.push_back(fmt::format("--set training.seq_len={}", plan.shape.seq_len));
  }
  return fmt::format("{}", fmt::join(changes, " "));
}

}  // namespace

void check_memory(const Engine& engine, const Config& config) {
  const std::optional<std::size_t> free = engine.backend().device().free_bytes();
  const std::size_t needed = engine.plan().arena_bytes;
  if (!free || needed + kLibraryReserve <= *free) return;
  const PlannedRun run = planned_run(engine);
  const std::size_t planned = plan_without_workspace(config, run).plan().arena_bytes;
  const std::size_t workspace = needed - std::min(needed, planned);
  CapacityPlanner planner(config, run.keeps_gradients);
  const auto fitting = planner.find_remedy(*free - std::min(*free, workspace + kLibraryReserve));
  const std::string remedy =
      fitting ? fmt::format("{} would take {:.2f} GiB", options_of(*fitting, config), gib(fitting->bytes + workspace))
              : "no setting makes it fit: choose a smaller model or a larger GPU";
  throw UserError(
      "the plan takes {:.2f} GiB, and {:.2f} GiB are free on {} (nvidia-smi or rocm-smi shows what holds the rest), of "
      "which {:.2f} GiB are left to libraries: {}",
      gib(needed), gib(*free), engine.backend().name(), gib(std::min(*free, kLibraryReserve)), remedy);
}

void check_host_memory(const Engine& engine, const Config& config, std::optional<std::size_t> available) {
  const std::size_t copy = checkpoint_staging_bytes(config, engine.model().parameters());
  const std::size_t plan = engine.backend().device().host_memory() ? engine.plan().arena_bytes : 0;
  if (copy == 0 || !available || plan + copy <= *available) return;
  throw UserError(
      "the copy from which checkpoints are written while training goes on takes {:.2f} GiB{}, and {:.2f} GiB of the "
      "host's memory are available: --set checkpoint.asynchronous=false does without the copy",
      gib(copy), plan > 0 ? fmt::format(" beside a plan of {:.2f} GiB", gib(plan)) : "", gib(*available));
}

}  // namespace octet
