// octet bench on the CPU: the figures that it prints hang together. Times themselves are not judged.
#include <algorithm>
#include <map>
#include <set>

#include "cli/cli_fixture.h"

namespace octet::test {
namespace {

using Bench = CliTest;
using Json = nlohmann::json;

const std::string kDebugModel = OCTET_CONFIGS "/llama3_debug.toml";

/// The one row of an op, or of any where that is empty, that has all of `parts` in its text.
Json row_of(const Json& rows, const std::string& op, const Words& parts) {
  Json found;
  for (const Json& row : rows) {
    const auto text = row.at("what").get<std::string>();
    if (!op.empty() && row.at("op") != op) continue;
    if (!std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return contains(text, part); }))
      continue;
    EXPECT_TRUE(found.is_null()) << op << " has two such rows: " << text;
    found = row;
  }
  EXPECT_FALSE(found.is_null()) << "no " << op;
  return found;
}

/// The debug model has 2 layers, 64 wide, 192 in the feed-forward network, and 256 tokens; with --rows 32 it has 32.
TEST_F(Bench, QuantizeTimesEveryMemoryBoundOpOfAStep) {
  const auto bench = json_of({"bench", "quantize", kDebugModel, "--device", "cpu", "--rows", "32", "--set",
                              "precision.min_size=0", "--set", "optimizer.moments=bf16", "--json"});
  EXPECT_EQ(bench.at("tokens"), 32);
  EXPECT_EQ(bench.at("recipe"), "rowwise");
  EXPECT_GT(bench.at("copy_bytes_per_second").get<double>(), 0.0);
  EXPECT_GT(bench.at("fill_bytes_per_second").get<double>(), 0.0);
  EXPECT_GT(bench.at("share_of_copy").get<double>(), 0.0);
  std::set<std::string> names;
  double seconds = 0;
  double equal_copy_seconds = 0;
  for (const Json& row : bench.at("ops")) {
    names.insert(row.at("op").get<std::string>());
    EXPECT_GT(row.at("bytes").get<double>(), 0.0) << row;
    EXPECT_LE(row.at("fastest_seconds"), row.at("seconds")) << row;
    EXPECT_LE(row.at("seconds"), row.at("slowest_seconds")) << row;
    const double rate = row.at("bytes").get<double>() / row.at("seconds").get<double>();
    const double share = rate / bench.at("copy_bytes_per_second").get<double>();
    EXPECT_NEAR(row.at("share_of_copy").get<double>(), share, 1e-9 * share) << row;
    EXPECT_EQ(row.at("below_budget"), share < 0.85) << row;
    const auto equal_copy_rate = row.at("equal_copy_bytes_per_second").get<double>();
    const double share_of_equal = rate / equal_copy_rate;
    EXPECT_NEAR(row.at("share_of_equal_copy").get<double>(), share_of_equal, 1e-9 * share_of_equal) << row;
    EXPECT_EQ(row.at("below_budget_of_equal_copy"), share_of_equal < 0.85) << row;
    const auto calls = row.at("calls_per_step").get<double>();
    seconds += row.at("seconds").get<double>() * calls;
    equal_copy_seconds += row.at("bytes").get<double>() / equal_copy_rate * calls;
  }
  EXPECT_NEAR(bench.at("seconds_per_step").get<double>(), seconds, 1e-9 * seconds);
  EXPECT_NEAR(bench.at("share_of_equal_copies").get<double>(), equal_copy_seconds / seconds, 1e-9);
  EXPECT_EQ(names, (std::set<std::string>{"embedding", "embedding_backward", "rmsnorm", "rmsnorm_backward", "rope",
                                          "swiglu", "swiglu_backward", "quantize_rows", "maxima", "cast",
                                          "cross_entropy", "sum", "zero", "sum_of_squares", "adamw"}));
}

