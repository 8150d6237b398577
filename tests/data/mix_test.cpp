// Mixes: exact shares, sources of their own, positions that resume, rules that are refused by name; and prefetching,
// which changes nothing.
#include "data/mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "data/mix_rules.h"
#include "data/prefetcher.h"
#include "test_files.h"
#include "token_model.h"

namespace octet {
namespace {

using test::TempFolder;
using test::user_error;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

constexpr std::size_t kSeqLen = 4;
constexpr std::uint64_t kVocab = 100'000;

/// Sources whose tokens tell source and place: source s holds 1000 s, 1000 s + 1, ...
class Sources {
 public:
  explicit Sources(const std::vector<int>& windows) {
    for (std::size_t s = 0; s < windows.size(); ++s) {
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(windows[s]) * (kSeqLen + 1));
      std::iota(tokens.begin(), tokens.end(), static_cast<std::int32_t>(1000 * s));
      ShardWriter writer(path(s), kVocab);
      writer.append(tokens);
      writer.finish();
    }
  }

  [[nodiscard]] Loader loader(std::size_t s) const {
    std::vector<Shard> shards;
    shards.emplace_back(path(s), kVocab);
    return {std::move(shards), kSeqLen, 7 + s};
  }

  /// With weights that need not sum to 1.
  [[nodiscard]] Mix mix(const std::vector<double>& weights) const {
    Names paths;
    Names rules;
    for (std::size_t s = 0; s < weights.size(); ++s) {
      paths.push_back(std::to_string(s));
      rules.push_back(std::to_string(s) + ":" + std::to_string(weights[s]));
    }
    std::vector<Mix::Source> sources;
    for (const MixSource& source : assign_sources(paths, rules)) {
      sources.push_back({source.rule, source.share, loader(sources.size())});
    }
    return Mix(std::move(sources));
  }

 private:
  [[nodiscard]] std::filesystem::path path(std::size_t s) const { return folder_ / std::to_string(s); }

  TempFolder folder_;
};

/// The first tokens of the next `count` rows.
template <typename From>
std::vector<std::int32_t> firsts_of(From& from, std::size_t count) {
  std::vector<std::int32_t> inputs(count * kSeqLen);
  std::vector<std::int32_t> targets(inputs.size());
  from.next_batch({inputs, targets, {}});
  std::vector<std::int32_t> firsts;
  for (std::size_t row = 0; row < count; ++row) firsts.push_back(inputs[row * kSeqLen]);
  return firsts;
}

TEST(Mix, EachSourceIsWithinARowOfItsShareAtAnyTime) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<int> windows;
    std::vector<double> weights;
    for (std::size_t s = 0; s < 1 + random() % 9; ++s) {
      windows.push_back(static_cast<int>(1 + random() % 20));
      weights.push_back(trial % 2 == 0 ? static_cast<double>(1 + random() % 5)
                                       : std::exp(static_cast<double>(random() % 7) - 3));
    }
    const Sources sources(windows);
    Mix mix = sources.mix(weights);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::map<std::size_t, double> given;
    for (int n = 1; n <= 1500; ++n) {
      given[static_cast<std::size_t>(firsts_of(mix, 1)[0] / 1000)] += 1;
      for (std::size_t s = 0; s < weights.size(); ++s) {
        ASSERT_LT(std::abs(given[s] - n * weights[s] / total), 1.0 + 1e-4) << "trial " << trial << ", row " << n;
      }
    }
  }
}

TEST(Mix, SourcesGoTheirOwnWay) {
  const Sources sources({7, 30, 3});
  Mix mix = sources.mix({0.5, 0.2, 0.3});
  std::vector<std::vector<std::int32_t>> seen(3);
  for (const std::int32_t first : firsts_of(mix, 400)) seen[static_cast<std::size_t>(first / 1000)].push_back(first);
  for (std::size_t s = 0; s < 3; ++s) {
    Loader alone = sources.loader(s);
    EXPECT_EQ(seen[s], firsts_of(alone, seen[s].size())) << "source " << s;
  }
  EXPECT_EQ(seen[0].size(), 200U);
  EXPECT_EQ(seen[1].size(), 80U);
}

TEST(Mix, OfOneSourceIsItsLoader) {
  const Sources sources({11});
  Mix mix(sources.loader(0));
  Loader alone = sources.loader(0);
  EXPECT_EQ(firsts_of(mix, 40), firsts_of(alone, 40));
  EXPECT_EQ(mix.state().sources.at(0).position, alone.state());
}

