// The pipeline: order, bounds, and the error that is heard of.
#include "data/ordered_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace octet {
namespace {

using Pipeline = OrderedPipeline<int, int>;

/// Later numbers are done sooner.
int slow_square(int number) {
  std::this_thread::sleep_for(std::chrono::microseconds((number * 7919) % 300));
  return number * number;
}

std::optional<int> below(int& next, int end) {
  return next < end ? std::optional(next++) : std::nullopt;
}

TEST(OrderedPipeline, DeliversInOrderAndNeverFarAhead) {
  for (const int threads : {1, 2, 7}) {
    int next = 0;
    std::atomic<int> read = 0;
    std::vector<int> written;
    int ahead = 0;
    Pipeline(threads).run(
        [&] {
          ++read;
          return below(next, 300);
        },
        [](int number, int) { return slow_square(number); },
        [&](int square) {
          written.push_back(square);
          ahead = std::max(ahead, read - static_cast<int>(written.size()));
        });
    ASSERT_EQ(written.size(), 300U);
    for (int i = 0; i < 300; ++i) EXPECT_EQ(written[static_cast<std::size_t>(i)], i * i);
    EXPECT_LE(ahead, 4 * threads + 1) << "what waits, and what was read meanwhile";
  }
}

TEST(OrderedPipeline, NothingToRead) {
  Pipeline(2).run([] { return std::nullopt; }, [](int, int) { return 0; }, [](int) { FAIL(); });
}

/// The message of what run() throws, and how many were written before.
template <typename Read, typename Transform>
std::pair<std::string, int> outcome(Read read, Transform transform) {
  int written = 0;
  try {
    Pipeline(4).run(read, transform, [&written](int) { ++written; });
  } catch (const std::runtime_error& error) {
    return {error.what(), written};
  }
  return {"", written};
}

TEST(OrderedPipeline, TheFirstErrorInOrderIsThrown) {
  int next = 0;
  const auto read = [&next] {
    if (next == 60) throw std::runtime_error("read");
    return std::optional(next++);
  };
  const auto transform = [](int number, int) {
    if (number == 50) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (number >= 50) throw std::runtime_error(std::to_string(number));
    return number;
  };
  EXPECT_EQ(outcome(read, transform), std::pair(std::string("50"), 50));
  next = 0;
  EXPECT_EQ(outcome(read, [](int number, int) { return number; }), std::pair(std::string("read"), 60));
}

TEST(OrderedPipeline, AnErrorOfTheWriterStopsAll) {
  int next = 0;
  EXPECT_THROW(Pipeline(3).run([&next] { return std::optional(next++); }, [](int number, int) { return number; },
                               [](int number) {
                                 if (number == 10) throw std::runtime_error("write");
                               }),
               std::runtime_error);
}

}  // namespace
}  // namespace octet