/// Of each later micro-batch, inputs and targets go to where the first's lie.
TEST_F(Bench, QuantizeCountsTokenCopiesOfLaterMicroBatches) {
  const auto bench = json_of({"bench", "quantize", kDebugModel, "--device", "cpu", "--rows", "32", "--set",
                              "training.accumulate=3", "--json"});
  EXPECT_EQ(row_of(bench.at("ops"), "copy", {}).at("calls_per_step"), 4);
}

TEST_F(Bench, QuantizeCountsTheCallsOfAStep) {
  const auto bench = json_of({"bench", "quantize", kDebugModel, "--device", "cpu", "--rows", "32", "--set",
                              "precision.min_size=0", "--set", "training.accumulate=3", "--json"});
  const Json& rows = bench.at("ops");
  const auto calls = [&](const std::string& op, const Words& parts) {
    return row_of(rows, op, parts).at("calls_per_step").get<int>();
  };
  EXPECT_EQ(calls("swiglu", {"rows 32, dim 192", "row codes, column maxima"}), 3 * 2);
  EXPECT_EQ(calls("rmsnorm", {"delta", "row codes"}), 3 * 3);  // but for the first, whose stream has no delta
  EXPECT_EQ(calls("rope", {"inverse, row codes, column maxima"}), 3 * 2);
  EXPECT_EQ(calls("quantize_rows", {"rows 32, cols 64"}), 3 * 2);        // wo's input alone
  EXPECT_EQ(calls("cast", {"rows 32, cols 384; transposed"}), 3 * 2);    // dY of w13
  EXPECT_EQ(calls("cast", {"rows 384, cols 64; as stored, trans"}), 2);  // w13, once after the update
  EXPECT_EQ(calls("adamw", {"rows 64, cols 192", "maxima"}), 2);         // w2
  EXPECT_EQ(calls("maxima", {"rows 64, cols 192"}), 0);
  EXPECT_EQ(row_of(rows, "swiglu", {"row codes"}).at("bytes"), 32 * 192 * 7 + 32 * 4);
  EXPECT_EQ(row_of(rows, "rope", {"inverse"}).at("bytes"), 32 * (96 + 128) * 2 + 32 * 128 + 32 * 4);
}

TEST_F(Bench, QuantizeOfOneMatrixStillTimesCasts) {
  const auto bench = json_of({"bench", "quantize", "--rows", "64", "--cols", "64", "--threads", "1", "--json"});
  EXPECT_EQ(bench.at("threads"), 1);
  EXPECT_EQ(bench.at("results").size(), 2U * 4 * 10);
}

TEST_F(Bench, QuantizeOfOneMatrixOnADeviceTimesCastsAloneAndFused) {
  const auto bench = json_of({"bench", "quantize", "--device", "cpu", "--rows", "48", "--cols", "64", "--json"});
  EXPECT_EQ(bench.at("rows"), 48);
  EXPECT_EQ(bench.at("cols"), 64);
  std::map<std::string, Json> casts;
  for (const Json& cast : bench.at("casts")) {
    const double rate = cast.at("bytes").get<double>() / cast.at("seconds").get<double>();
    EXPECT_NEAR(cast.at("bytes_per_second").get<double>(), rate, 1e-9 * rate) << cast;
    const double share = rate / bench.at("copy_bytes_per_second").get<double>();
    EXPECT_NEAR(cast.at("share_of_copy").get<double>(), share, 1e-9 * share) << cast;
    casts[cast.at("what").get<std::string>()] = cast;
  }
  EXPECT_EQ(casts.size(), 6U);
  EXPECT_EQ(casts.at("row codes").at("bytes"), 48 * 64 * 3 + 48 * 4);
  EXPECT_EQ(casts.at("column codes under known maxima").at("bytes"), 48 * 64 * 3 + (48 + 64) * 2);
  EXPECT_EQ(casts.at("column codes from maxima on").at("bytes"), 48 * 64 * 5 + (48 + 64) * 4);
  ASSERT_EQ(bench.at("fused").size(), 2U);
  const Json& norm = bench.at("fused").at(0);
  EXPECT_EQ(norm.at("producer"), "RMSNorm");
  EXPECT_EQ(norm.at("apart_bytes"), 48 * 64 * 7 + 64 * 2 + 48 * 8);
  EXPECT_EQ(norm.at("fused_bytes"), 48 * 64 * 3 + 64 * 2 + 48 * 8);
}