TEST(Mix, OrderIgnoresTheBatchSplitAndResumesAnywhere) {
  const Sources sources({7, 30, 3});
  const std::vector<double> weights{0.61, 0.29, 0.1};
  Mix whole = sources.mix(weights);
  const auto all = firsts_of(whole, 120);
  Mix before = sources.mix(weights);
  for (std::size_t stop = 1; stop < 120; ++stop) {
    EXPECT_EQ(firsts_of(before, 1)[0], all[stop - 1]);
    Mix after = sources.mix(weights);
    after.restore(before.state());
    EXPECT_EQ(after.state(), before.state());
    EXPECT_EQ(firsts_of(after, 120 - stop),
              std::vector<std::int32_t>(all.begin() + static_cast<long>(stop), all.end()));
  }
}

TEST(Mix, RefusesAPositionOfAnother) {
  const Sources sources({7, 30, 3});
  Mix mix = sources.mix({1, 2, 4});
  (void)firsts_of(mix, 50);
  Mix fewer = sources.mix({1, 2});
  EXPECT_THAT(user_error([&] { fewer.restore(mix.state()); }), HasSubstr("3 sources of data, data.mix makes 2"));
  Mix other = sources.mix({1, 2, 3});
  EXPECT_THAT(user_error([&] { other.restore(mix.state()); }),
              AllOf(HasSubstr("source 3 of data is \"2:4"), HasSubstr("that of data.mix \"2:3")));
  MixState moved = mix.state();
  moved.sources[0].position.epoch += 2;
  EXPECT_THAT(user_error([&] { mix.restore(moved); }), HasSubstr("are not in their shares"));
  const Sources longer({7, 60, 3});  // the same rules over other data
  Mix grown = longer.mix({1, 2, 4});
  MixState second_epoch = mix.state();
  EXPECT_EQ(user_error([&] { mix.restore(second_epoch); }), "");
  (void)firsts_of(mix, 60);
  EXPECT_THAT(user_error([&] { grown.restore(mix.state()); }), HasSubstr("are not in their shares"));
}

// ---- rules ----------------------------------------------------------------------------------------------------------

const Names kPaths{"data/web.1.tok", "data/web.2.tok", "data/code.tok", "C:\\books.tok"};

TEST(MixRules, GiveEachFileToTheFirstMatch) {
  const auto sources = assign_sources(kPaths, {"*code*: 3", "*web.1*: 0.5", "*: 0.5"});
  ASSERT_EQ(sources.size(), 3U);
  EXPECT_EQ(sources[0].paths, Names{"data/code.tok"});
  EXPECT_EQ(sources[1].paths, Names{"data/web.1.tok"});
  EXPECT_EQ(sources[2].paths, (Names{"data/web.2.tok", "C:\\books.tok"}));
  EXPECT_EQ(sources[0].share, kWholeMix / 4 * 3);
  EXPECT_EQ(sources[1].share, kWholeMix / 8);
  EXPECT_EQ(assign_sources(kPaths, {"C:*: 1", "* : 1"})[0].paths, Names{"C:\\books.tok"});
}

TEST(MixRules, NoneMakeOneSource) {
  const auto sources = assign_sources(kPaths, {});
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].paths, kPaths);
  EXPECT_EQ(sources[0].share, kWholeMix);
}

TEST(MixRules, SharesMakeAWhole) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    Names paths;
    Names rules;
    for (std::uint64_t i = 0; i <= random() % 50; ++i) {
      paths.push_back("f" + std::to_string(i));
      rules.push_back(paths.back() + ": " + std::to_string(1 + random() % 1000) + "e-" + std::to_string(random() % 4));
    }
    std::uint64_t whole = 0;
    for (const MixSource& source : assign_sources(paths, rules)) whole += source.share;
    ASSERT_EQ(whole, kWholeMix);
  }
}

