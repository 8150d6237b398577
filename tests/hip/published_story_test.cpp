// The tables of docs/amd.md: casts as they are written first beside Octet's, counted on simulated GPUs. Both make the
// same codes. scripts/amd_counts writes the page anew.
#include <cstdlib>
#include <fstream>
#include <type_traits>

#include "hip/counted_fixture.h"
#include "hip/kernels/plain_casts.h"

namespace octet::test {
namespace {

using ops::CastLayout;
using ops::ScaleAxis;

constexpr const char* kPage = "docs/amd.md";  // tests run in the root of the tree
constexpr std::string_view kBegin = "<!-- counts: scripts/amd_counts writes what follows -->\n";
constexpr std::string_view kEnd = "<!-- end of counts -->\n";

/// Of the codes, as what both sides leave is compared.
struct Codes {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inverse;

  friend bool operator==(const Codes&, const Codes&) = default;
};

struct Matrix {
  const bf16* x;
  std::int64_t rows, cols;

  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
};

/// A row of the table.
struct Line {
  std::string what;
  std::int64_t rows, cols;
  LaunchTotals totals;
};

gpu::LaunchShape grid(std::int64_t items, unsigned threads, unsigned blocks_y = 1) {
  return {.blocks_x = ops::gpu::blocks_for(items, threads), .blocks_y = blocks_y, .threads = threads};
}

/// A processor's lines, in the order of the table.
class Story {
 public:
  Story(CountedGpu& gpu, fp8::ScaleRule rule) : gpu_(gpu), rule_(rule) {}

  void cast_by_row(const Matrix& m) {
    const Codes plain = add("by row, five launches: magnitude, amax, scale, product, clamp and cast", m,
                            [&](LaunchTotals& totals) { return plain_rows(m, totals); });
    const Codes ours = add("by row, Octet's `quantize_rows`", m, [&](LaunchTotals& totals) {
      const ops::RowCodes codes{gpu_.room<std::uint8_t>(m.elements()), gpu_.room<float>(m.rows), nullptr, rule_, true};
      totals += gpu_.run(ops::QuantizeRows{m.x, codes, {}, m.rows, m.cols});
      return download(codes.codes, m.elements(), codes.scale_inverse, m.rows);
    });
    EXPECT_EQ(plain, ours) << "by row";
  }

  void cast_by_column(const Matrix& m, const bf16* column_amax) {
    const Codes plain = add("by column, a lane a column, strides known at run time", m, [&](LaunchTotals& totals) {
      const CastColumns a{
          m.x, gpu_.room<std::uint8_t>(m.elements()), gpu_.room<float>(m.cols), m.rows, m.cols, m.cols, 1, 1, m.rows};
      totals += gpu_.launch("plain_cast_columns", grid(m.cols, 64), a);
      return download(a.codes, m.elements(), a.scale_inverse, m.cols);
    });
    const Codes ours =
        add("by column, Octet's `cast` under maxima that the producer left", m, [&](LaunchTotals& totals) {
          const CastLayout to{gpu_.room<std::uint8_t>(m.elements()), gpu_.room<float>(m.cols), ScaleAxis::row};
          totals += gpu_.run(ops::Cast{m.x, nullptr, column_amax, {}, to, rule_, m.rows, m.cols});
          return download(to.codes, m.elements(), to.scale_inverse, m.cols);
        });
    EXPECT_EQ(plain, ours) << "by column";
  }

  void maxima_of_columns(const Matrix& m) {
    const auto by_atomics = [&](const char* kernel) {
      return [&, kernel](LaunchTotals& totals) {
        constexpr std::int64_t kRowsEach = 64;
        const ColumnMaxima a{m.x, gpu_.room<std::uint32_t>(m.cols), m.rows, m.cols, kRowsEach};
        totals += gpu_.launch(kernel, grid(m.cols, 256, ops::gpu::blocks_for(m.rows, kRowsEach)), a);
        const auto bits = gpu_.download(a.amax, m.cols);
        return std::vector<std::uint16_t>(bits.begin(), bits.end());
      };
    };
    const auto ordered =
        add("maxima of columns by atomics that acquire and release", m, by_atomics("plain_column_maxima_ordered"));
    const auto relaxed = add("maxima of columns by relaxed atomics", m, by_atomics("plain_column_maxima_relaxed"));
    const auto ours =
        add("maxima of columns, Octet's `maxima`: partial ones, then their fold", m, [&](LaunchTotals& totals) {
          bf16* amax = gpu_.room<bf16>(m.cols);
          totals += gpu_.run(ops::Maxima{m.x, nullptr, amax, m.rows, m.cols});
          return bits_of(amax, m.cols);
        });
    EXPECT_EQ(ordered, ours);
    EXPECT_EQ(relaxed, ours);
  }

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }

