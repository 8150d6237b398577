"""Trains with logging.tensorboard, goes on with the run, and reads with the tensorboard package what metrics.jsonl says.

Usage: tensorboard_run.py OCTET CONFIG, the program and the debug model's configuration. Exits 77 (skipped) without the
package.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    from tensorboard.backend.event_processing import event_accumulator
except ImportError as error:
    print(f"skipped: {error}; install tensorboard for {sys.executable}, or set OCTET_PYTHON")
    sys.exit(77)

PROGRAM, CONFIG = sys.argv[1:]
STEPS = 8


def octet(directory, *arguments):
    subprocess.run([PROGRAM, *arguments], cwd=directory, check=True, stdout=subprocess.DEVNULL)


def train(directory, run, *options, **overrides):
    overrides = {"data.train": "train.tok", "data.validation": "validation.tok", "schedule.warmup_steps": 0,
                 "validation.interval": 3, "validation.batches": 1, "logging.tensorboard": "true",
                 "logging.histogram_interval": 3, **overrides}
    settings = [word for key, value in overrides.items() for word in ("--set", f"{key}={value}")]
    octet(directory, "train", CONFIG, "--run-dir", run, *options, *settings)


def read(run):
    accumulator = event_accumulator.EventAccumulator(str(run / "tensorboard"), {"histograms": 0, "scalars": 0})
    accumulator.Reload()
    return accumulator


def check_scalars(run, events):
    """Every number of metrics.jsonl but times (the step's, its checkpoint's) is there, once, as the fp32 it rounds to."""
    recorded = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        step = record.pop("step")
        del record["ms"]
        record.pop("checkpoint", None)
        for field, value in record.items():
            recorded.setdefault(field, {})[step] = float(numpy.float32(value))
    assert sorted(events.Tags()["scalars"]) == sorted(recorded), events.Tags()
    for field, values in recorded.items():
        shown = events.Scalars(field)
        assert {event.step: event.value for event in shown} == values, field
        assert len(shown) == len(values), field
        times = [event.wall_time for event in shown]
        assert times == sorted(times), field
    assert len(recorded["loss"]) == STEPS, recorded


def check_histograms(events, tokens):
    """Steps 3 and 6 have a histogram of each operand of each FP8 layer, with a scale for each row."""
    tags = events.Tags()["histograms"]
    assert tags and all(tag.startswith("log2_scale/layers.") for tag in tags), tags
    assert {tag.rsplit(".", 1)[1] for tag in tags} == {"input", "weight", "gradient"}, tags
    for tag in tags:
        shown = events.Histograms(tag)
        assert [event.step for event in shown] == [3, 6], tag
        for event in shown:
            histogram = event.histogram_value
            assert histogram.num == sum(histogram.bucket), tag
            assert histogram.num == tokens or tag.endswith(".weight"), (tag, histogram.num)
            # Scales are powers of two, and values of a small model are far from the limits of FP8.
            assert histogram.min == math.floor(histogram.min) and 0 < histogram.min <= histogram.max < 40, (tag, histogram)


def check_continued_run(directory):
    train(directory, "run", "--recipe", "rowwise", **{"training.steps": 5})
    train(directory, "run", "--resume", "--recipe", "rowwise", **{"training.steps": STEPS})
    assert len(list((directory / "run" / "tensorboard").iterdir())) == 2
    events = read(directory / "run")
    check_scalars(directory / "run", events)
    check_histograms(events, tokens=4 * 64)


def check_lost_steps(directory):
    """A run whose checkpoint is older than its last step: the steps between, gone through again, are shown once."""
    train(directory, "lost", "--recipe", "rowwise", **{"training.steps": 5, "checkpoint.interval": 2})
    newest = directory / "lost" / "checkpoints" / "step-00000005"
    newest.rename(newest.with_suffix(".partial"))
    train(directory, "lost", "--resume", "--recipe", "rowwise", **{"training.steps": STEPS})
    events = read(directory / "lost")
    check_scalars(directory / "lost", events)
    assert [event.step for event in events.Scalars("val_loss")] == [3, 6, 8]  # step 5 was the last one, and no longer is


def check_nothing_to_watch(directory):
    train(directory, "bf16", "--recipe", "bf16", **{"training.steps": 3})
    assert read(directory / "bf16").Tags()["histograms"] == []
    train(directory, "never", "--recipe", "rowwise", **{"training.steps": 3, "logging.histogram_interval": 0})
    assert read(directory / "never").Tags()["histograms"] == []
    train(directory, "off", "--recipe", "bf16", **{"training.steps": 1, "logging.tensorboard": "false"})
    assert not (directory / "off" / "tensorboard").exists()


def check_nan(directory):
    train(directory, "nan", "--recipe", "bf16", **{"training.steps": 4, "training.on_nan": "skip", "optimizer.lr": 1e39})
    losses = read(directory / "nan").Scalars("loss")
    assert [math.isnan(event.value) for event in losses] == [False, True, True, True], losses


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        text = " ".join(f"{number} times {number + 1} is {number * (number + 1)}." for number in range(800))
        (directory / "text.txt").write_text(text)
        octet(directory, "tokenize", "text.txt", "--train", "train.tok", "--validation", "validation.tok")
        check_continued_run(directory)
        check_lost_steps(directory)
        check_nothing_to_watch(directory)
        check_nan(directory)
    print("TensorBoard reads what metrics.jsonl says")


main()
