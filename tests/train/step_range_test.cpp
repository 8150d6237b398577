// Ranges of steps as users write them.
#include "train/step_range.h"

#include <gtest/gtest.h>

#include "io/scratch.h"

namespace octet::test {
namespace {

TEST(StepRange, HoldsBothEnds) {
  const StepRange range = parse_step_range("--profile", "steps=10-12", 12);
  EXPECT_EQ(range.first, 10);
  EXPECT_EQ(range.last, 12);
  EXPECT_FALSE(range.contains(9));
  EXPECT_TRUE(range.contains(10) && range.contains(12));
  EXPECT_FALSE(range.contains(13));
}

TEST(StepRange, OfOneStep) {
  const StepRange range = parse_step_range("--profile", "steps=3", 3);
  EXPECT_EQ(range.first, 3);
  EXPECT_EQ(range.last, 3);
}

TEST(StepRange, RefusesWhatIsNone) {
  for (const char* text : {"", "3", "10-12", "steps=", "steps=-", "steps=a-b", "steps=1-", "steps=-2", "steps=1-2-3",
                           "steps=1.5", "steps= 1", "steps=1 ", "step=1", "steps=99999999999999999999"}) {
    const std::string message = user_error([&] { (void)parse_step_range("--profile", text, 20); });
    EXPECT_TRUE(contains(message, std::string("--profile ") + text + ": give whole steps, as in steps=10-12"));
  }
}

TEST(StepRange, RefusesWhatTheRunHasNot) {
  const auto refusal = [](const char* text) {
    return user_error([&] { (void)parse_step_range("--profile", text, 20); });
  };
  EXPECT_EQ(refusal("steps=12-10"), "--profile steps=12-10: the range ends before it begins, turn it round");
  EXPECT_EQ(refusal("steps=0-3"), "--profile steps=0-3: steps count from 1");
  EXPECT_EQ(refusal("steps=20-21"), "--profile steps=20-21: the run ends at step 20 (training.steps)");
}

TEST(StepRange, EscapesWhatWasTyped) {
  EXPECT_TRUE(contains(user_error([] { (void)parse_step_range("--profile", "steps=\n", 20); }), "steps=\\x0a"));
}

}  // namespace
}  // namespace octet::test
