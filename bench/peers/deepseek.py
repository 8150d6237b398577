"""DeepSeek-V3 in plain PyTorch, in the shape that TorchTitan gives it, and torchao's rowwise FP8 on it.

Latent attention, dense layers first, then mixtures of experts whose rows are sorted by expert and go through grouped
products; a shared expert beside them. No balancing, no further tokens predicted, no scaled frequencies: they take no
time that would show. For speed alone: unlike llama3.py, nothing is compared with Octet's losses.
"""

import torch
from octet_files import Mistake
from torch import nn
from torch.nn import functional

import llama3
from llama3 import mean_loss, rope_table, rotate, versions  # noqa: F401: what a family offers

RECIPES = ("bf16", "rowwise")


def linear(n_in, n_out):
    return nn.Linear(n_in, n_out, bias=False)


class LatentAttention(nn.Module):
    def __init__(self, model):
        super().__init__()
        mla = model["mla"]
        self.heads, self.nope, self.rope = model["n_heads"], mla["nope_head_dim"], mla["rope_head_dim"]
        self.value, self.rank, self.q_rank = mla["value_head_dim"], mla["kv_lora_rank"], mla["q_lora_rank"]
        dim, q_cols = model["dim"], self.heads * (self.nope + self.rope)
        if self.q_rank:
            self.wq_a, self.q_norm = linear(dim, self.q_rank), nn.RMSNorm(self.q_rank, model["norm_eps"])
        self.wq_b = linear(self.q_rank or dim, q_cols)
        self.wkv_a, self.kv_norm = linear(dim, self.rank + self.rope), nn.RMSNorm(self.rank, model["norm_eps"])
        self.wkv_b = linear(self.rank, self.heads * (self.nope + self.value))
        self.wo = linear(self.heads * self.value, dim)

    def forward(self, x, cos, sin):
        def by_head(y, width):
            return y.unflatten(-1, (-1, width)).transpose(1, 2)

        q = by_head(self.wq_b(self.q_norm(self.wq_a(x)) if self.q_rank else x), self.nope + self.rope)
        latent, k_rope = self.wkv_a(x).split((self.rank, self.rope), -1)
        k_nope, v = by_head(self.wkv_b(self.kv_norm(latent)), self.nope + self.value).split((self.nope, self.value), -1)
        q_nope, q_rope = q.split((self.nope, self.rope), -1)
        k_rope = rotate(by_head(k_rope, self.rope), cos, sin).expand(-1, self.heads, -1, -1)
        q, k = torch.cat((q_nope, rotate(q_rope, cos, sin)), -1), torch.cat((k_nope, k_rope), -1)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, dim, ffn_dim):
        super().__init__()
        self.w1, self.w3, self.w2 = linear(dim, ffn_dim), linear(dim, ffn_dim), linear(ffn_dim, dim)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


def grouped_product(x, w, offsets):
    """x [rows, k] by w [experts, n, k], in bf16; one expert after the other where there is no GPU."""
    if x.device.type == "cuda":
        return torch._grouped_mm(x, w.transpose(-2, -1), offsets)
    ends = offsets.tolist()
    return torch.cat([x[a:b] @ w[e].T for e, (a, b) in enumerate(zip([0, *ends], ends))])


def grouped_product_fp8(x, w, offsets):
    from torchao.prototype.moe_training.fp8_grouped_mm import _to_fp8_rowwise_then_scaled_grouped_mm as product

    return product(x, w.transpose(-2, -1), offsets, pad_token_groups_for_grouped_mm=False)


def padded_groups(experts, counts, multiple):
    """Groups of `counts` rows, each padded to a `multiple`: the place of each row of the sorted `experts`, and ends."""
    padded = (counts + multiple - 1) // multiple * multiple
    ends = padded.cumsum(0)
    shift = (ends - padded) - (counts.cumsum(0) - counts)
    return torch.arange(experts.numel(), device=experts.device) + shift[experts], ends