 private:
  /// Adds a line of what `count` counts, and gives its result.
  template <typename Count>
  std::invoke_result_t<Count, LaunchTotals&> add(const std::string& what, const Matrix& m, Count count) {
    Line& line = lines_.emplace_back(Line{what, m.rows, m.cols, {}});
    return count(line.totals);
  }

  Codes plain_rows(const Matrix& m, LaunchTotals& totals) {
    const std::int64_t count = m.elements();
    bf16* magnitudes = gpu_.room<bf16>(count);
    bf16* amax = gpu_.room<bf16>(m.rows);
    float* scale = gpu_.room<float>(m.rows);
    float* scale_inverse = gpu_.room<float>(m.rows);
    float* scaled = gpu_.room<float>(count);
    std::uint8_t* codes = gpu_.room<std::uint8_t>(count);
    totals += gpu_.launch("plain_magnitudes", grid(count, 256), Magnitudes{m.x, magnitudes, count});
    totals += gpu_.launch("plain_row_maxima", grid(64 * m.rows, 64), RowMaxima{magnitudes, amax, m.cols});
    totals += gpu_.launch("plain_make_scales", grid(m.rows, 256), MakeScales{amax, scale, scale_inverse, m.rows});
    totals += gpu_.launch("plain_scale", grid(count, 256), Scale{m.x, scale, scaled, count, m.cols});
    totals += gpu_.launch("plain_clamp_and_cast", grid(count, 256), ClampAndCast{scaled, codes, count});
    return download(codes, count, scale_inverse, m.rows);
  }

  Codes download(const std::uint8_t* codes, std::int64_t count, const float* scale_inverse, std::int64_t slices) {
    return {gpu_.download(codes, count), gpu_.download(scale_inverse, slices)};
  }
  std::vector<std::uint16_t> bits_of(const bf16* x, std::int64_t count) {
    std::vector<std::uint16_t> bits;
    for (const bf16 each : gpu_.download(x, count)) bits.push_back(each.bits);
    return bits;
  }

  CountedGpu& gpu_;
  fp8::ScaleRule rule_;
  std::vector<Line> lines_;
};

double for_each(std::uint64_t count, const Line& line) {
  return static_cast<double>(count) / static_cast<double>(line.rows * line.cols);
}

double times_least(std::uint64_t touched, std::uint64_t least) {
  return static_cast<double>(touched) / static_cast<double>(least);
}

std::string counts_table(const std::vector<Line>& cdna3, const std::vector<Line>& cdna4) {
  std::string table =
      "| cast to e4m3 | matrix | launches | bytes an element | 64-byte segments, times the least | 128-byte segments, "
      "times the least | instructions an element: gfx942, gfx950 | cache maintenance |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < cdna3.size(); ++i) {
    const LaunchTotals& t = cdna3[i].totals;
    table += fmt::format("| {} | {} x {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f}, {:.2f} | {} |\n", cdna3[i].what,
                         cdna3[i].rows, cdna3[i].cols, t.launches, for_each(t.bytes, cdna3[i]),
                         times_least(t.segments_64, t.least_segments_64),
                         times_least(t.segments_128, t.least_segments_128), for_each(64 * t.instructions, cdna3[i]),
                         for_each(64 * cdna4[i].totals.instructions, cdna4[i]), t.cache_maintenance);
  }
  return table;
}