TEST_F(Bench, QuantizeRefusesWhatItCannotMeasure) {
  refuses({"bench", "quantize", "--device", "cpu", "--cols", "0"}, {"16384 x 0", "--cols"});
  refuses({"bench", "quantize", "--device", "cpu", "--cols", "64", "--set", "model.dim=64"}, {"--cols", "--set"});
  refuses({"bench", "quantize", kDebugModel, "--cols", "64"}, {"--cols", "--set"});
  refuses({"bench", "quantize", "--rows", "0"}, {"0 x 4096", "--rows"});
  refuses({"bench", "quantize", kDebugModel, "--rows", "0"}, {"training.seq_len", "0"});
  refuses({"bench", "quantize", "nowhere.toml"}, {"nowhere.toml"});
}

TEST_F(Bench, GemmTimesEveryProductOfAStepAndItsVariants) {
  const auto bench = json_of({"bench", "gemm", kDebugModel, "--device", "cpu", "--set", "precision.min_size=0", "--set",
                              "training.batch_size=1", "--json"});
  std::map<std::string, double> best;
  std::map<std::string, double> calls;
  for (const Json& row : bench.at("products")) {
    const double share = row.at("share_of_best").get<double>();
    EXPECT_GT(share, 0.0) << row;
    EXPECT_LE(share, 1.0) << row;
    const std::string precision = row.at("operands") == "bf16" ? "bf16" : "fp8";
    best[precision] = std::max(best[precision], share);
    calls[precision] += row.at("calls_per_step").get<double>();
    const double flops = 2.0 * row.at("m").get<double>() * row.at("n").get<double>() * row.at("k").get<double>();
    const double rate = flops / row.at("seconds").get<double>();
    EXPECT_NEAR(row.at("flops_per_second").get<double>(), rate, 1e-9 * rate) << row;
  }
  EXPECT_EQ(best, (std::map<std::string, double>{{"bf16", 1.0}, {"fp8", 1.0}}));
  // 2 layers of 4 linear layers, and the head, which no recipe converts here; 3 products each
  EXPECT_EQ(calls, (std::map<std::string, double>{{"bf16", 27.0}, {"fp8", 24.0}}));
  EXPECT_EQ(row_of(bench.at("products"), "", {"m 64, n 64, k 64; e4m3fn", "-> bf16, fast"}).at("calls_per_step"), 2);
  for (const char* accumulation : {"fast", "full"}) {
    for (const bool adds : {false, true}) {
      const auto variants =
          std::count_if(bench.at("products").begin(), bench.at("products").end(), [&](const Json& row) {
            return row.at("m") == 384 && row.at("n") == 64 && row.at("operands") == "e4m3fn" &&
                   row.at("adds") == adds && row.at("accumulation") == accumulation;
          });
      EXPECT_EQ(variants, 1) << accumulation << adds;
    }
  }
}

