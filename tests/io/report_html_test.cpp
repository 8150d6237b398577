// The HTML report as a whole: well formed, self-contained, safe against hostile names, and complete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/report.h"
#include "io/report_escape.h"
#include "io/report_fixture.h"
#include "io/report_markup.h"

namespace octet::io {
namespace {

using testing::demonstration_record;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using testing::Markup;
using testing::metrics_jsonl;
using ::testing::Not;
using testing::read_markup;
using testing::run_json;
using testing::run_record;
using Json = nlohmann::json;

const std::vector<std::string>& known_elements() {
  static const std::vector<std::string> names{
      "html",    "head",  "meta",    "title", "style", "body", "main",  "header", "footer",    "section", "h1",
      "h2",      "h3",    "p",       "div",   "ul",    "li",   "table", "thead",  "tbody",     "tr",      "th",
      "td",      "small", "span",    "code",  "pre",   "dl",   "dt",    "dd",     "figure",    "svg",     "figcaption",
      "details", "g",     "summary", "path",  "line",  "rect", "text",  "circle", "blockquote"};
  return names;
}

const std::vector<std::string>& known_attributes() {
  static const std::vector<std::string> names{
      "lang",  "charset", "http-equiv",  "content", "name", "class", "scope",       "colspan", "data-label", "viewBox",
      "role",  "d",       "aria-label",  "x",       "y",    "x1",    "x2",          "y1",      "y2",         "dy",
      "width", "height",  "text-anchor", "cx",      "cy",   "r",     "aria-hidden", "open"};
  return names;
}

std::vector<RunRecord> sample_runs() {
  return {run_record("bf16-1", "bf16", 3.000), run_record("bf16-2", "bf16", 3.006),
          run_record("rowwise-ocp", "rowwise", 3.0104), demonstration_record("demo")};
}

/// Rather than HasSubstr, which prints the whole report when it fails.
bool holds(const std::string& html, std::string_view part) {
  return html.find(part) != std::string::npos;
}

void expect_sound(const std::string& html) {
  const Markup markup = read_markup(html);
  EXPECT_EQ(markup.fault, "");
  EXPECT_THAT(markup.elements, IsSubsetOf(known_elements()));
  EXPECT_THAT(markup.attributes, IsSubsetOf(known_attributes()));
}

TEST(MarkupReader, FindsWhatIsNotWellFormed) {
  const auto fault = [](const std::string& body) { return read_markup("<!DOCTYPE html>" + body).fault; };
  EXPECT_EQ(fault("<p class=\"a\">x &amp; y</p><path d=\"M\"/>"), "");
  for (const char* bad :
       {"<p>", "</p>", "<p><b></p></b>", "<p class=\"<\"></p>", "<p>a > b</p>", "<p>a & b</p>", "<p class=a></p>", "<p",
        "<p class=\"a\" class=\"b\"></p>", "<p class=\"a\"b></p>", "<p class=\"&\"></p>"}) {
    EXPECT_NE(fault(bad), "") << bad;
  }
  EXPECT_NE(read_markup("<p></p>").fault, "");
}

TEST(ReportHtml, IsWellFormed) {
  expect_sound(render_report(sample_runs()));
  expect_sound(render_report({}));
  for (const RunRecord& run : sample_runs()) expect_sound(render_report(std::vector{run}));
}

TEST(ReportHtml, TakesNothingFromOutside) {
  const std::string html = render_report(sample_runs());
  for (const char* way : {"http:", "https:", "url(", "@import", "<script", "<link", " src=", " href="}) {
    EXPECT_FALSE(holds(html, way)) << way;
  }
  EXPECT_TRUE(holds(html, "default-src 'none'; style-src 'unsafe-inline'"));
}

/// Puts `hostile` in place of every string of `node` and before every key of what users name themselves.
Json poisoned(const Json& node, const std::string& hostile, bool keys_too) {
  if (node.is_string()) return hostile + node.get<std::string>();
  if (!node.is_structured()) return node;
  Json result = node.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : node.items()) {
    const bool free_form = key == "config" || key == "origins" || key == "libraries" || key == "categories";
    Json child = poisoned(value, hostile, keys_too || free_form);
    if (node.is_array()) {
      result.push_back(std::move(child));
    } else {
      result[keys_too ? hostile + key : key] = std::move(child);
    }
  }
  return result;
}

TEST(ReportHtml, EscapesWhateverUsersNamed) {
  const std::string hostile = "\x01</title></style></script>\"'><script>alert(1)</script><img src=x onerror=alert(1)>&";
  std::vector<RunRecord> runs;
  for (const char* recipe : {"rowwise", "bf16"}) {
    Json run = run_json("a", recipe);
    if (recipe == std::string("bf16")) {
      run["demonstration"] = {
          {"fault", "f"}, {"saturated_share", 0.5}, {"nan_share_unsaturated", 0.5}, {"refused_message", "m"}};
    }
    run = poisoned(run, hostile, false);
    run["status"] = "failed";
    run["origins"] = {{hostile + "training." + hostile + "steps", hostile + "configs/x.toml:12"}};
    runs.push_back(parse_run("runs/" + hostile, run.dump(), metrics_jsonl(10, 3)));
  }
  const std::string html = render_report(runs);
  expect_sound(html);
  for (const char* live : {"<script", "<img", "</script", "\x01"}) EXPECT_FALSE(holds(html, live)) << live;
  EXPECT_EQ(html.find("</style>"), html.rfind("</style>"));
  for (const char* kept : {"f</code>", "m</blockquote>", "0123abcd", "A processor", "oneDNN", "configs/x.toml:12",
                           "parameters", "filtered", "upon a time"}) {
    EXPECT_TRUE(holds(html, kept)) << kept;
  }
}

TEST(ReportHtml, EscapesTheFiveCharactersAndReplacesControls) {
  EXPECT_EQ(escaped("<a href=\"x\">&'</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escaped(std::string("a\0b\x7F\r\t\n", 7)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBD\t\n");
  EXPECT_EQ(escaped("größer"), "größer");
}

TEST(ReportHtml, ShowsGapsAndTheirYardstick) {
  const std::string html = render_report(sample_runs());
  EXPECT_TRUE(holds(html, "<h1>FP8 ends within 0.0074 nats of bf16</h1>"));
  EXPECT_TRUE(holds(html, "All checks hold"));
  EXPECT_TRUE(holds(html, "data-label=\"Gap to bf16\">+0.0074<"));
  EXPECT_TRUE(holds(html, "seed spread 0.0060"));
  EXPECT_TRUE(holds(html, "mean of 2 bf16 runs, 3.0030"));
}

TEST(ReportHtml, MarksTheDemonstration) {
  const std::string html = render_report(sample_runs());
  EXPECT_TRUE(holds(html, "fault shown on purpose"));
  EXPECT_TRUE(holds(html, "31.4 %"));
  EXPECT_TRUE(holds(html, "<blockquote>448 does not fit e4m3fnuz"));
  EXPECT_TRUE(holds(html, "alarm-text\" data-label=\"Validation loss\">NaN<"));
}

TEST(ReportHtml, PutsProblemsAtTheTop) {
  std::vector<RunRecord> runs = sample_runs();
  runs[2].result->val_loss = 3.5;
  const std::string html = render_report(runs);
  EXPECT_TRUE(holds(html, "<h1>These runs do not pass their checks</h1>"));
  EXPECT_TRUE(holds(html, "<li>rowwise-ocp: validation loss is 0.4970 nats above bf16"));
  EXPECT_FALSE(holds(html, "All checks hold")) << "All checks hold";
}

TEST(ReportHtml, ListsTheValuesInWhichRunsDiffer) {
  const std::string html = render_report(sample_runs());
  const std::size_t begin = html.find("The runs differ");
  const std::string differences = html.substr(begin, html.find("</table>", begin) - begin);
  EXPECT_THAT(differences, HasSubstr("precision.recipe"));
  EXPECT_THAT(differences, Not(HasSubstr("training.seed")));
}

TEST(ReportHtml, ShowsAMachineOnceForTheRunsThatShareIt) {
  std::vector<RunRecord> runs = sample_runs();
  const auto machines = [&] {
    const std::string html = render_report(runs);
    std::size_t count = 0;
    for (std::size_t at = html.find("A processor"); at != std::string::npos; at = html.find("A processor", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(machines(), 1U);
  runs[1].machine.cores = 4;
  EXPECT_EQ(machines(), 2U);
}

TEST(ReportHtml, TheSameRunsGiveTheSameBytes) {
  EXPECT_EQ(render_report(sample_runs()), render_report(sample_runs()));
}

}  // namespace
}  // namespace octet::io