class MixtureOfExperts(nn.Module):
    def __init__(self, model):
        super().__init__()
        moe, dim = model["moe"], model["dim"]
        self.moe = moe
        self.product = grouped_product
        self.multiple = 1  # of rows that each expert's are padded to
        self.gate = linear(dim, moe["experts"])
        shapes = {"w1": (moe["ffn_dim"], dim), "w3": (moe["ffn_dim"], dim), "w2": (dim, moe["ffn_dim"])}
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.empty(moe["experts"], *shape)))
        self.shared = FeedForward(dim, moe["shared_experts"] * moe["ffn_dim"]) if moe["shared_experts"] else None

    def route(self, x):
        """[tokens, top_k] weights in fp32, and experts."""
        logits = self.gate(x).float()
        scores = logits.sigmoid() if self.moe["score"] == "sigmoid" else logits.softmax(-1)
        choices = scores
        if self.moe["groups"] > 1:
            groups = scores.unflatten(-1, (self.moe["groups"], -1))
            kept = groups.topk(2, -1).values.sum(-1).topk(self.moe["kept_groups"], -1).indices
            left_out = torch.ones_like(groups[..., 0], dtype=torch.bool).scatter(-1, kept, False)
            choices = groups.masked_fill(left_out[..., None], -torch.inf).flatten(-2)
        experts = choices.topk(self.moe["top_k"], -1).indices
        weights = scores.gather(-1, experts)
        if self.moe["normalised"]:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights * self.moe["route_scale"], experts

    def forward(self, x):
        tokens = x.flatten(0, -2)
        weights, experts = self.route(tokens)
        order = experts.flatten().argsort(stable=True)
        counts = torch.bincount(experts.flatten(), minlength=self.moe["experts"])
        rows = order // self.moe["top_k"]
        routed, ends = tokens[rows], counts.cumsum(0)
        if self.multiple > 1:
            places, ends = padded_groups(experts.flatten()[order], counts, self.multiple)
            most = order.numel() + self.moe["experts"] * self.multiple
            routed = routed.new_zeros(most, routed.shape[1]).index_copy(0, places, routed)
        offsets = ends.to(torch.int32)
        hidden = functional.silu(self.product(routed, self.w1, offsets)) * self.product(routed, self.w3, offsets)
        written = self.product(hidden, self.w2, offsets)
        if self.multiple > 1:
            written = written[places]
        written = written * weights.flatten()[order, None].to(hidden.dtype)
        out = self.shared(tokens) if self.shared else torch.zeros_like(tokens)
        return out.index_add(0, rows, written).view_as(x)


class Block(nn.Module):
    def __init__(self, model, dense):
        super().__init__()
        self.attention_norm = nn.RMSNorm(model["dim"], model["norm_eps"])
        self.attention = LatentAttention(model)
        self.ffn_norm = nn.RMSNorm(model["dim"], model["norm_eps"])
        self.ffn = FeedForward(model["dim"], model["ffn_dim"]) if dense else MixtureOfExperts(model)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.ffn(self.ffn_norm(x))


class DeepSeek(nn.Module):
    """`model` and `seq_len` as in Octet's configuration. Parameters are made in the default dtype."""

    def __init__(self, model, seq_len):
        super().__init__()
        self.tok_embeddings = nn.Embedding(model["vocab_size"], model["dim"])
        dense = model["moe"]["dense_layers"]
        self.layers = nn.ModuleList(Block(model, i < dense) for i in range(model["n_layers"]))
        self.norm = nn.RMSNorm(model["dim"], model["norm_eps"])
        self.output = linear(model["dim"], model["vocab_size"])
        cos, sin = rope_table(seq_len, model["mla"]["rope_head_dim"], model["rope_theta"])
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens):
        """[batch, seq_len] tokens to [batch, seq_len, vocab_size] logits."""
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.output(self.norm(x))


def attention_kernels(device):
    """cuDNN's attention where it takes the shape, else those whose values may be shorter than keys."""
    if device == "cpu":
        return llama3.attention_kernels(device)
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel(
        [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION], set_priority=True
    )


def build(config, recipe, device):
    """The model in bf16, with rowwise FP8 on every linear layer of a block but the gate, and on the experts; each block
    is compiled where there is a GPU."""
    if recipe not in RECIPES:
        raise Mistake(f"the peers have no {recipe} for experts: choose from {', '.join(RECIPES)}")
    if config["model"]["mtp"]["depth"]:
        raise Mistake("the peers predict one token: set model.mtp = { depth = 0 }")
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            model = DeepSeek(config["model"], config["training"]["seq_len"])
    finally:
        torch.set_default_dtype(default)
    if recipe != "bf16":
        if device == "cpu":
            raise Mistake("the peers' FP8 experts need a GPU")
        float8 = llama3.import_torchao().float8
        settings = float8.Float8LinearConfig.from_recipe_name(llama3.RECIPES[recipe])
        float8.convert_to_float8_training(
            model,
            config=settings,
            module_filter_fn=lambda _, name: name.startswith("layers.") and not name.endswith(".gate"),
        )
        for module in model.modules():
            if isinstance(module, MixtureOfExperts):
                module.product, module.multiple = grouped_product_fp8, 16
    if device == "cuda":
        for layer in model.layers:
            layer.compile()
    return model
