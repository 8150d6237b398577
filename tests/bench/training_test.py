"""The peers train from Octet's weights, on its tokens, with its maths: training_test.py OCTET

Without PyTorch only what needs none of it is looked at, and the test counts as skipped.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
sys.path.insert(0, str(PEERS))
from octet_files import read_checkpoint

CONFIG = "configs/llama3_debug.toml"
STAY = ["--set", "schedule.warmup_steps=0", "--set", "optimizer.lr=1e-30"]
# Measured: 3.4e-4. No weight decay, decayed gains, another theta or no clipping give 1.2e-2 and more.
TOLERANCE = 2e-3


class Runs:
    def __init__(self, octet, folder):
        self.octet, self.folder = octet, folder
        text = folder / "text"
        lines = (f"Line {i} counts {i * i % 97} of {i % 7}{', an odd one' * (i % 2)}.\n" for i in range(2500))
        text.write_text("".join(lines))
        shards = {name: folder / f"{name}.tok" for name in ("train", "validation")}
        subprocess.run(
            [octet, "tokenize", text, "--train", shards["train"], "--validation", shards["validation"]],
            check=True,
            capture_output=True,
        )
        # Weights large enough for positions to matter at once, and a decay that ten steps show.
        settings = ["validation.batches=2", "model.init_std=0.1", "optimizer.weight_decay=2"]
        settings += [f"data.{name}={path}" for name, path in shards.items()]
        self.overrides = [word for setting in settings for word in ("--set", setting)]

    def train(self, name, *options):
        """A run in bf16; the directory that it leaves."""
        command = [self.octet, "train", CONFIG, "--recipe", "bf16", "--run-dir", self.folder / name]
        subprocess.run([*command, *self.overrides, *options], check=True, capture_output=True)
        return self.folder / name

    def config(self):
        path = self.folder / "config.json"
        command = [self.octet, "config", "show", CONFIG, *self.overrides, "--json"]
        path.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
        return path


def metrics(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def check_that_weights_stay(runs):
    """A step without a learning rate leaves the initial weights: three leave the same, and gains of 1."""
    initial = runs.train("initial", "--set", "training.steps=1", *STAY)
    third = runs.train("third", "--set", "training.steps=3", *STAY)
    weights = [
        read_checkpoint(run / "checkpoints" / f"step-{step:08}" / "model.safetensors")
        for run, step in ((initial, 1), (third, 3))
    ]
    assert weights[0] == weights[1], "a step without a learning rate changes weights"
    shape, gains = weights[0]["norm.weight"]
    assert shape == [64] and set(gains.cast("B").cast("f")) == {1.0}, shape
    return initial


def check_losses(runs, initial):
    command = [sys.executable, PEERS / "llama3_quality.py", runs.config(), initial, "--recipes", "bf16"]
    peer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    octet = metrics(runs.train("octet"))
    pairs = [(line["loss"], loss) for line, loss in zip(octet, peer["losses"])]
    pairs += [(line["val_loss"], peer["validation"][str(line["step"])]) for line in octet if "val_loss" in line]
    pairs += [(metrics(initial)[0][name], peer["first"][name]) for name in ("loss", "val_loss")]
    largest = max(abs(theirs / ours - 1) for ours, theirs in pairs)
    print(f"{len(pairs)} losses, the largest relative difference is {largest:.1e}")
    assert len(pairs) == 14 and largest <= TOLERANCE, pairs


def main(octet):
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(octet, pathlib.Path(folder))
        initial = check_that_weights_stay(runs)
        if importlib.util.find_spec("torch") is None:
            print("skipped: the losses: no module named torch")
            return 77
        check_losses(runs, initial)
        return 0


sys.exit(main(sys.argv[1]))
