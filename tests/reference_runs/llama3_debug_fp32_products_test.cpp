// The matrix library's fp32 products, which every x86-64 machine has, against its bf16 products over ten steps.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <oneapi/dnnl/dnnl.hpp>

#include "ops/cpu/tile_product.h"
#include "reference_runs/debug_run.h"

namespace octet::test {
namespace {

using Losses = std::array<double, 10>;

/// In a forked process: trains and answers with the losses. Whatever throws ends the process.
[[noreturn]] void train_with_fp32_products(const std::vector<std::string>& overrides, int answer) noexcept {
  check(dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2) == dnnl::status::success, "no product came before");
  const DebugRun run = run_llama3_debug(overrides);
  Losses losses{};
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = run.steps.at(i).loss;
  _exit(write(answer, losses.data(), sizeof(Losses)) == ssize_t{sizeof(Losses)} ? 0 : 1);
}

/// The losses of a process whose matrix library knows no instructions beyond AVX2. The library settles on its
/// instructions when they are first asked for, so that this process must not have done so before.
Losses losses_with_fp32_products(const std::vector<std::string>& overrides) {
  std::array<int, 2> channel{};
  check(pipe(channel.data()) == 0, "a pipe can be opened");
  const pid_t child = fork();
  check(child >= 0, "a process can be forked");
  if (child == 0) train_with_fp32_products(overrides, channel[1]);
  close(channel[1]);
  Losses losses{};
  const auto received = read(channel[0], losses.data(), sizeof(Losses));
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  check(status == 0 && received == ssize_t{sizeof(Losses)}, "the forked process answers");
  return losses;
}

TEST(Fp32Products, TrainAsBf16ProductsDo) {
  const std::vector<std::string> bf16 = {"precision.recipe=\"bf16\""};
  const std::vector<std::string> rowwise = {"precision.recipe=\"rowwise\""};
  const Losses fp32_products_in_bf16 = losses_with_fp32_products(bf16);
  const Losses fp32_products_in_rowwise = losses_with_fp32_products(rowwise);
  if (ops::cpu::TileProducts::fastest_operands() != DType::bf16) {
    GTEST_SKIP() << "this machine has no bf16 products to compare with";
  }
  for (const auto& [overrides, losses] :
       {std::pair{bf16, fp32_products_in_bf16}, {rowwise, fp32_products_in_rowwise}}) {
    const std::vector<double> expected(losses.begin(), losses.end());
    const double difference = largest_relative_difference(run_llama3_debug(overrides).steps, expected);
    fmt::print("{}: relative difference of losses {:.2e}\n", overrides[0], difference);
    EXPECT_LE(difference, 1e-2) << overrides[0];
    EXPECT_GT(difference, 0) << "the same bits: the forked process used the same products";
  }
}

}  // namespace
}  // namespace octet::test
