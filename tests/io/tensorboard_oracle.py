"""Holds Octet's event files against the tensorboard package, which must read from them one continuous run.

Usage: tensorboard_oracle.py PROGRAM, the built tensorboard_sample. Exits 77 (skipped) without the package.
"""

import math
import pathlib
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing import event_accumulator, event_file_loader
    from tensorboard.util import tensor_util
except ImportError as error:
    print(f"skipped: {error}; install tensorboard for {sys.executable}, or set OCTET_PYTHON")
    sys.exit(77)

START = 1_700_000_000


def check_scalars(run):
    losses = run.Scalars("loss")
    assert [event.step for event in losses] == [1, 2, 3, 4, 5], losses
    assert [event.wall_time for event in losses] == [START + step + 0.5 for step in range(1, 6)], losses
    values = [event.value for event in losses]
    assert values[:2] == [11, 12] and math.isnan(values[2]) and values[3] == math.inf and values[4] == 25, values
    assert {event.value for event in run.Scalars("memory_bytes")} == {3e9}


def check_histogram(run):
    (event,) = run.Histograms("log2_scale/a")
    histogram = event.histogram_value
    assert event.step == 2 and event.wall_time == START
    assert (histogram.min, histogram.max, histogram.num) == (-3.0, 7.0, 4)
    assert math.isclose(histogram.sum, -1.8) and math.isclose(histogram.sum_squares, 9 + 2 * 2.9**2 + 49)
    assert list(histogram.bucket_limit) == [-3.0, -2.875, 7.0, 7.125], histogram
    assert list(histogram.bucket) == [0, 3, 0, 1], histogram


def check_shown_buckets(files):
    """The rows [left, right, count] that the browser gets."""
    shown = {}
    for file in files:
        for event in event_file_loader.EventFileLoader(str(file)).Load():
            for value in event.summary.value:
                if value.tag.startswith("log2_scale/") and event.step == 2:
                    shown[value.tag] = tensor_util.make_ndarray(value.tensor).tolist()
    assert shown == {
        "log2_scale/a": [[-3.0, -2.875, 3.0], [-2.875, 7.0, 0.0], [7.0, 7.0, 1.0]],
        "log2_scale/b": [[4.0, 4.0, 2.0]],
    }, shown


def main(program):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([program, directory], check=True)
        files = sorted(pathlib.Path(directory).iterdir())
        assert len(files) == 2, files
        run = event_accumulator.EventAccumulator(directory, {"histograms": 0, "scalars": 0})
        run.Reload()
        assert run.file_version == 2.0
        assert sorted(run.Tags()["scalars"]) == ["loss", "memory_bytes"], run.Tags()
        check_scalars(run)
        check_histogram(run)
        check_shown_buckets(files)
    print("a run in two files reads as one")


if __name__ == "__main__":
    main(sys.argv[1])
