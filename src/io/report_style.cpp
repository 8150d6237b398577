// The style sheet: two colour schemes, one column on a phone and two on a desk. The colours of runs stay apart for
// colour-blind readers and keep a contrast of at least 3 to 1 with the page; dashes tell runs apart without any colour.
#include "io/report_style.h"

namespace octet::io {

std::string_view report_style() {
  return R"css(
:root { color-scheme: light dark;
  --page: #fff; --panel: #f6f7f8; --ink: #16191d; --soft: #59616b; --rule: #dfe2e6; --grid: #e8eaed;
  --bf16: #5b6470; --fp8-0: #0068b3; --fp8-1: #b35900; --fp8-2: #00795a; --fp8-3: #9a4a86; --fp8-4: #7a6a00;
  --alarm: #b3261e; --alarm-page: #fcefed; --good: #00694e; --good-page: #eaf6f1; --band: #5b647033; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #121417; --panel: #1a1d21; --ink: #e8eaed; --soft: #a3abb5; --rule: #31363d; --grid: #262b31;
  --bf16: #aeb6c0; --fp8-0: #5cb3f5; --fp8-1: #f0a050; --fp8-2: #3fcf9f; --fp8-3: #dd92c8; --fp8-4: #d8c84a;
  --alarm: #ff8a7d; --alarm-page: #33191a; --good: #5fd3a9; --good-page: #12291f; --band: #aeb6c038; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); overflow-wrap: anywhere;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 56px 32px 96px; }
h1 { font-size: 2.1rem; line-height: 1.2; font-weight: 650; letter-spacing: -.015em; margin: .2rem 0 .7rem; max-width: 24em; }
h2 { font-size: 1.3rem; line-height: 1.3; font-weight: 650; letter-spacing: -.005em; margin: 72px 0 20px; }
h3 { font-size: 1rem; font-weight: 650; margin: 0; }
p { margin: 0 0 .6rem; max-width: 44em; }
.over, .unit, .note, .soft { color: var(--soft); }
.over { font-size: .85rem; font-weight: 600; margin: 0; }
.lead { font-size: 1.1rem; }
.unit, .note { font-size: .85rem; margin: 0; }
.note { margin-top: .5rem; max-width: 60em; }
.verdict { margin: 28px 0 0; padding: 14px 18px; border-left: 4px solid var(--good); background: var(--good-page); max-width: 52em; }
.verdict.bad { border-color: var(--alarm); background: var(--alarm-page); }
.verdict p, .verdict ul { margin: 0; }
.verdict ul { padding-left: 1.1em; }
.wide { overflow-x: auto; overflow-wrap: break-word; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 9px 16px 9px 0; border-bottom: 1px solid var(--rule); }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; border-bottom-color: var(--soft); }
tbody th { font-weight: 600; }
.figure { text-align: right; white-space: nowrap; }
th.figure { white-space: normal; }
th.run { white-space: normal; min-width: 8em; }
.phrase { min-width: 17em; }
.term { white-space: nowrap; }
.figure + .term { padding-left: 10px; }
thead small { display: block; font-weight: 400; white-space: nowrap; }
tr.open > * { border-bottom: 0; }
.remark td { padding-top: 0; }
.badge { display: inline-block; font-size: .75rem; font-weight: 600; line-height: 1.5; padding: 0 .6em;
  border: 1px solid var(--soft); border-radius: 1em; color: var(--soft); white-space: nowrap; }
.badge.alarm { color: var(--alarm); border-color: var(--alarm); }
.alarm-text { color: var(--alarm); font-weight: 600; }
blockquote { margin: .3rem 0 0; padding-left: 14px; border-left: 3px solid var(--alarm); max-width: 60em; }
code, pre { font: .85em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { margin: 0; padding: 14px 16px; background: var(--panel); white-space: pre-wrap; }
pre .prompt { color: var(--soft); }
.charts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 48px 40px; }
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: 10px; }
.empty { color: var(--soft); padding: 48px 0; }
svg.plot { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--grid); }
.grid.zero, .mark { stroke: var(--soft); }
.line, .raw, .nan { fill: none; stroke: var(--run); stroke-linejoin: round; stroke-linecap: butt; }
.line { stroke-width: 2; }
.raw { stroke-width: 1; opacity: .28; stroke-dasharray: none !important; }
.nan { stroke-width: 2.5; stroke-dasharray: none; }
svg .nan-label { fill: var(--run); font-weight: 600; }
.dot { fill: var(--run); }
.band { fill: var(--band); }
.strip { fill: transparent; }
.strip:hover { fill: var(--band); }
.bf16 { --run: var(--bf16); }
.fp8-0 { --run: var(--fp8-0); } .fp8-1 { --run: var(--fp8-1); } .fp8-2 { --run: var(--fp8-2); }
.fp8-3 { --run: var(--fp8-3); } .fp8-4 { --run: var(--fp8-4); }
.demonstration { --run: var(--alarm); }
.dash1 { stroke-dasharray: 7 3; } .dash2 { stroke-dasharray: 10 3 2 3; } .dash3 { stroke-dasharray: 4 2; }
.dotted { stroke-dasharray: 1.5 3; }
.legend { list-style: none; margin: 8px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 20px; font-size: .85rem; }
.key { width: 30px; height: 8px; margin-right: 8px; vertical-align: middle; }
details { border-top: 1px solid var(--rule); }
details:last-of-type { border-bottom: 1px solid var(--rule); }
summary { cursor: pointer; padding: 12px 0; font-weight: 600; }
summary:focus-visible { outline: 2px solid var(--fp8-0); outline-offset: 2px; }
summary .soft { display: inline-block; font-weight: 400; font-size: .9rem; margin-left: .6em; }
details > .wide { padding-bottom: 20px; }
dl { display: grid; grid-template-columns: minmax(9em, max-content) minmax(0, 1fr); gap: 6px 24px; margin: 0 0 20px; font-size: .9rem; }
dt { color: var(--soft); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.samples { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 28px 40px; }
.samples h3 { margin-bottom: 8px; }
footer { margin-top: 80px; color: var(--soft); font-size: .85rem; }
@media (max-width: 1020px) {
  svg.plot text { font-size: 17px; }
  table { font-size: .8rem; }
  th, td { padding-right: 10px; }
  thead small, .badge { white-space: normal; }
  .cards tbody th { min-width: 9em; overflow-wrap: anywhere; }
}
@media (max-width: 760px) {
  main { padding: 32px 16px 64px; }
  h1 { font-size: 1.6rem; }
  h2 { margin-top: 52px; }
  .charts { grid-template-columns: minmax(0, 1fr); }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: 8px; }
  .cards, .cards tbody, .cards tr, .cards th, .cards td { display: block; border: 0; padding: 0; }
  .cards thead { display: none; }
  .cards tbody { border-top: 1px solid var(--rule); padding: 14px 0; }
  .cards tbody th { margin-bottom: 6px; }
  .cards td[data-label] { display: flex; justify-content: space-between; gap: 16px; text-align: right; padding: 2px 0; }
  .cards td[data-label]::before { content: attr(data-label); color: var(--soft); text-align: left; }
  .cards .remark td { padding-top: 8px; }
}
@media print {
  :root { color-scheme: light; }
  main { padding: 0; max-width: none; }
  figure, tr { break-inside: avoid; }
  .wide { overflow: visible; }
  th.run { min-width: 0; }
  td.figure, .term { white-space: normal; }
}
)css";
}

}  // namespace octet::io