TEST_F(Bench, AttentionCountsTheCausalHalf) {
  const auto bench =
      json_of({"bench", "attention", kDebugModel, "--device", "cpu", "--seq", "16", "--seq", "128", "--json"});
  ASSERT_EQ(bench.at("rows").size(), 4U);
  for (const Json& row : bench.at("rows")) {
    const double length = row.at("seq_len").get<double>();
    EXPECT_EQ(row.at("batch").get<double>() * length, 256.0);  // the tokens of the micro-batch
    EXPECT_EQ(row.at("heads"), 4);
    EXPECT_EQ(row.at("kv_heads"), 2);
    const double products = row.at("op") == "attention" ? 2 : 5;
    const double flops = products * 256.0 * 4 * 16 * (length + 1);
    const double rate = flops / row.at("seconds").get<double>();
    EXPECT_NEAR(row.at("flops_per_second").get<double>(), rate, 1e-9 * rate) << row;
    EXPECT_GT(row.at("share_of_product").get<double>(), 0.0) << row;
  }
  EXPECT_GT(bench.at("contenders").at(0).at("product_flops_per_second").get<double>(), 0.0);
  refuses({"bench", "attention", kDebugModel, "--seq", "0"}, {"--seq", "0"});
  const auto packed =
      json_of({"bench", "attention", kDebugModel, "--device", "cpu", "--seq", "64", "--document", "10", "--json"});
  ASSERT_EQ(packed.at("rows").size(), 2U);
  for (const Json& row : packed.at("rows")) EXPECT_EQ(row.at("document_length"), 10);
  refuses({"bench", "attention", kDebugModel, "--document", "0"}, {"--document", "0"});
}

TEST_F(Bench, EveryMeasurementRefusesADeviceThatThereIsNot) {
  for (const char* what : {"quantize", "gemm", "attention", "step"}) {
    refuses({"bench", what, kDebugModel, "--device", "tpu"}, {"no device \"tpu\"", "cpu, cuda, cuda:N, hip and hip:N"});
  }
}

/// Four experts share 120 rows of 32, in a feed-forward network of 48.
TEST_F(Bench, MoeTimesEveryOpOfEverySplitInBothPrecisions) {
  const auto bench = json_of({"bench", "moe", "--device", "cpu", "--experts", "4", "--rows", "120", "--dim", "32",
                              "--ffn-dim", "48", "--json"});
  ASSERT_EQ(bench.at("layers").size(), 12U);
  std::set<std::string> seen;
  for (const Json& layer : bench.at("layers")) {
    seen.insert(layer.at("precision").get<std::string>() + " " + layer.at("split").get<std::string>());
    const bool fp8 = layer.at("precision") != "bf16";
    EXPECT_GT(layer.at("seconds").get<double>(), 0.0);
    EXPECT_EQ(layer.contains("seconds_with_weight_casts"), fp8);
    double flops = 0;
    std::map<std::string, double> seconds;
    for (const Json& call : layer.at("calls")) {
      flops += call.at("flops").get<double>();
      seconds[call.at("op").get<std::string>()] = call.at("seconds").get<double>();
      EXPECT_GT(call.at("share_of_copy").get<double>(), 0.0) << call;
    }
    const std::map<std::string, std::size_t> ops{{"fp8", 15}, {"fp8_casts_apart", 22}, {"bf16", 8}};
    EXPECT_EQ(seconds.size(), ops.at(layer.at("precision").get<std::string>()));
    EXPECT_EQ(flops, 3.0 * 3 * 2 * 120 * 32 * 48);  // three products, forward and twice backward
    const double forward = seconds.at("x w13^T") + seconds.at("y w2^T");
    const double rate = 3.0 * 2 * 120 * 32 * 48 / forward;
    EXPECT_NEAR(layer.at("forward_flops_per_second").get<double>(), rate, 1e-9 * rate);
  }
  EXPECT_EQ(seen.size(), 12U);
  refuses({"bench", "moe", "--device", "cpu", "--rows", "3"}, {"32 experts", "3 rows"});
  refuses({"bench", "moe", "--device", "cpu", "--dim", "40"}, {"multiples of 16", "40"});
  refuses({"bench", "moe", "--device", "tpu"}, {"no device \"tpu\""});
}

