"""Ten steps of configs/llama3_debug.toml in PyTorch: the losses that Octet's own ten steps are compared with.

An independent implementation: autograd and torch.optim.AdamW against a backward and an optimizer written by hand. It
shares three definitions with Octet: the initial weights (Philox and Box-Muller by parameter name), the token stream,
and where values are rounded to bf16. Run it from the repository's root; it needs torch and numpy:

    python3 tests/reference_runs/llama3_debug_torch.py
"""

import json
import math
import platform
import sys
import tomllib
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = Path(__file__).resolve().parent / "llama3_debug_losses.json"
DEFAULTS = {
    "model": {"vocab_size": 256, "rope_theta": 500000.0, "norm_eps": 1e-5, "init_std": 0.02},
    "training": {"seed": 1},
    "optimizer": {"beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1, "clip_norm": 1.0},
    "schedule": {"decay": "cosine", "decay_fraction": 1.0, "min_lr_ratio": 0.1},
}


def load_config(path):
    """The file over what it extends over the defaults; sections merge key by key."""
    own = tomllib.loads(path.read_text())
    base = load_config(path.parent / own.pop("extends")) if "extends" in own else DEFAULTS
    merged = {name: dict(section) for name, section in base.items() if isinstance(section, dict)}
    for name, section in own.items():
        if isinstance(section, dict):
            merged.setdefault(name, {}).update(section)
    return merged


# ---- initial weights ----------------------------------------------------------------------------------------------


def philox(key, counter_low, counter_high):
    """Philox4x32-10 of one 64-bit key over arrays of counters (uint64): the first two of its four words."""
    mask = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    c0, c1 = counter_low & mask, counter_low >> shift
    c2, c3 = counter_high & mask, counter_high >> shift
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ np.uint64(k0), p1 & mask, (p0 >> shift) ^ c3 ^ np.uint64(k1), p0 & mask
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1


def stream_of(name):
    """FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def normal(seed, name, count):
    index = np.arange(count, dtype=np.uint64)
    words = philox(seed, index, np.full(count, stream_of(name), dtype=np.uint64))
    u0, u1 = (((word >> np.uint64(8)).astype(np.float64) + 0.5) / 16777216.0 for word in words)
    return np.sqrt(-2.0 * np.log(u0)) * np.cos(2.0 * np.pi * u1)


def initial_parameters(model, seed):
    """fp32 master weights by name; wq, wk, wv lie in one matrix, and so do w1 and w3."""
    dim, ffn, head_dim = model["dim"], model["ffn_dim"], model["dim"] // model["n_heads"]
    std = model["init_std"]
    shapes = {"tok_embeddings.weight": (model["vocab_size"], dim, std)}
    for layer in range(model["n_layers"]):
        prefix = f"layers.{layer}."
        deep_std = std / math.sqrt(2.0 * (layer + 1))
        shapes[prefix + "attention.wqkv.weight"] = ((model["n_heads"] + 2 * model["n_kv_heads"]) * head_dim, dim, std)
        shapes[prefix + "attention.wo.weight"] = (dim, dim, deep_std)
        shapes[prefix + "feed_forward.w13.weight"] = (2 * ffn, dim, std)
        shapes[prefix + "feed_forward.w2.weight"] = (dim, ffn, deep_std)
        shapes[prefix + "attention_norm.weight"] = None
        shapes[prefix + "ffn_norm.weight"] = None
    shapes["output.weight"] = (model["vocab_size"], dim, std)
    shapes["norm.weight"] = None
    parameters = {}
    for name, shape in shapes.items():
        if shape is None:
            value = torch.ones(dim)
        else:
            rows, cols, deviation = shape
            values = (deviation * normal(seed, name, rows * cols)).astype(np.float32)
            value = torch.from_numpy(values.reshape(rows, cols))
        parameters[name] = value.requires_grad_()
    return parameters


# ---- data ---------------------------------------------------------------------------------------------------------


def token_stream(begin, count):
    """Sixteen letters in an order that whole-number arithmetic alone decides."""
    i = np.arange(begin, begin + count, dtype=np.int64)
    return 97 + (i * i + i // 5) % 16


def batch_of_step(step, rows, seq_len):
    """Inputs and targets [rows, seq_len] of `step`, counted from 1: windows of the stream one after the other."""
    first = (step - 1) * rows
    windows = [token_stream((first + row) * seq_len, seq_len + 1) for row in range(rows)]
    tokens = torch.from_numpy(np.stack(windows))
    return tokens[:, :-1], tokens[:, 1:]


# ---- the model ----------------------------------------------------------------------------------------------------


class Round(torch.autograd.Function):
    """To bf16 and back, in both directions: where a kernel writes a bf16 result, its gradient is written in bf16."""

    @staticmethod
    def forward(_, x):
        return x.bfloat16().float()

    @staticmethod
    def backward(_, dy):
        return dy.bfloat16().float()


class RoundGradient(torch.autograd.Function):
    """Nothing forwards; the gradient is rounded: each product writes its input's gradient in bf16 before they add."""

    @staticmethod
    def forward(_, x):
        return x.view_as(x)

    @staticmethod
    def backward(_, dy):
        return dy.bfloat16().float()


class RoundWeight(torch.autograd.Function):
    """The bf16 copy of a master weight that layers compute with; its gradient stays in fp32."""

    @staticmethod
    def forward(_, x):
        return x.bfloat16().float()

    @staticmethod
    def backward(_, dy):
        return dy


def linear(x, weight):
    return Round.apply(RoundGradient.apply(x) @ RoundWeight.apply(weight).T)


def rms_norm(x, weight, eps):
    normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return Round.apply(normed * RoundWeight.apply(weight))


def rotate(x, theta):
    """Pairs (i, i + head_dim / 2) of [batch, seq, heads, head_dim] by position * theta^(-2i / head_dim)."""
    half = x.shape[-1] // 2
    frequency = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = (torch.arange(x.shape[1], dtype=torch.float64)[:, None] * frequency)[None, :, None, :]
    cos, sin = angle.cos().float(), angle.sin().float()
    first, second = x[..., :half], x[..., half:]
    return Round.apply(torch.cat([first * cos - second * sin, second * cos + first * sin], -1))


def attention(x, parameters, prefix, model):
    batch, seq_len, dim = x.shape
    heads, kv_heads, head_dim = model["n_heads"], model["n_kv_heads"], dim // model["n_heads"]
    qkv = linear(x, parameters[prefix + "wqkv.weight"])
    q, k, v = qkv.view(batch, seq_len, -1, head_dim).split([heads, kv_heads, kv_heads], 2)
    q, k = rotate(q, model["rope_theta"]), rotate(k, model["rope_theta"])
    k, v = (y.repeat_interleave(heads // kv_heads, 2) for y in (k, v))
    q, k, v = (y.transpose(1, 2) for y in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return linear(Round.apply(out.transpose(1, 2).reshape(batch, seq_len, dim)), parameters[prefix + "wo.weight"])


def feed_forward(x, parameters, prefix):
    gate, up = linear(x, parameters[prefix + "w13.weight"]).chunk(2, -1)
    hidden = Round.apply(torch.nn.functional.silu(gate) * up)
    return linear(hidden, parameters[prefix + "w2.weight"])


def loss_of(parameters, model, tokens, targets):
    """Mean cross-entropy in nats per token."""
    eps = model["norm_eps"]
    x = Round.apply(RoundWeight.apply(parameters["tok_embeddings.weight"])[tokens])
    for layer in range(model["n_layers"]):
        prefix = f"layers.{layer}."
        normed = rms_norm(x, parameters[prefix + "attention_norm.weight"], eps)
        x = Round.apply(x + attention(normed, parameters, prefix + "attention.", model))
        normed = rms_norm(x, parameters[prefix + "ffn_norm.weight"], eps)
        x = Round.apply(x + feed_forward(normed, parameters, prefix + "feed_forward."))
    logits = linear(rms_norm(x, parameters["norm.weight"], eps), parameters["output.weight"])
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


# ---- training -----------------------------------------------------------------------------------------------------


def learning_rate(config, step):
    """Linear warm-up, then a cosine to min_lr_ratio of the peak at the last step; steps count from 1."""
    peak, schedule = config["optimizer"]["lr"], config["schedule"]
    warmup, low = schedule["warmup_steps"], schedule["min_lr_ratio"]
    if step <= warmup:
        return peak * step / warmup
    progress = (step - warmup) / (config["training"]["steps"] - warmup)
    return peak * (low + (1 - low) * 0.5 * (1 + math.cos(math.pi * progress)))


def make_optimizer(parameters, config):
    settings = config["optimizer"]
    matrices = [value for value in parameters.values() if value.dim() == 2]
    gains = [value for value in parameters.values() if value.dim() == 1]
    groups = [
        {"params": matrices, "weight_decay": settings["weight_decay"]},
        {"params": gains, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, betas=(settings["beta1"], settings["beta2"]), eps=settings["eps"])


def train(config):
    """The losses and unclipped gradient norms of all steps."""
    if config["schedule"]["decay"] != "cosine" or config["schedule"]["decay_fraction"] != 1.0:
        sys.exit("this script follows a cosine over all steps after the warm-up: extend learning_rate() for others")
    parameters = initial_parameters(config["model"], config["training"]["seed"])
    optimizer = make_optimizer(parameters, config)
    losses, grad_norms = [], []
    for step in range(1, config["training"]["steps"] + 1):
        batch = batch_of_step(step, config["training"]["batch_size"], config["training"]["seq_len"])
        loss = loss_of(parameters, config["model"], *batch)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters.values(), config["optimizer"]["clip_norm"])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, step)
        optimizer.step()
        losses.append(loss.item())
        grad_norms.append(norm.item())
    return losses, grad_norms


def main():
    torch.use_deterministic_algorithms(True)
    losses, grad_norms = train(load_config(ROOT / "configs" / "llama3_debug.toml"))
    result = {
        "command": "python3 tests/reference_runs/llama3_debug_torch.py",
        "config": "configs/llama3_debug.toml",
        "tokens": "97 + (i * i + i / 5) % 16, windows of seq_len one after the other",
        "precision": "bf16 weights and activations, fp32 masters, weight gradients and loss",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        "losses": losses,
        "grad_norms": grad_norms,
    }
    OUTPUT.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
