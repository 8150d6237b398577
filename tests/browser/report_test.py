"""Trains small runs, has octet report on them, and looks at the report in a headless Chromium.

Usage: report_test.py OCTET CONFIG SCREENSHOTS: the program, the debug model's configuration, and the directory where
pictures of the report are left for people. Exits 77 (skipped) where there is no Chromium.
"""

import pathlib
import subprocess
import sys
import tempfile

from chromium import Chromium, Missing, find_chromium

HERE = pathlib.Path(__file__).parent
INSPECT = (HERE / "inspect.js").read_text(encoding="utf-8")
SCREENS = ((360, 740, "light"), (360, 740, "dark"), (800, 1280, "light"), (1440, 900, "light"), (1440, 900, "dark"))
TAB, ENTER = ("Tab", 9), ("Enter", 13, "\r")
FOCUS = """(({ activeElement: element }) => ({
  on_page: element !== document.body,
  outline: getComputedStyle(element).outlineStyle === "none" ? 0 : parseFloat(getComputedStyle(element).outlineWidth),
  fold: [...document.querySelectorAll("summary")].indexOf(element) }))(document)"""
LONG_NAME = "a-name-without-a-single-space-" * 6
HOSTILE_NAMES = ("<script>document.title='owned'<", "\"><img src=x onerror=alert(1)>", "&lt;b&gt;'", LONG_NAME)


class Runs:
    """Runs of the debug model in a directory of their own, and reports on them."""

    def __init__(self, program, config, directory):
        self.program, self.config, self.directory = program, config, directory
        words = " ".join(f"{number} and {number} make {2 * number}." for number in range(1500))
        (directory / "text.txt").write_text(words, encoding="utf-8")
        self.octet("tokenize", "text.txt", "--train", "train.tok", "--validation", "validation.tok")

    def octet(self, *arguments):
        subprocess.run([self.program, *arguments], cwd=self.directory, check=True, stdout=subprocess.DEVNULL)

    def train(self, name, *options, steps=24):
        settings = ("data.train=train.tok", "data.validation=validation.tok", f"training.steps={steps}",
                    "validation.interval=6", "validation.batches=1", "schedule.warmup_steps=0")
        self.octet("train", self.config, "--run-dir", f"runs/{name}", *options,
                   *(word for setting in settings for word in ("--set", setting)))

    def report(self, file, names):
        self.octet("report", *(f"runs/{name}" for name in names), "--out", file)
        return (self.directory / file).as_uri()

    def of_every_recipe(self):
        trained = {"bf16": (), "bf16-seed-2": ("--set", "training.seed=2"), "tensorwise": ("--recipe", "tensorwise"),
                   "rowwise-e4m3fn": ("--recipe", "rowwise"),
                   "rowwise-e4m3fnuz": ("--recipe", "rowwise", "--fp8-format", "fnuz"),
                   "rowwise-hp-wgrad": ("--recipe", "rowwise_hp_wgrad"),
                   "fault-fnuz-448": ("--recipe", "rowwise", "--fp8-format", "fnuz", "--demonstrate", "fnuz_max_448")}
        for name, options in trained.items():
            recipe = () if "--recipe" in options else ("--recipe", "bf16")
            self.train(name, *recipe, *options)
        self.octet("generate", "runs/tensorwise", "--prompt", "12 and 12", "--tokens", "200", "--record")
        return self.report("recipes.html", trained)

    def with_hostile_names(self):
        for name in HOSTILE_NAMES:
            self.train(name, "--recipe", "rowwise", steps=6)
        self.octet("generate", f"runs/{HOSTILE_NAMES[0]}", "--prompt", "</pre><script>alert(1)</script>", "--tokens",
                   "40", "--record")
        return self.report("hostile.html", HOSTILE_NAMES)

    def of_one_run(self):
        self.train("short", "--recipe", "rowwise", steps=1)
        return self.report("short.html", ("short",))