/// 60 tokens choose two of four experts each, beside a shared one.
TEST_F(Bench, MoeTimesTheWholeLayer) {
  const Words layer{"bench", "moe",   "--layer", "--device",  "cpu", "--experts",
                    "4",     "--dim", "32",      "--ffn-dim", "48",  "--json"};
  const auto bench = json_of(join({layer, {"--rows", "120", "--top-k", "2"}}));
  EXPECT_EQ(bench.at("tokens"), 60);
  ASSERT_EQ(bench.at("whole_layers").size(), 4U);
  for (const Json& whole : bench.at("whole_layers")) {
    EXPECT_GT(whole.at("seconds").get<double>(), 0.0);
    EXPECT_EQ(whole.contains("seconds_with_weight_casts"), whole.at("precision") == "fp8");
    std::map<std::string, double> flops;
    for (const Json& op : whole.at("ops")) flops[op.at("op").get<std::string>()] = op.at("flops").get<double>();
    EXPECT_EQ(flops.at("grouped_gemm"), 2.0 * 3 * 2 * 120 * 32 * 48);
    EXPECT_EQ(flops.at("grouped_wgrad"), 3.0 * 2 * 120 * 32 * 48);
    EXPECT_EQ(flops.at("gemm"), 3.0 * (3 * 2 * 60 * 32 * 48 + 2 * 60 * 32 * 4));  // the shared expert, the router
  }
  refuses(join({layer, {"--rows", "120", "--top-k", "7"}}), {"7 of 4 experts", "--top-k"});
  refuses(join({layer, {"--top-k", "3", "--rows", "121"}}), {"121 routed rows", "--rows"});
}

TEST_F(Bench, StepComparesWithCeilingsAndPlan) {
  const auto bench = json_of({"bench", "step", kDebugModel, "--steps", "1", "--json"});
  for (const auto& [name, rate] : bench.at("ceilings").items()) EXPECT_GT(rate.get<double>(), 0.0) << name;
  for (const Json& recipe : bench.at("recipes")) {
    EXPECT_GT(recipe.at("planned_bytes").get<double>(), 0.0);
    EXPECT_LE(recipe.at("peak_bytes"), recipe.at("planned_bytes"));
    EXPECT_GE(recipe.at("peak_bytes").get<double>(), 0.98 * recipe.at("planned_bytes").get<double>());
    EXPECT_FALSE(recipe.contains("launches_per_step"));  // of a GPU
    for (const Json& op : recipe.at("ops")) EXPECT_GT(op.at("share_of_ceiling").get<double>(), 0.0) << op;
  }
}

TEST_F(Bench, StepTimesBothPrecisions) {
  const auto bench = json_of({"bench", "step", OCTET_CONFIGS "/llama3_debug.toml", "--steps", "1", "--json"});
  ASSERT_EQ(bench.at("recipes").size(), 2U);
  EXPECT_EQ(bench.at("recipes").at(0).at("recipe"), "bf16");
  EXPECT_EQ(bench.at("recipes").at(1).at("recipe"), "rowwise");
  EXPECT_GT(bench.at("fp8_over_bf16").get<double>(), 0.0);
}

TEST_F(Bench, StepSharesTheTimeOutInEveryRecipe) {
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_hp_wgrad"}) {
    const auto bench = json_of({"bench", "step", OCTET_CONFIGS "/llama3_debug.toml", "--set",
                                std::string("precision.recipe=") + recipe, "--steps", "1", "--json"});
    EXPECT_EQ(bench.at("recipes").at(1).at("recipe"), recipe);
    for (const auto& times : bench.at("recipes")) {
      double shares = 0;
      for (const auto& op : times.at("ops")) shares += op.at("share").get<double>();
      EXPECT_NEAR(shares, 1.0, 1e-9) << times.at("recipe");
      EXPECT_GT(times.at("elementwise_share").get<double>(), 0.0);
      EXPECT_LT(times.at("elementwise_share").get<double>(), 1.0);
    }
  }
}

}  // namespace
}  // namespace octet::test
