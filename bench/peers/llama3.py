"""Llama 3 in plain PyTorch, in the shape that TorchTitan gives it, and torchao's FP8 recipes on its linear layers.

Parameters have the names of Octet's checkpoints. The rotary embedding pairs element i of a head with i + head_dim / 2,
as Octet does; weights of one convention become weights of the other by a permutation of rows.
"""

import contextlib
import dataclasses
import os
import sys

from octet_files import Mistake

try:
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    print("octet: the peers need PyTorch: pip install torch", file=sys.stderr)
    sys.exit(2)

# Octet's names of the recipes, and torchao's.
RECIPES = {
    "bf16": None,
    "tensorwise": "tensorwise",
    "rowwise": "rowwise",
    "rowwise_hp_wgrad": "rowwise_with_gw_hp",
}


def parse_recipes(text):
    """A list of recipes as typed, in Octet's names or torchao's, in Octet's names."""
    known = {name: name for name in RECIPES} | {theirs: name for name, theirs in RECIPES.items() if theirs}
    for name in text.split(","):
        if name not in known:
            raise Mistake(f"there is no recipe {name!r}: choose from {', '.join(RECIPES)}")
    return [known[name] for name in text.split(",")]


class Attention(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.head_dim = model["dim"] // model["n_heads"]
        kv_dim = model["n_kv_heads"] * self.head_dim
        self.wq = nn.Linear(model["dim"], model["dim"], bias=False)
        self.wk = nn.Linear(model["dim"], kv_dim, bias=False)
        self.wv = nn.Linear(model["dim"], kv_dim, bias=False)
        self.wo = nn.Linear(model["dim"], model["dim"], bias=False)

    def forward(self, x, cos, sin):
        q, k, v = (y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for y in (self.wq(x), self.wk(x), self.wv(x)))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.wo(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.w1 = nn.Linear(model["dim"], model["ffn_dim"], bias=False)
        self.w3 = nn.Linear(model["dim"], model["ffn_dim"], bias=False)
        self.w2 = nn.Linear(model["ffn_dim"], model["dim"], bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.attention_norm = nn.RMSNorm(model["dim"], model["norm_eps"])
        self.attention = Attention(model)
        self.ffn_norm = nn.RMSNorm(model["dim"], model["norm_eps"])
        self.feed_forward = FeedForward(model)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    """`model` and `seq_len` as in Octet's configuration. Parameters are made in the default dtype."""

    def __init__(self, model, seq_len):
        super().__init__()
        self.tok_embeddings = nn.Embedding(model["vocab_size"], model["dim"])
        self.layers = nn.ModuleList(Block(model) for _ in range(model["n_layers"]))
        self.norm = nn.RMSNorm(model["dim"], model["norm_eps"])
        self.output = nn.Linear(model["dim"], model["vocab_size"], bias=False)
        cos, sin = rope_table(seq_len, model["dim"] // model["n_heads"], model["rope_theta"])
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens):
        """[batch, seq_len] tokens to [batch, seq_len, vocab_size] logits."""
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.output(self.norm(x))


def rope_table(seq_len, head_dim, theta):
    """cos and sin, [seq_len, head_dim / 2] fp32, computed in double."""
    frequency = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    angle = torch.arange(seq_len, dtype=torch.float64)[:, None] * frequency
    return angle.cos().float(), angle.sin().float()


def rotate(x, cos, sin):
    """[batch, heads, seq_len, head_dim], in fp32 inside."""
    first, second = x.float().chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)


def mean_loss(logits, targets):
    """Cross-entropy in nats per token, in fp32."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def build(config, recipe, device):
    """The model in bf16 with `recipe` on every linear layer but the head, each block compiled where there is a GPU."""
    if config["model"]["rope_scaling"]["factor"] != 1.0 or config["model"]["tied_embeddings"]:
        raise Mistake("the peers know neither model.rope_scaling nor model.tied_embeddings: leave them out")
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            model = Llama(config["model"], config["training"]["seq_len"])
    finally:
        torch.set_default_dtype(default)
    if recipe != "bf16":
        convert_to_fp8(model, recipe, device)
    if device == "cuda":
        for layer in model.layers:
            layer.compile(fullgraph=True)
    return model


def import_torchao():
    # Its prebuilt kernels serve other things than float8 training, and want the PyTorch that they were built for.
    os.environ["TORCHAO_FORCE_SKIP_LOADING_SO_FILES"] = "1"
    try:
        import torchao.float8
    except ImportError:
        raise Mistake("FP8 recipes of the peers need torchao: pip install torchao") from None
    return torchao


def convert_to_fp8(model, recipe, device):
    """torchao's own conversion. A CPU has no FP8 products: there they are computed on the codes' values."""
    float8 = import_torchao().float8
    settings = float8.Float8LinearConfig.from_recipe_name(RECIPES[recipe])
    if device == "cpu":
        settings = dataclasses.replace(settings, emulate=True)
    float8.convert_to_float8_training(
        model, config=settings, module_filter_fn=lambda _, name: name.startswith("layers.")
    )


def attention_kernels(device):
    """cuDNN's attention where it takes the shape, else flash attention."""
    if device == "cpu":
        return contextlib.nullcontext()
    return sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True)


def versions(recipe):
    """Of the packages that a recipe used."""
    names = {"torch": torch.__version__}
    if recipe != "bf16":
        names["torchao"] = import_torchao().__version__
    return names
