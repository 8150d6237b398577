// A training from start to end: what it prints, what it leaves, and how it says that numbers went wrong.
#include <algorithm>
#include <sstream>

#include "cli/cli_fixture.h"
#include "io/files.h"

namespace octet::test {
namespace {

using Train = CliTest;

TEST_F(Train, LeavesAWholeRun) {
  const std::string out = succeed(train("run"));
  for (const char* part : {"device ", "precision   recipe rowwise, 8 of 9 layers in FP8", "memory ", "step 6/6",
                           "validation loss", "checkpoint of step 6", "done: run"}) {
    EXPECT_TRUE(contains(out, part));
  }
  EXPECT_EQ(out.find("unverified"), std::string::npos);
  const auto run = run_json("run");
  EXPECT_EQ(run.at("status"), "finished");
  EXPECT_EQ(run.at("machine").at("device_verified"), true);
  EXPECT_EQ(run.at("command_line").at(1), "train");
  EXPECT_EQ(run.at("precision").at("layers_fp8"), 8);
  EXPECT_GT(run.at("result").at("fp8_codes_used").get<std::uint64_t>(), 0U);
  EXPECT_EQ(run.at("graphs"), (nlohmann::json{{"enabled", false}, {"replayed_steps", 0}, {"launches", 0}})) << "a CPU";
  EXPECT_EQ(metrics_lines("run"), 6U);
  EXPECT_EQ(checkpoints("run").size(), 1U);
}

TEST_F(Train, ProfilesAndRecordsTheStepsAskedFor) {
  succeed(train("run", {"--profile", "steps=2-3", "--record", "weights", "--record-every", "3"}));
  const auto profile = nlohmann::json::parse(read_file(path("run/profile.json")));
  Words steps;
  for (const auto& event : profile.at("traceEvents")) {
    const std::string name = event.at("name");
    if (name.starts_with("step ")) steps.push_back(name);
  }
  EXPECT_EQ(steps, (Words{"step 2", "step 3"}));
  EXPECT_TRUE(std::filesystem::exists(path("run/records/step-000003.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(path("run/records/step-000006.safetensors")));
  succeed(train("plain"));
  EXPECT_EQ(trajectory("run"), trajectory("plain"));  // watching changes nothing
  EXPECT_FALSE(std::filesystem::exists(path("plain/profile.json")));
  EXPECT_FALSE(std::filesystem::exists(path("plain/records")));
}

TEST_F(Train, Learns) {
  succeed(train("run", set("training.steps=40")));
  const auto first = nlohmann::json::parse(trajectory("run").front());
  const auto last = nlohmann::json::parse(trajectory("run").back());
  EXPECT_NEAR(first.at("loss").get<double>(), 5.55, 0.2);  // about ln 256: it knows nothing
  EXPECT_LT(last.at("val_loss").get<double>(), 3.2);       // the words' letters are 18
}

TEST_F(Train, MeasuredMemoryIsWhatWasPlanned) {
  for (const char* recipe : {"bf16", "tensorwise", "rowwise", "rowwise_hp_wgrad"}) {
    succeed(train(recipe, {"--recipe", recipe, "--set", "training.steps=2"}));
    const auto memory = run_json(recipe).at("memory");
    EXPECT_EQ(memory.at("planned_bytes"), memory.at("measured_bytes")) << recipe;
  }
}

TEST_F(Train, DryRunPlansAndWritesNothing) {
  const auto before = snapshot(path(""));
  const auto plan = json_of(train("run", {"--dry-run", "--json"}));
  EXPECT_TRUE(contains(succeed(train("run", {"--dry-run"})), "planned in one arena"));
  EXPECT_TRUE(snapshot(path("")) == before);
  succeed(train("run"));
  EXPECT_EQ(plan.at("memory").at("planned_bytes"), run_json("run").at("memory").at("measured_bytes"));
  EXPECT_EQ(plan.at("model"), run_json("run").at("model"));
  EXPECT_EQ(plan.at("precision"), run_json("run").at("precision"));
  EXPECT_EQ(plan.at("optimizer"), run_json("run").at("optimizer"));
}

TEST_F(Train, DryRunWeighsChoicesAndCards) {
  const auto plan = json_of(train("run", {"--dry-run", "--json"}));
  const auto& saved = plan.at("memory").at("saved_for_backward");
  EXPECT_GT(saved.at("bytes"), saved.at("codes_bytes"));
  EXPECT_GT(plan.at("choices").at("saved_inputs").at("codes_saved_bytes"), 0);
  for (const char* recompute : {"selective", "full"}) {
    const auto& cost = plan.at("choices").at("recompute").at(recompute);
    for (const char* figure : {"saved_bytes", "added_flops", "added_flops_share", "added_bytes_moved"}) {
      EXPECT_GT(cost.at(figure), 0) << recompute << " " << figure;
    }
  }
  EXPECT_GT(plan.at("choices").at("weight_codes").at("per_use").at("saved_bytes"), 0);
  const auto& optimizer = plan.at("optimizer");
  EXPECT_EQ(optimizer.at("bytes_per_parameter").dump(), R"({"gradient":4,"master":4,"moments":8,"weight":2})");
  EXPECT_EQ(optimizer.at("groups").size(), 2U);
  ASSERT_EQ(plan.at("cards").size(), 2U);
  const auto& card = plan.at("cards").at(0);
  EXPECT_EQ(card.at("card"), "H200");
  EXPECT_EQ(card.at("fits"), true);
  EXPECT_EQ(card.at("remedy"), nullptr);
  EXPECT_EQ(card.at("largest").at("seq_len"), 64);
}

TEST_F(Train, DryRunNamesWhatMakesAPlanFit) {
  const Words large = {"train", OCTET_CONFIGS "/llama3_8b.toml", "--dry-run"};
  const auto remedy = json_of(join({large, {"--json"}})).at("cards").at(0).at("remedy");
  EXPECT_EQ(remedy.at("settings").dump(),
            R"({"optimizer.gradients":"bf16","precision.weight_codes":"per_use","training.recompute":"full"})");
  EXPECT_EQ(remedy.at("seq_len"), 8192);
  const std::string text = succeed(large);
  for (const char* part :
       {"wait for backward", "recompute   none", "2 groups: 130 parameters (8.03 B elements) decay 0.1",
        "fit with precision.weight_codes = \"per_use\", training.recompute = \"full\"", "up to 2 x 8192 tokens",
        "gradients   fp32 where one op writes them"}) {
    EXPECT_TRUE(contains(text, part));
  }
  EXPECT_TRUE(contains(succeed({"train", OCTET_CONFIGS "/llama3_70b.toml", "--dry-run"}), "shard over more GPUs"));
}

TEST_F(Train, ARunPrintsTheShortPlan) {
  const std::string brief = succeed(train("run"));
  EXPECT_TRUE(contains(brief, "wait for backward"));
  EXPECT_FALSE(contains(brief, "MI300X"));
}

TEST_F(Train, SaysWhatEachProductDoes) {
  const Words words = {"--recipe", "rowwise_hp_wgrad", "--set", "precision.accumulation_dgrad=fast", "--dry-run"};
  EXPECT_TRUE(contains(succeed(train("run", words)),
                       "  product  left                     right                    accumulation\n"
                       "  forward  X e4m3fn row scales      W e4m3fn row scales      fast\n"
                       "  dgrad    dY e4m3fn row scales     W e4m3fn one scale       fast\n"
                       "  wgrad    dY bf16                  X bf16                   full\n"));
  Words as_json = words;
  as_json.emplace_back("--json");
  const auto products = json_of(train("run", as_json)).at("precision").at("products");
  EXPECT_EQ(products.size(), 3U);
  EXPECT_EQ(products.at(1), nlohmann::json::parse(R"({"product": "dgrad", "left": "dY e4m3fn row scales",
                                                      "right": "W e4m3fn one scale", "accumulation": "fast"})"));
}

TEST_F(Train, DemonstrationCountsTheDamage) {
  succeed(train("run", {"--fp8-format", "fnuz", "--demonstrate", "fnuz_max_448"}));
  const auto shown = run_json("run").at("demonstration");
  EXPECT_EQ(shown.at("fault"), "fnuz_max_448");
  EXPECT_GT(shown.at("saturated_share").get<double>(), 0.0);
  EXPECT_TRUE(contains(shown.at("refused_message").get<std::string>(), "precision.fp8_max = 448"));
}

TEST_F(Train, ShadowWatchesSomeStepsAndChangesNone) {
  succeed(train("plain"));
  const std::string out = succeed(train("watched", {"--shadow", "bf16", "--shadow-every", "2"}));
  EXPECT_EQ(trajectory("watched"), trajectory("plain"));
  for (const char* part : {"watch of step 2: worst output ", "watch of step 4", "watch of step 6", " in bf16 "}) {
    EXPECT_TRUE(contains(out, part)) << part;
  }
  const auto memory = run_json("watched").at("memory");
  EXPECT_EQ(memory.at("planned_bytes"), memory.at("measured_bytes"));
  const std::string lines = read_file(path("watched/watch.jsonl"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first.at("step"), 2);
  EXPECT_EQ(first.at("layers").size(), run_json("watched").at("precision").at("layers").size());
  EXPECT_GT(first.at("layers").at(0).at("output_sqnr_db").get<double>(), 15);
  EXPECT_FALSE(std::filesystem::exists(path("plain/watch.jsonl")));
  succeed({"report", "plain", "watched"});
  EXPECT_TRUE(contains(read_file(path("report.html")), "Numerics watch"));
}

TEST_F(Train, AResumedRunIsWatchedOn) {
  const Words shadow = {"--set", "schedule.decay=constant", "--shadow", "bf16", "--shadow-every", "2"};
  succeed(train("whole", shadow));
  succeed(train("parts", join({shadow, set("training.steps=3")})));
  write("parts/watch.jsonl", read_file(path("parts/watch.jsonl")) + R"({"step":4,"layers":[]})" + "\n");
  succeed(train("parts", join({shadow, {"--resume"}})));
  const auto without_time = [&](const char* run) {
    std::vector<nlohmann::json> steps;
    std::istringstream lines(read_file(path(std::string(run) + "/watch.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      steps.push_back(nlohmann::json::parse(line));
      steps.back().erase("seconds");
    }
    return steps;
  };
  EXPECT_EQ(without_time("whole").size(), 3U);
  EXPECT_EQ(without_time("parts"), without_time("whole"));
}

TEST_F(Train, NonFiniteStepEndsTheRunAndNamesTheTensor) {
  const Words burst = {"--set", "optimizer.lr=1e30", "--set", "checkpoint.interval=1"};
  const Outcome outcome = octet(train("run", burst));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(outcome.err.starts_with("octet: failed: step 2: loss ")) << outcome.err;
  for (const char* part : {"the first NaN or inf is in ", "the last checkpoint is run/checkpoints/step-00000001",
                           "training.on_nan = \"skip\""}) {
    EXPECT_TRUE(contains(outcome.err, part));
  }
  EXPECT_EQ(run_json("run").at("status"), "failed");
  EXPECT_TRUE(contains(trajectory("run").back(), "\"grad_norm\":null"));
}

TEST_F(Train, NonFiniteStepsAreSkippedOnRequest) {
  const std::string out = succeed(train("run", {"--set", "optimizer.lr=1e30", "--set", "training.on_nan=skip"}));
  EXPECT_TRUE(contains(out, "step 2 skipped: the first NaN or inf is in "));
  EXPECT_EQ(metrics_lines("run"), 6U);
  EXPECT_FALSE(contains(trajectory("run").front(), "skipped"));
  EXPECT_TRUE(contains(trajectory("run").back(), "\"skipped\":true"));
}

}  // namespace
}  // namespace octet::test
