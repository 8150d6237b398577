// The permutation of tokens against the oracle, its casts byte by byte.
#include "ops/selftest/checks/moe_cast_checks.h"

namespace octet::ops::selftest {
namespace {

/// Tokens, with a poisoned one behind them, and what the routed rows are.
struct Tokens {
  std::vector<bf16> x;         // [tokens + 1, dim]
  std::vector<bf16> gathered;  // [used, dim]

  Tokens(const GatherCase& c, const RoutedRows& routed)
      : x(with_poison(make_content(c.content, routed.tokens * c.dim), c.dim)) {
    for (const std::int32_t choice : routed.choices) {
      const auto token = x.begin() + choice / c.top_k * c.dim;
      gathered.insert(gathered.end(), token, token + c.dim);
    }
  }
};

/// Rows of tokens, or where `direct` the routed rows themselves; stored, or their codes and maxima alone.
void check_gather(Trial& trial, const GatherCase& c, const RoutedRows& routed, const Tokens& tokens, bool direct,
                  bool stored) {
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, routed.rows, c.dim);
  const GroupMaxima columns = group_maxima(trial, c.measured.columns, routed, c.dim);
  const auto y = trial.output<bf16>("y", stored ? routed.rows * c.dim : 0);
  const auto x = direct ? with_poison(tokens.gathered, (routed.rows - routed.used) * c.dim) : tokens.x;
  trial.run(GatherRows{trial.input("x", x), direct ? nullptr : routed.choice_of_row, routed.groups,
                       stored ? y.data() : nullptr, codes, columns, c.top_k, c.dim, stored});
  if (stored) {
    trial.expect_same<bf16>("y", y.first(tokens.gathered.size()), tokens.gathered);
    expect_untouched<bf16>(trial, "y", y.subspan(tokens.gathered.size()));
  }
  expect_row_codes(trial, routed, codes, tokens.gathered, c.dim);
  expect_group_maxima(trial, routed, columns, tokens.gathered, c.dim);
}

void check_combine(Trial& trial, const CombineCase& c, bool has_base, bool in_place) {
  const Index choices = c.rows * c.top_k;
  auto routed = random_bf16("routed", choices * c.dim);
  if (c.non_finite) add_non_finite(routed);
  const auto base = random_bf16("base", has_base ? c.rows * c.dim : 0);
  std::vector<std::int32_t> row_of_choice(static_cast<std::size_t>(choices));  // a permutation
  for (Index choice = 0; choice < choices; ++choice) {
    row_of_choice[choices - 1 - choice] = static_cast<std::int32_t>(choice);
  }
  const auto out = in_place ? trial.updated("out in place", base) : trial.output<bf16>("out", c.rows * c.dim);
  const bf16* from = in_place ? out.data() : trial.input("base", base);
  trial.run(CombineRows{trial.input("routed", routed), trial.input("row_of_choice", row_of_choice),
                        has_base ? from : nullptr, out.data(), c.rows, c.top_k, c.dim, has_base});

  const Vector wide = reference::widen(routed);
  const Vector wide_base = reference::widen(base);
  const Vector want = reference::combine_rows(wide, row_of_choice, wide_base, c.top_k, c.dim);
  const Vector terms = reference::combine_rows(magnitudes(wide), row_of_choice, magnitudes(wide_base), c.top_k, c.dim);
  trial.expect_bf16("out", out, want, fraction(static_cast<double>(c.top_k) * kRoundoffF32, terms));
}

}  // namespace

void OpCheck<GatherRows>::run(Trial& trial, const GatherCase& c) {
  const RoutedRows routed(trial, c.split, c.top_k);
  const Tokens tokens(c, routed);
  for (const bool direct : {false, true}) {
    check_gather(trial, c, routed, tokens, direct, true);
    if (c.codes || c.measured.columns) check_gather(trial, c, routed, tokens, direct, false);
  }
}

void OpCheck<GatherRowsCast>::run(Trial& trial, const GatherCase& c) {
  const RoutedRows routed(trial, c.split, c.top_k);
  const Tokens tokens(c, routed);
  const auto amax = routed.column_maxima(tokens.gathered, c.dim);
  const GroupCodes codes = group_codes(trial, *c.codes, routed, amax, c.dim);
  trial.run(GatherRowsCast{trial.input("x", tokens.x), routed.choice_of_row, routed.groups, codes, c.top_k, c.dim});
  expect_group_codes(trial, routed, codes, tokens.gathered, c.dim);

  // Maxima of something else: a cast that looks for its own, or that does not saturate, differs.
  const auto other = reference::row_maxima(random_bf16("amax", std::ssize(amax)), std::ssize(amax), 1);
  const GroupCodes direct = group_codes(trial, *c.codes, routed, other, c.dim);
  const auto rows = with_poison(tokens.gathered, (routed.rows - routed.used) * c.dim);
  trial.run(GatherRowsCast{trial.input("routed x", rows), nullptr, routed.groups, direct, c.top_k, c.dim});
  expect_group_codes(trial, routed, direct, tokens.gathered, c.dim);
}

void OpCheck<CombineRows>::run(Trial& trial, const CombineCase& c) {
  check_combine(trial, c, false, false);
  check_combine(trial, c, true, false);
  check_combine(trial, c, true, true);
}

}  // namespace octet::ops::selftest
