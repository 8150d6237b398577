"""Trains Octet's model on Octet's tokens from Octet's initial weights, in PyTorch with torchao's FP8 recipes.

    octet config show configs/llama3_140m.toml --json >config.json
    octet train configs/llama3_140m.toml --run-dir runs/initial-1 --recipe bf16 --set training.seed=1 \\
      --set training.steps=1 --set schedule.warmup_steps=0 --set optimizer.lr=1e-30
    python3 bench/peers/llama3_quality.py config.json --recipes bf16,rowwise runs/initial-1

A step at a rate of 1e-30 changes no bit of any weight, so that its checkpoint holds the initial weights of its seed,
and its metrics hold Octet's first loss and held-out loss, which the peers' must equal: weights, data and maths are then
the same. Order of the tokens, schedule, AdamW, clipping and held-out windows are the configuration's. Layers compute
with bf16 copies of fp32 masters; their gradients are bf16, as PyTorch gives them, and everything after them is fp32.

Each run ends with a line of JSON on standard output; what happens on the way is said on standard error.
"""

import argparse
import json
import math
import statistics
import sys
import time
from itertools import islice
from pathlib import Path

from octet_files import Mistake, Windows, check_order, read_checkpoint, read_config, training_windows

import llama3
import torch

# Of losses before any update, relative. Two orders of sums differ by 2e-4, another token order or convention by more.
FIRST_LOSS_TOLERANCE = 2e-3
LOSS_WINDOW = 20  # the reported training loss is the mean over so many last steps, as in run.json


def refuse_what_is_not_followed(config):
    followed = {
        "training.accumulate": 1,
        "optimizer.parameters": "fp32",
        "optimizer.moments": "fp32",
        "optimizer.groups": ["*norm.weight: weight_decay=0"],
        "precision.skip": [],
        "precision.min_size": 0,
        "precision.head": "bf16",
    }
    for key, value in followed.items():
        section, name = key.split(".")
        if config[section][name] != value:
            raise Mistake(f"the peers follow {key} = {value!r} alone: set it, or leave the comparison out")


def learning_rate(config, step):
    """Of `step`, counted from 1: linear warm-up, the peak, then a decay of the last decay_fraction of the steps."""
    peak, schedule, steps = config["optimizer"]["lr"], config["schedule"], config["training"]["steps"]
    warm_up = schedule["warmup_steps"]
    if step <= warm_up:
        return peak * step / warm_up
    if schedule["decay"] == "constant":
        return peak
    decaying = max(1.0, (steps - warm_up) * schedule["decay_fraction"])
    progress = min(max((step - (steps - decaying)) / decaying, 0.0), 1.0)
    left = {
        "linear": 1 - progress,
        "cosine": 0.5 * (1 + math.cos(math.pi * progress)),
        "sqrt": 1 - math.sqrt(progress),
    }[schedule["decay"]]
    return peak * (schedule["min_lr_ratio"] + (1 - schedule["min_lr_ratio"]) * left)


