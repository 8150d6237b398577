// A GPU that cannot hold what a run takes: refused before anything is allocated, with settings that it can hold.
#include "train/memory_shortage.h"

#include <gtest/gtest.h>

#include "io/config_fields.h"
#include "train/capacity.h"
#include "train/small_engine.h"
#include "train/small_gpu.h"

namespace octet::test {
namespace {

/// Activations outweigh gradients, so that kept gradients raise the peak.
Config long_batch() {
  return small_config({"precision.recipe=rowwise", "precision.saved_inputs=bf16", "training.seq_len=1024",
                       "model.dim=128", "model.ffn_dim=256", "training.batch_size=4"})
      .config;
}

/// What check_memory says; empty where it lets the run begin.
std::string refusal(const Config& config, bool keeps_gradients, std::size_t free_bytes) {
  try {
    check_memory(plan_on_small_gpu(config, keeps_gradients, free_bytes), config);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

std::size_t planned(const Config& config, bool keeps_gradients) {
  return plan_on_small_gpu(config, keeps_gradients).plan().arena_bytes;
}

/// `config` with the settings that a refusal proposes.
Config with_proposal(Config config, const std::string& message) {
  std::istringstream words(message.substr(message.find("--set")));
  for (std::string word; words >> word && word != "would";) {
    if (word == "--set") continue;
    const std::size_t equals = word.find('=');
    const std::string value = word.substr(equals + 1);
    const bool number = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    find_config_field(word.substr(0, equals))
        ->set(config, number ? ConfigValue(std::int64_t{std::stoll(value)}) : ConfigValue(value));
  }
  return config;
}

class MemoryShortage : public testing::TestWithParam<bool> {};

TEST_P(MemoryShortage, ARunThatFitsBesideTheReserveBegins) {
  const Config config = long_batch();
  const std::size_t enough = planned(config, GetParam()) + kLibraryReserve;
  EXPECT_EQ(refusal(config, GetParam(), enough), "");
  EXPECT_NE(refusal(config, GetParam(), enough - 1), "");
}

TEST_P(MemoryShortage, ProposalsAreTheLeastDrasticThatFit) {
  const bool keeps_gradients = GetParam();
  const Config config = long_batch();
  for (std::size_t usable = planned(config, keeps_gradients) - 1; usable > 8'000'000; usable = usable * 7 / 8) {
    const std::string message = refusal(config, keeps_gradients, kLibraryReserve + usable);
    const auto least = CapacityPlanner(config, keeps_gradients).find_remedy(usable);
    ASSERT_EQ(message.find("--set") != std::string::npos, least.has_value()) << usable << message;
    if (!least) continue;
    const Config proposed = with_proposal(config, message);
    EXPECT_LE(planned(proposed, keeps_gradients), usable) << message;
    EXPECT_EQ(planned(proposed, keeps_gradients), least->bytes) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Gradients, MemoryShortage, testing::Values(false, true),
                         [](const auto& each) { return each.param ? "Kept" : "LivingForAStep"; });

std::string host_refusal(const Engine& engine, const Config& config, std::size_t available) {
  try {
    check_host_memory(engine, config, available);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

TEST(MemoryShortage, TheCopyForCheckpointsMustFitBesideAPlanInTheSameMemory) {
  Config config = long_batch();
  config.checkpoint.interval = 2;
  const Engine on_cpu = plan_without_workspace(config, {});
  const auto copy = static_cast<std::size_t>(on_cpu.model().parameters().count()) * 3 * sizeof(float);
  const std::size_t both = on_cpu.plan().arena_bytes + copy;
  EXPECT_EQ(host_refusal(on_cpu, config, both), "");
  const std::string message = host_refusal(on_cpu, config, both - 1);
  EXPECT_NE(message.find("beside a plan of"), std::string::npos) << message;
  EXPECT_NE(message.find("--set checkpoint.asynchronous=false"), std::string::npos) << message;
  const Engine on_gpu = plan_on_small_gpu(config, false);
  EXPECT_EQ(host_refusal(on_gpu, config, copy), "");
  EXPECT_NE(host_refusal(on_gpu, config, copy - 1), "");
}

TEST(MemoryShortage, ARunWithoutTheCopyNeedsNoMemoryForIt) {
  Config config = long_batch();
  EXPECT_EQ(host_refusal(plan_without_workspace(config, {}), config, 0), "") << "saves at its end alone";
  config.checkpoint.interval = config.training.steps;
  EXPECT_EQ(host_refusal(plan_without_workspace(config, {}), config, 0), "") << "saves at its end alone";
  config.checkpoint.interval = 1;
  EXPECT_NE(host_refusal(plan_without_workspace(config, {}), config, 0), "");
  config.checkpoint.asynchronous = false;
  EXPECT_EQ(host_refusal(plan_without_workspace(config, {}), config, 0), "");
}

TEST(MemoryShortage, ACpuIsNeverRefused) {
  const Config config = long_batch();
  EXPECT_NO_THROW(check_memory(plan_without_workspace(config, {}), config));
}

}  // namespace
}  // namespace octet::test
