"""A headless Chromium driven over its DevTools protocol, which it speaks through a pair of pipes: no port, no driver
program and no package beyond Python's own. The protocol: https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30  # seconds for an answer


class Missing(Exception):
    """There is no Chromium, or it does not run here."""


def find_chromium():
    for name in NAMES:
        path = shutil.which(name)
        if path is None:
            continue
        # Ubuntu's package is a stand-in that asks for snap: present, but no browser.
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return path
        raise Missing(f"{path} --version: {(answer.stderr or answer.stdout).strip()}")
    raise Missing("no " + " or ".join(NAMES))


class Chromium:
    """A browser with one page. Events that the page caused, such as requests and messages, gather in `events`."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def hand_over_pipes():  # the browser reads descriptor 3 and writes descriptor 4
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [find_chromium(), "--headless", "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}",
             "--no-sandbox",  # root in a container may not use it; the only page is our own
             "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
             "--no-first-run", "--disable-extensions", "--disable-background-networking"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4),
            preexec_fn=hand_over_pipes)
        os.close(to_browser)
        os.close(from_browser)
        self._received = b""
        self._last_id = 0
        self._session = None
        self.events = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._profile.cleanup()

    def __call__(self, method, **parameters):
        """Sends a command and returns its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") != self._last_id:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, url):
        """Loads a page and waits until it is complete. `events` begins anew."""
        self.events.clear()
        self("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > end:
                raise TimeoutError(f"{url} was not loaded within {PATIENCE} s")
            self.evaluate("0")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page, as JSON carries it."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def set_screen(self, width, height, scheme, media="screen"):
        """The size of the window in CSS pixels, and whether the reader prefers a "light" or "dark" page."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code, text=""):
        """A key with its Windows virtual-key code, and the text that it types."""
        for kind, typed in (("keyDown", text), ("keyUp", "")):
            self("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=typed)
        self.evaluate("new Promise(requestAnimationFrame)")

    def screenshot(self, path):
        """The whole page, also what lies below the window, as PNG."""
        picture = self("Page.captureScreenshot", captureBeyondViewport=True, optimizeForSpeed=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def _receive(self):
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError(f"Chromium gave no answer (its exit code: {self._process.poll()})")
            self._received += chunk
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)