TEST(MixRules, NameWhatIsWrong) {
  const auto error_of = [](Names rules) { return user_error([&] { (void)assign_sources(kPaths, rules); }); };
  EXPECT_EQ(error_of({"*: 1"}), "");
  EXPECT_THAT(error_of({"data/*"}), AllOf(HasSubstr("data.mix \"data/*\" has no weight"), HasSubstr("GLOB: WEIGHT")));
  EXPECT_THAT(error_of({": 1"}), HasSubstr("has no pattern"));
  EXPECT_THAT(error_of({"*:"}), HasSubstr("the weight \"\" is no number"));
  EXPECT_THAT(error_of({"*: 0.5x"}), HasSubstr("the weight \"0.5x\" is no number"));
  EXPECT_THAT(error_of({"*: nan"}), HasSubstr("\"nan\" is no number"));
  EXPECT_THAT(error_of({"*: inf"}), HasSubstr("\"inf\" is no number"));
  EXPECT_THAT(error_of({"*: 0"}), HasSubstr("must be above 0, is 0"));
  EXPECT_THAT(error_of({"*: -0.5"}), HasSubstr("must be above 0, is -0.5"));
  EXPECT_THAT(error_of({"*web*: 1", "*: 1e-30"}), HasSubstr("less than a 2^32nd of all weights"));
  EXPECT_THAT(error_of({"*web*: 1e308", "*: 1e308"}), HasSubstr("the weights sum to inf"));
  EXPECT_THAT(error_of({"data/*: 1"}), HasSubstr("no rule for C:\\books.tok of data.train"));
  EXPECT_THAT(error_of({"*: 1", "*code*: 1"}), HasSubstr("\"*code*: 1\" takes no file of data.train"));
}

TEST(MixRules, DamagedOnesAreReadOrRefused) {
  std::mt19937_64 random(1);
  constexpr std::string_view kCharacters = "*?:.0123456789e-+ naif/\\\x01\x80";
  int accepted = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    std::string rule = "*: 0.75";
    for (int change = 0; change < 2; ++change) {
      rule[random() % rule.size()] = kCharacters[random() % kCharacters.size()];
    }
    try {
      accepted += assign_sources(kPaths, {rule}).front().share == kWholeMix ? 1 : 0;
    } catch (const UserError&) {
      continue;
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_LT(accepted, 4500);
}

// ---- prefetching ----------------------------------------------------------------------------------------------------

TEST(Prefetcher, HandsOutWhatItsMixWould) {
  const Sources sources({7, 30, 3});
  Mix mix = sources.mix({3, 2, 1});
  Prefetcher prefetcher(sources.mix({3, 2, 1}), 5 * kSeqLen, false);
  EXPECT_EQ(prefetcher.state(), mix.state());
  for (int batch = 0; batch < 30; ++batch) {
    EXPECT_EQ(firsts_of(prefetcher, 5), firsts_of(mix, 5));
    EXPECT_EQ(prefetcher.state(), mix.state()) << "a batch that was made ahead is not in the state";
  }
  Prefetcher resumed(sources.mix({3, 2, 1}), 5 * kSeqLen, false);
  resumed.restore(prefetcher.state());
  EXPECT_EQ(firsts_of(resumed, 5), firsts_of(mix, 5));
}

TEST(Prefetcher, BringsDocuments) {
  std::mt19937_64 random(1);
  const TempFolder folder;
  const auto tokens = test::random_documents(random, 90, 6, test::Documents::marked);
  test::write_model(folder / "a", tokens, test::Documents::marked);
  std::vector<Shard> shards;
  shards.emplace_back(folder / "a", test::kModelVocab);
  Prefetcher prefetcher(Mix(Loader(std::move(shards), 8, 1, DataOrder::as_stored)), 8, true);
  for (const test::ModelRow& expected : test::model_rows({tokens}, 8)) {
    test::ModelRow row = expected;
    for (auto* part : {&row.inputs, &row.targets, &row.document_start}) part->assign(8, -7);
    prefetcher.next_batch({row.inputs, row.targets, row.document_start});
    EXPECT_EQ(row, expected);
  }
}

TEST(Prefetcher, SaysWhatWentWrongToWhoTakesTheBatch) {
  const Sources sources({7});
  Prefetcher prefetcher(Mix(sources.loader(0)), kSeqLen + 1, false);  // no whole rows
  std::vector<std::int32_t> tokens(kSeqLen + 1);
  EXPECT_THROW(prefetcher.next_batch({tokens, tokens, {}}), Failure);
  EXPECT_THAT(user_error([&] { Mix(sources.loader(0)).require_documents(); }),
              HasSubstr("does not say where documents end"));
}

}  // namespace
}  // namespace octet
