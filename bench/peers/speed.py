"""Times optimizer steps of a Llama 3 or a DeepSeek-V3 in PyTorch, in bf16 and in torchao's FP8 recipes: Octet's peers.

    octet config show configs/llama3_8b.toml --json >llama3_8b.json
    python3 bench/peers/speed.py llama3_8b.json --recipes bf16,rowwise

Shape and batch are the configuration's; nothing else of it is. Weights, moments and gradients are bf16, AdamW is fused,
nothing is recomputed, the loss takes all logits at once, tokens are random. Gradients are not clipped, which spares the
peers a pass that Octet's step has. A recipe ends with a line of JSON: `ms_per_step` is the median of the steps that
CUDA's events measured after the warm-up, `peak_bytes` what PyTorch had allocated at most. Without a GPU the script can
be tried out with a small configuration; its times then say nothing about the peers.
"""

import argparse
import gc
import json
import statistics
import sys
import time

from octet_files import Mistake, read_config

import deepseek
import llama3
import torch

WARM_UP = 3
FAMILIES = {"llama3": llama3, "deepseek_v3": deepseek}


class Stopwatch:
    """Marks between steps, without waiting for the GPU until all are there."""

    def __init__(self, device):
        self.on_gpu = device == "cuda"
        self.marks = []

    def mark(self):
        if self.on_gpu:
            self.marks.append(torch.cuda.Event(enable_timing=True))
            self.marks[-1].record()
        else:
            self.marks.append(time.perf_counter())

    def milliseconds(self):
        """Between each mark and the next."""
        if self.on_gpu:
            torch.cuda.synchronize()
        pairs = zip(self.marks, self.marks[1:])
        return [a.elapsed_time(b) if self.on_gpu else (b - a) * 1e3 for a, b in pairs]


def make_step(config, recipe, device):
    """A function that takes one step on random tokens and returns its loss, still on the device."""
    torch.manual_seed(0)
    family = FAMILIES[config["model"]["family"]]
    model = family.build(config, recipe, device)
    for parameter in model.parameters():
        if parameter.dim() >= 2:
            torch.nn.init.normal_(parameter, std=config["model"]["init_std"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    loss_of = torch.compile(family.mean_loss) if device == "cuda" else family.mean_loss
    shape = (config["training"]["batch_size"], config["training"]["seq_len"])

    def step():
        tokens, targets = (torch.randint(config["model"]["vocab_size"], shape, device=device) for _ in range(2))
        with family.attention_kernels(device):
            loss = loss_of(model(tokens), targets)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def measure(config, recipe, steps, device):
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    step = make_step(config, recipe, device)
    for _ in range(WARM_UP):
        step().item()
    warm_up_seconds = time.perf_counter() - begin
    watch = Stopwatch(device)
    watch.mark()
    for _ in range(steps):
        loss = step()
        watch.mark()
    times = watch.milliseconds()
    tokens = config["training"]["batch_size"] * config["training"]["seq_len"]
    median = statistics.median(times)
    return {
        "recipe": recipe,
        "ms_per_step": median,
        "ms_fastest": min(times),
        "ms_slowest": max(times),
        "steps": steps,
        "tokens_per_second": tokens / median * 1e3,
        "peak_bytes": torch.cuda.max_memory_allocated() if device == "cuda" else None,
        "loss": loss.item(),
        "warm_up_seconds": round(warm_up_seconds, 1),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "versions": FAMILIES[config["model"]["family"]].versions(recipe),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", help="what 'octet config show CONFIG --json' printed")
    parser.add_argument("--recipes", type=llama3.parse_recipes, default=list(llama3.RECIPES), help="a list with commas")
    parser.add_argument("--layers", type=int, help="blocks, where not the configuration's")
    parser.add_argument("--steps", type=int, default=12, help="steps to time")
    options = parser.parse_args()
    config = read_config(options.config)
    if config["training"]["accumulate"] != 1:
        raise Mistake("the peers time steps of one micro-batch: set training.accumulate = 1")
    config["model"]["n_layers"] = options.layers or config["model"]["n_layers"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    failed = False
    for recipe in options.recipes:
        try:
            print(json.dumps(measure(config, recipe, options.steps, device)), flush=True)
        except RuntimeError as error:  # out of memory, or a recipe that this version does not run: others may work
            print(f"octet: failed: {recipe} of the peers: {error}", file=sys.stderr)
            failed = True
        # The next model needs the memory of this one.
        torch._dynamo.reset()
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
    return int(failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Mistake as mistake:
        print(f"octet: {mistake}", file=sys.stderr)
        sys.exit(2)
