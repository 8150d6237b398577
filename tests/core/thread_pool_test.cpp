// The pool runs each task once, on threads that it numbers, and hands exceptions back.
#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

namespace octet::test {
namespace {

class ThreadPoolOf : public testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
};

TEST_P(ThreadPoolOf, RunsEachTaskOnce) {
  EXPECT_EQ(pool_.threads(), GetParam());
  for (const std::int64_t count : {0, 1, 2, 3, 7, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
    std::atomic<bool> known_threads{true};
    pool_.run(count, [&](std::int64_t task, int thread) {
      ++runs.at(static_cast<std::size_t>(task));
      if (thread < 0 || thread >= pool_.threads()) known_threads = false;
    });
    EXPECT_TRUE(std::ranges::all_of(runs, [](const std::atomic<int>& n) { return n == 1; })) << count << " tasks";
    EXPECT_TRUE(known_threads) << count << " tasks";
  }
}

TEST_P(ThreadPoolOf, TwoTasksNeverShareAThreadsNumberAtOnce) {
  std::vector<std::atomic<bool>> taken(static_cast<std::size_t>(pool_.threads()));
  std::atomic<int> collisions{0};
  pool_.run(2000, [&](std::int64_t, int thread) {
    if (taken[static_cast<std::size_t>(thread)].exchange(true)) ++collisions;
    std::this_thread::yield();
    taken[static_cast<std::size_t>(thread)] = false;
  });
  EXPECT_EQ(collisions, 0);
}

TEST_P(ThreadPoolOf, ManySmallJobsFollowOneAnother) {
  // Each job reads what the one before wrote: a job that returned early would be seen.
  std::vector<int> values(8, 0);
  for (int job = 0; job < 3000; ++job) {
    pool_.run(8, [&](std::int64_t task, int) { ++values[static_cast<std::size_t>(task)]; });
    ASSERT_EQ(std::ranges::count(values, job + 1), 8) << "job " << job;
  }
}

TEST_P(ThreadPoolOf, RethrowsAnExceptionAndGoesOnWorking) {
  for (int round = 0; round < 50; ++round) {
    try {
      pool_.run(100, [](std::int64_t task, int) {
        if (task == 37) throw std::runtime_error("task 37");
      });
      FAIL() << "the exception was lost";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "task 37");
    }
    std::atomic<int> runs{0};
    pool_.run(100, [&](std::int64_t, int) { ++runs; });
    ASSERT_EQ(runs, 100) << "round " << round;
  }
}

TEST_P(ThreadPoolOf, LeavesOutTasksNotYetBegunAfterAnException) {
  std::atomic<int> begun{0};
  const auto body = [&](std::int64_t task, int) {
    ++begun;
    if (task == 0) throw std::runtime_error("task 0");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_THROW(pool_.run(300, body), std::runtime_error);
  EXPECT_LT(begun, 300);
}

TEST_P(ThreadPoolOf, ThrowsOneExceptionWhereEveryTaskThrows) {
  EXPECT_THROW(pool_.run(1000, [](std::int64_t, int) { throw std::runtime_error("every task"); }), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, testing::Range(1, 6),
                         [](const auto& each) { return std::to_string(each.param); });

TEST(ThreadPool, OneThreadRunsTasksInOrderOnTheCaller) {
  ThreadPool pool(1);
  std::vector<std::int64_t> order;
  pool.run(5, [&](std::int64_t task, int thread) {
    EXPECT_EQ(thread, 0);
    order.push_back(task);
  });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace octet::test
