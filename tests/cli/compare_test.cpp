// octet compare as its user runs it: exit codes, the line that says where runs part, the same as JSON.
#include "cli/cli_fixture.h"
#include "io/files.h"

namespace octet::test {
namespace {

using Compare = CliTest;

const Words kRecordAll = {"--record", "all", "--record-every", "2"};

TEST_F(Compare, EqualRunsAreTheSame) {
  EXPECT_TRUE(contains(succeed(train("a", kRecordAll)), "records     3 files of "));
  succeed(train("b", kRecordAll));
  const std::string text = succeed({"compare", "a", "b"});
  EXPECT_TRUE(contains(text, "metrics     the same in all 6 common steps\n"));
  EXPECT_TRUE(contains(text, "records     the same in all 3 common steps, 126 tensors\n"));
  EXPECT_TRUE(contains(text, "result      the same\n"));
  const auto found = json_of({"compare", "a", "b", "--json"});
  EXPECT_EQ(found.at("same"), true);
  EXPECT_EQ(found.at("records").at("common_steps"), 3);
  EXPECT_FALSE(found.contains("first_difference"));
  EXPECT_EQ(run_json("a").at("records").at("files"), 3);
}

TEST_F(Compare, DifferentRunsExitWithOneAndSayWhere) {
  succeed(train("a", join({kRecordAll, {"--recipe", "bf16"}})));
  succeed(train("b", kRecordAll));
  const Outcome text = octet({"compare", "a", "b"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.err, "");
  for (const char* part : {"config      precision.recipe: bf16 -> rowwise\n", "first in step 1: loss ",
                           "records     differ first in step 2, in 42 of its tensors: gradient.tok_embeddings.weight",
                           "result      different from step 1 on: loss\n"}) {
    EXPECT_TRUE(contains(text.out, part));
  }
  const Outcome json = octet({"compare", "a", "b", "--json"});
  EXPECT_EQ(json.exit_code, 1);
  const auto found = nlohmann::json::parse(json.out);
  EXPECT_EQ(found.at("same"), false);
  EXPECT_EQ(found.at("config").at(0).at("key"), "precision.recipe");
  EXPECT_EQ(found.at("first_difference").at("step"), 1);
  EXPECT_EQ(found.at("metrics").at("first").at("metric"), "loss");
  EXPECT_EQ(found.at("records").at("first").at("step"), 2);
  EXPECT_GT(found.at("records").at("first").at("ulp").get<std::uint64_t>(), 0U);
}

TEST_F(Compare, AToleranceLetsSmallDifferencesPass) {
  succeed(train("a", set("training.steps=2")));
  succeed(train("b", set("training.steps=2")));
  std::string metrics = read_file(path("b/metrics.jsonl"));
  const auto loss = nlohmann::json::parse(metrics.substr(0, metrics.find('\n'))).at("loss");
  const std::string moved = nlohmann::json(loss.get<double>() * (1 + 1e-6)).dump();  // about 10 ulp of fp32
  metrics.replace(metrics.find(loss.dump()), loss.dump().size(), moved);
  write("b/metrics.jsonl", metrics);
  EXPECT_EQ(octet({"compare", "a", "b", "--tolerance-ulp", "2"}).exit_code, 1);
  EXPECT_TRUE(contains(succeed({"compare", "a", "b", "--tolerance-ulp", "50"}), "result      the same\n"));
}

TEST_F(Compare, RefusesWhatIsNoRun) {
  refuses({"compare", "nowhere", "nothing"}, {"nowhere/run.json", "give directories in which octet train has written"});
  refuses({"compare", "nowhere"}, {"right is required"});
  succeed(train("a", set("training.steps=1")));
  refuses({"compare", "a", "a", "--tolerance-ulp", "-1"}, {"--tolerance-ulp", "-1"});
  write("a/metrics.jsonl", "{\"step\":1}\n");
  refuses({"compare", "a", "a"}, {"a/metrics.jsonl:1", "field loss is missing"});
}

}  // namespace
}  // namespace octet::test