class Inspection:
    """Looks at pages and gathers what is wrong with them."""

    def __init__(self, browser, screenshots):
        self.browser, self.screenshots, self.faults = browser, screenshots, []

    def of(self, name, url):
        for width, height, scheme in SCREENS:
            where = f"{name}-{width}-{scheme}"
            self.browser.set_screen(width, height, scheme)
            self.browser.open(url)
            self._note(where, self.browser.evaluate(INSPECT))
            self._note(where, self._traffic(url))
            self.browser.screenshot(self.screenshots / f"{where}.png")
            self.browser.evaluate("document.querySelectorAll('details').forEach((details) => details.open = true)")
            self._note(f"{where}, unfolded", self.browser.evaluate(INSPECT))
        self.browser.screenshot(self.screenshots / f"{name}-unfolded.png")
        self._note(name, self._markup())
        self._note(f"{name}, by keyboard", self._keyboard(url))
        self._note(f"{name}, printed", self._print(url))
        self.browser.screenshot(self.screenshots / f"{name}-printed.png")

    def _note(self, where, faults):
        self.faults += [f"{where}: {fault}" for fault in faults]

    def _traffic(self, url):
        """Whatever the page asked for beside itself, and whatever the browser complained of."""
        for event in self.browser.events:
            method, details = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent" and details["request"]["url"] != url:
                yield f"asks for {details['request']['url']}"
            elif method in ("Network.loadingFailed", "Runtime.exceptionThrown", "Runtime.consoleAPICalled",
                            "Log.entryAdded", "Page.javascriptDialogOpening"):
                yield f"{method}: {details}"

    def _markup(self):
        """Elements that the report never writes: names or texts of users have become markup."""
        count = self.browser.evaluate("document.querySelectorAll('script, img, iframe, b, a, [onerror]').length")
        if count:
            yield f"{count} elements that only a user can have named"

    def _keyboard(self, url):
        """Tab reaches every fold in order and shows where it is; Enter opens the fold."""
        self.browser.set_screen(1440, 900, "light")
        self.browser.open(url)
        folds = self.browser.evaluate("document.querySelectorAll('summary').length")
        reached = []
        for _ in range(3 * folds + 20):  # tables that scroll are stops too
            self.browser.press(*TAB)
            focus = self.browser.evaluate(FOCUS)
            if focus["on_page"] and focus["outline"] < 1:
                yield f"no outline around what has the focus after fold {len(reached)}"
            if focus["fold"] >= 0 and focus["fold"] not in reached:
                reached.append(focus["fold"])
        if reached != list(range(folds)) or not folds:
            yield f"Tab reaches the folds {reached} of {folds}"
        self.browser.evaluate("document.querySelector('summary').focus()")
        self.browser.press(*ENTER)
        if not self.browser.evaluate("document.querySelector('details').open"):
            yield "Enter does not open a fold"

    def _print(self, url):
        """On paper there is ink on white, whatever the reader's screen prefers."""
        self.browser.set_screen(794, 1123, "dark", media="print")  # A4 at 96 dots per inch
        self.browser.open(url)
        yield from self.browser.evaluate(INSPECT)
        page = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
        if page != "rgb(255, 255, 255)":
            yield f"prints on {page}"


def main(program, config, screenshots):
    try:
        find_chromium()
    except Missing as missing:
        print(f"skipped: no browser to look at the report with ({missing}); scripts/packages browser installs it")
        return 77
    screenshots = pathlib.Path(screenshots)
    screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, Chromium() as browser:
        runs = Runs(program, config, pathlib.Path(name))
        inspection = Inspection(browser, screenshots)
        inspection.of("recipes", runs.of_every_recipe())
        inspection.of("hostile", runs.with_hostile_names())
        inspection.of("short", runs.of_one_run())
    print("\n".join(inspection.faults) or f"the reports look right; pictures are in {screenshots}")
    return 1 if inspection.faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
