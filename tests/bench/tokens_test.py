"""The peers read shards in the order of Octet's loader: tokens_test.py PROGRAM, the built loader_batches."""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
from octet_files import Mistake, Windows, check_order, training_windows


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run([program, folder], check=True, capture_output=True, text=True).stdout
        paths = [pathlib.Path(folder) / name for name in ("bytes.tok", "words.tok")]
        cases = [json.loads(line) for line in output.splitlines()]
        assert len(cases) == 24, len(cases)
        for case in cases:
            windows = Windows(paths, case["seq_len"])
            ours = itertools.islice(training_windows(windows, case["seed"], case["shuffle"]), len(case["windows"]))
            assert list(ours) == case["windows"], {key: case[key] for key in ("seq_len", "seed", "shuffle")}

        paths[0].write_bytes(paths[0].read_bytes()[:-1])
        marked = pathlib.Path(folder) / "marked.tok"
        marked.write_bytes(paths[1].read_bytes()[:52] + b"\1" + paths[1].read_bytes()[53:])
        for damaged, seq_len in ((paths[0], 6), (paths[1], 500), (pathlib.Path(folder) / "none.tok", 6), (marked, 6)):
            expect_mistake(lambda: Windows([damaged], seq_len), damaged)
        plain = {"train": ["a.tok"], "mix": [], "boundaries": "ignored"}
        check_order({"data": plain})
        for other in ({"mix": ["*: 1"]}, {"boundaries": "attention"}):
            expect_mistake(lambda: check_order({"data": plain | other}), other)


def expect_mistake(action, what):
    try:
        action()
    except Mistake:
        return
    raise AssertionError(f"{what} is not refused")


main(sys.argv[1])