/// Time of the published matrices if an MI300X moved the bytes that were counted at its peak, and nothing else took
/// time.
std::string estimates_table(const Line& plain, const Line& ours) {
  constexpr double kBytesPerMicrosecond = 5.3e6;
  std::string table =
      "| matrix, 32 groups | as first written, at least | Octet's, at least | published before | published after |\n"
      "|---|---|---|---|---|\n";
  const auto row = [&](std::int64_t cols, const char* before, const char* after) {
    const double elements = 32768.0 * static_cast<double>(cols);
    const auto microseconds = [&](const Line& line) {
      return for_each(line.totals.bytes, line) * elements / kBytesPerMicrosecond;
    };
    table += fmt::format("| 32768 x {} | {:.0f} us | {:.0f} us | {} us | {} us |\n", cols, microseconds(plain),
                         microseconds(ours), before, after);
  };
  row(2048, "785", "136");
  row(7168, "2860", "449");
  return table;
}

class PublishedStory : public CountedTest {
 protected:
  [[nodiscard]] static std::vector<Line> count(std::size_t processor) {
    CountedGpu gpu = open_gpu(processor);
    Story story(gpu, rule(processor));
    story.cast_by_row({gpu.upload(values(64 * 4096)), 64, 4096});
    const Matrix group{gpu.upload(values(1024 * 256)), 1024, 256};
    bf16* column_amax = gpu.room<bf16>(group.cols);
    EXPECT_GT(gpu.run(ops::Maxima{group.x, nullptr, column_amax, group.rows, group.cols}).launches, 0);
    story.cast_by_column(group, column_amax);
    story.maxima_of_columns({gpu.upload(values(2432 * 8192)), 2432, 8192});
    return story.lines();
  }
};

TEST_F(PublishedStory, EachLevelShowsInACount) {
  const std::vector<Line> cdna3 = count(0);
  const std::vector<Line> cdna4 = count(1);
  for (std::size_t i = 0; i < cdna3.size(); ++i) {  // columns of the table that stand for both
    EXPECT_EQ(cdna3[i].totals.launches, cdna4[i].totals.launches) << cdna3[i].what;
    EXPECT_EQ(cdna3[i].totals.cache_maintenance, cdna4[i].totals.cache_maintenance) << cdna3[i].what;
    if (cdna3[i].totals.launches == 2) continue;  // one row of partial maxima for each of the blocks that the GPU holds
    EXPECT_EQ(cdna3[i].totals.bytes, cdna4[i].totals.bytes) << cdna3[i].what;
    EXPECT_EQ(cdna3[i].totals.segments_64, cdna4[i].totals.segments_64) << cdna3[i].what;
    EXPECT_EQ(cdna3[i].totals.segments_128, cdna4[i].totals.segments_128) << cdna3[i].what;
  }
  // Launches.
  EXPECT_EQ(cdna3[0].totals.launches, 5);
  EXPECT_EQ(cdna3[1].totals.launches, 1);
  EXPECT_LT(5 * cdna3[1].totals.bytes, cdna3[0].totals.bytes);
  // Coalescing.
  EXPECT_GT(cdna3[2].totals.segments_64, 10 * cdna3[2].totals.least_segments_64);
  EXPECT_EQ(cdna3[3].totals.segments_64, cdna3[3].totals.least_segments_64);
  // Cache maintenance.
  EXPECT_EQ(cdna3[4].totals.cache_maintenance, 2 * cdna3[4].totals.atomics);
  EXPECT_EQ(cdna3[5].totals.atomics, cdna3[4].totals.atomics);
  EXPECT_EQ(cdna3[5].totals.cache_maintenance, 0U);
  EXPECT_EQ(cdna3[6].totals.atomics + cdna3[6].totals.cache_maintenance, 0U);

  if (OCTET_HIP_CLANG_MAJOR != 22) GTEST_SKIP() << "the page shows what clang 22 makes";
  const std::string tables = "\n" + counts_table(cdna3, cdna4) + "\n" + estimates_table(cdna3[2], cdna3[3]) + "\n";
  const std::string page = read_file(kPage);
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << kPage << " has lost its marks";
  const std::string before = page.substr(0, begin + kBegin.size());
  if (std::getenv("OCTET_UPDATE_DOCS") != nullptr) {
    std::ofstream(kPage) << before << tables << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(before.size(), end - before.size()), tables)
      << "run scripts/amd_counts, read what changed and commit " << kPage;
}

}  // namespace
}  // namespace octet::test