class Data:
    """Batches of inputs and targets [batch_size, seq_len]: those that Octet trains on and is validated on."""

    def __init__(self, config, device):
        self.config, self.device = config, device
        check_order(config)
        seq_len = config["training"]["seq_len"]
        self.train = Windows(config["data"]["train"], seq_len)
        self.held_out = Windows(config["data"]["validation"], seq_len)

    def training_batches(self):
        data = self.config["data"]
        stream = training_windows(self.train, data["seed"], data["shuffle"])
        while True:
            yield self.batch(islice(stream, self.config["training"]["batch_size"]))

    def validation_batches(self):
        size = self.config["training"]["batch_size"]
        for i in range(min(self.config["validation"]["batches"], len(self.held_out) // size)):
            yield self.batch(self.held_out[i * size + row] for row in range(size))

    def batch(self, windows):
        tokens = torch.tensor(list(windows), device=self.device)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


class Initial:
    """What a run of Octet of one step without a learning rate left."""

    def __init__(self, directory):
        directory = Path(directory)
        try:
            run = json.loads((directory / "run.json").read_text())
            metrics = json.loads((directory / "metrics.jsonl").read_text())
            self.weights = read_checkpoint(directory / "checkpoints" / "step-00000001" / "model.safetensors")
        except (OSError, ValueError) as error:
            raise Mistake(f"{directory} is no finished run of one step: {error}") from None
        self.seed = run["config"]["training"]["seed"]
        self.losses = {"loss": metrics["loss"], "val_loss": metrics["val_loss"]}


class Trainee:
    """A compiled model of one recipe, which every seed begins anew."""

    def __init__(self, config, recipe, device):
        self.config, self.recipe, self.device = config, recipe, device
        self.model = llama3.build(config, recipe, device)
        self.loss_of = torch.compile(llama3.mean_loss) if device == "cuda" else llama3.mean_loss

    def begin(self, weights):
        """Loads fp32 weights into new masters and the model's bf16 copies."""
        own = dict(self.model.named_parameters())
        if {name: list(p.shape) for name, p in own.items()} != {name: shape for name, (shape, _) in weights.items()}:
            raise Mistake("the initial weights are not those of this configuration's model")
        self.copies = list(own.values())
        self.masters = [
            torch.frombuffer(weights[name][1], dtype=torch.float32).view(parameter.shape).to(self.device, copy=True)
            for name, parameter in own.items()
        ]
        self.round_masters()
        adam = self.config["optimizer"]
        groups = [
            {"params": [p for p in self.masters if p.dim() == 2], "weight_decay": adam["weight_decay"]},
            {"params": [p for p in self.masters if p.dim() == 1], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(
            groups, lr=adam["lr"], betas=(adam["beta1"], adam["beta2"]), eps=adam["eps"], fused=True
        )

    @torch.no_grad()
    def round_masters(self):
        torch._foreach_copy_(self.copies, self.masters)

    def loss(self, inputs, targets):
        with llama3.attention_kernels(self.device):
            return self.loss_of(self.model(inputs), targets)

    def step(self, batch, rate):
        """The loss before the update."""
        loss = self.loss(*batch)
        loss.backward()
        for master, copy in zip(self.masters, self.copies):
            master.grad, copy.grad = copy.grad.float(), None
        if self.config["optimizer"]["clip_norm"] > 0:
            torch.nn.utils.clip_grad_norm_(self.masters, self.config["optimizer"]["clip_norm"])
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.round_masters()
        return loss.item()

    @torch.no_grad()
    def validation_loss(self, data):
        return statistics.fmean(self.loss(*batch).item() for batch in data.validation_batches())


def run(trainee, data, initial):
    """All steps from the initial weights, as the line of JSON that the run ends with."""
    config = trainee.config
    steps, interval = config["training"]["steps"], config["validation"]["interval"]
    trainee.begin(initial.weights)
    validation = {0: trainee.validation_loss(data)}
    losses, seconds = [], []
    for step, batch in enumerate(islice(data.training_batches(), steps), 1):
        begin = time.perf_counter()
        losses.append(trainee.step(batch, learning_rate(config, step)))
        seconds.append(time.perf_counter() - begin)
        if step == steps or (interval > 0 and step % interval == 0):
            validation[step] = trainee.validation_loss(data)
            name = f"{trainee.recipe}, seed {initial.seed}, step {step}"
            say(f"{name}: loss {losses[-1]:.4f}, held out {validation[step]:.4f}")
    first = {"loss": losses[0], "val_loss": validation[0]}
    return {
        "recipe": trainee.recipe,
        "seed": initial.seed,
        "first": first,
        "octet_first": initial.losses,
        "first_difference": max(abs(first[name] / octet - 1) for name, octet in initial.losses.items()),
        "train_loss": statistics.fmean(losses[-LOSS_WINDOW:]),
        "val_loss": validation[steps],
        "validation": validation,
        "losses": losses,
        "tokens_per_second": batch[0].numel() / statistics.median(seconds),
        "device": torch.cuda.get_device_name() if trainee.device == "cuda" else "cpu",
        "versions": llama3.versions(trainee.recipe),
    }


def say(line):
    print(line, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", help="what 'octet config show CONFIG --json' printed")
    parser.add_argument("initial", nargs="+", help="run directories of one step without a learning rate, one a seed")
    parser.add_argument("--recipes", type=llama3.parse_recipes, default=["bf16", "rowwise"], help="a list with commas")
    options = parser.parse_args()
    config = read_config(options.config)
    refuse_what_is_not_followed(config)
    # Blocks of every recipe share their code, which is compiled twice a recipe: with gradients and without.
    torch._dynamo.config.recompile_limit = max(8, 2 * len(options.recipes) + 1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = Data(config, device)
    trainees = [Trainee(config, recipe, device) for recipe in options.recipes]
    equal = True
    for initial in map(Initial, options.initial):
        for trainee in trainees:
            result = run(trainee, data, initial)
            print(json.dumps(result), flush=True)
            if trainee.recipe == "bf16" and result["first_difference"] > FIRST_LOSS_TOLERANCE:
                say(f"octet: failed: first losses of seed {initial.seed}: {result['first']}, Octet's: {initial.losses}")
                equal = False
    return 0 if equal else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Mistake as mistake:
        print(f"octet: {mistake}", file=sys.stderr)
        sys.exit(2)
