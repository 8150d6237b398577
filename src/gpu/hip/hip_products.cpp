#include "gpu/hip/hip_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/timing.h"
#include "gpu/hip/hipblaslt.h"
#include "gpu/hip/mfma_products.h"
#include "gpu/product_key.h"
#include "gpu/tuning.h"

namespace octet::gpu {
namespace {

class HipProducts final : public Products {
 public:
  HipProducts(Driver& driver, HipProductsChoice choice, std::span<const HipblasltChoice> table)
      : driver_(driver), own_(open_mfma_products(driver)), choice_(choice), table_(table) {
    const auto is_of_this_arch = [&](const HipblasltChoice& row) { return row.arch == driver.facts().arch; };
    if (choice == HipProductsChoice::hipblaslt) {
      library_ = open_hipblaslt(driver);
    } else if (choice == HipProductsChoice::automatic && std::ranges::any_of(table, is_of_this_arch)) {
      try {
        library_ = open_hipblaslt(driver);
      } catch (const UserError& error) {
        problem_ = error.what();
      }
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return library_ == nullptr ? 0 : library_->workspace_bytes();
  }

  void run(const Product& product, void* workspace) override {
    if (library_ == nullptr) {
      own_->run(product, workspace);
      return;
    }
    const ProductKey key = product_key(product);
    if (const auto known = seen_.find(key); known != seen_.end()) {
      known->second.product = product;
      known->second.workspace = workspace;
      run(known->second);
      return;
    }
    const double begin = monotonic_seconds();
    Seen seen{.product = product, .workspace = workspace, .proposal = choose(product)};
    const double planned = monotonic_seconds();
    run(seen);
    seen.query_seconds = planned - begin;
    seen.first_run_seconds = monotonic_seconds() - planned;
    seen_.emplace(key, seen);
  }

  [[nodiscard]] std::string description() const override {
    if (choice_ == HipProductsChoice::hipblaslt) return library_->description();
    if (library_ != nullptr) {
      return fmt::format("{}, {} where it is faster", own_->description(), library_->description());
    }
    return problem_.empty() ? own_->description() : fmt::format("{} ({})", own_->description(), problem_);
  }

  /// The ways are our own kernel, which counts as the first, and the library's proposals.
  [[nodiscard]] std::vector<TunedProduct> tune() override {
    std::vector<TunedProduct> tuned;
    for (auto& [key, seen] : seen_) tuned.push_back(tune(seen));
    untuned_.clear();  // all are measured now
    return tuned;
  }
  [[nodiscard]] std::vector<std::string> untuned() const override { return {untuned_.begin(), untuned_.end()}; }

 private:
  /// A product that was run, on its last operands.
  struct Seen {
    Product product;
    void* workspace = nullptr;
    std::optional<int> proposal;  // of the library; without one our own kernel
    double query_seconds = 0;
    double first_run_seconds = 0;
  };

  void run(const Seen& seen) {
    if (seen.proposal) {
      library_->run(seen.product, *seen.proposal, seen.workspace);
    } else {
      own_->run(seen.product, seen.workspace);
    }
  }

  [[nodiscard]] std::optional<int> choose(const Product& p) {
    const auto row = std::ranges::find_if(table_, [&](const HipblasltChoice& each) {
      return each.arch == driver_.facts().arch && each.version == library_->version() && each.m == p.m &&
             each.n == p.n && each.k == p.k && each.operands == operand_letter(p) && each.layout == layout_letter(p) &&
             each.output == output_letter(p);
    });
    if (row != table_.end()) return row->choice;
    if (choice_ == HipProductsChoice::automatic) return std::nullopt;
    if (library_->proposals(p) > 1) untuned_.insert(text_of(p));
    return 0;
  }

  [[nodiscard]] double time(const Seen& seen, std::optional<int> proposal) {
    Seen way = seen;
    way.proposal = proposal;
    return median_seconds(driver_, [&] { run(way); });
  }

  /// Times all ways, then our own and the library's fastest once more: a gain that does not come again is noise.
  [[nodiscard]] TunedProduct tune(Seen& seen) {
    const Product& p = seen.product;
    const double own = time(seen, std::nullopt);
    std::vector<double> seconds;
    for (int i = 0; i < library_->proposals(p); ++i) seconds.push_back(time(seen, i));
    const auto best = static_cast<int>(std::ranges::min_element(seconds) - seconds.begin());
    TunedProduct tuned{.product = text_of(p),
                       .choice = {},
                       .first_seconds = time(seen, std::nullopt),
                       .seconds = time(seen, best),
                       .query_seconds = seen.query_seconds,
                       .first_run_seconds = seen.first_run_seconds};
    const bool gains = own > kWorthwhile * seconds[static_cast<std::size_t>(best)] &&
                       tuned.first_seconds > kWorthwhile * tuned.seconds;
    if (gains) {
      seen.proposal = best;
      tuned.choice =
          fmt::format("    {{\"{}\", {}, {}, {}, {}, '{}', '{}', '{}', {}}},  // {:.0f} us, own {:.0f}",
                      driver_.facts().arch, library_->version(), p.m, p.n, p.k, operand_letter(p), layout_letter(p),
                      output_letter(p), best, tuned.seconds * 1e6, tuned.first_seconds * 1e6);
    } else {
      seen.proposal.reset();
    }
    return tuned;
  }

  Driver& driver_;
  std::unique_ptr<Products> own_;
  std::unique_ptr<HipblasLt> library_;
  HipProductsChoice choice_;
  std::span<const HipblasltChoice> table_;
  std::string problem_;  // why there is no library although the table wants it
  std::map<ProductKey, Seen> seen_;
  std::set<std::string> untuned_;
};

}  // namespace

std::unique_ptr<Products> open_hip_products(Driver& driver, HipProductsChoice choice,
                                            std::span<const HipblasltChoice> table) {
  return std::make_unique<HipProducts>(driver, choice, table);
}

}  // namespace octet::gpu
