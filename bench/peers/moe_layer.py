"""What rowwise FP8 costs a mixture of experts, in decibels, emulated in PyTorch on a CPU: a peer for the figures of
tests/model/moe_layer_test.cpp, which shares nothing with it but the definition of the experiment.

Eight experts of which a token's best counts what its sigmoid says, a shared expert as wide, the mean square distance
from ones for loss. Printed is the SQNR of output, input gradient and weight gradients against the same layer in bf16;
codes are e4m3fn with scales of powers of two, by row and by column. It needs torch alone:

    python3 bench/peers/moe_layer.py
"""

import torch
import torch.nn.functional as F

EXPERTS = 8


def rounded(x, dim):
    """x through e4m3fn, one scale for each vector along `dim`."""
    amax = x.float().abs().amax(dim=dim, keepdim=True).clamp(min=1e-12)
    scale = (2.0 ** torch.floor(torch.log2(448.0 / amax.double()))).float()
    return (x.float() * scale).to(torch.float8_e4m3fn).float() / scale


class Fp8Product(torch.autograd.Function):
    """x [T, K] times w [N, K] transposed; operands of all three products are rounded along what they contract."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (rounded(x, 1) @ rounded(w, 1).T).bfloat16()

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return (rounded(dy, 1) @ rounded(w, 0)).bfloat16(), (rounded(dy, 0).T @ rounded(x, 0)).bfloat16()


def bf16_product(x, w):
    return x @ w.T


def feed_forward(product, x, w1, w3, w2):
    return product(F.silu(product(x, w1)) * product(x, w3), w2)


def layer(weights, tokens, weigh_input, expert_product, shared_product):
    """Output [T, dim], the input's gradient, and the weights' by name."""
    w = {name: value.clone().requires_grad_() for name, value in weights.items()}
    x = tokens.clone().requires_grad_()
    score, chosen = torch.sigmoid((x @ w["gate"].T).float()).max(1)
    out = feed_forward(shared_product, x, w["shared_w1"], w["shared_w3"], w["shared_w2"])
    for expert in range(EXPERTS):
        rows = (chosen == expert).nonzero().squeeze(1)
        weight = score[rows, None]
        read = (x[rows].float() * weight).bfloat16() if weigh_input else x[rows]
        written = feed_forward(expert_product, read, w["w1"][expert], w["w3"][expert], w["w2"][expert])
        out = out.index_add(0, rows, written if weigh_input else (written.float() * weight).bfloat16())
    F.mse_loss(out, torch.ones_like(out)).backward()
    return out, x.grad, {name: value.grad for name, value in w.items()}


def sqnr(value, reference):
    value, reference = value.detach().double(), reference.detach().double()
    return (20 * torch.log10(reference.norm() / (value - reference).norm())).item()


def measure(dim, ffn_dim, tokens, std):
    torch.manual_seed(42)

    def normal(*shape):
        return torch.nn.init.trunc_normal_(torch.empty(*shape), std=std).bfloat16()

    weights = {"w1": normal(EXPERTS, ffn_dim, dim), "w2": normal(EXPERTS, dim, ffn_dim),
               "w3": normal(EXPERTS, ffn_dim, dim), "gate": normal(EXPERTS, dim), "shared_w1": normal(ffn_dim, dim),
               "shared_w2": normal(dim, ffn_dim), "shared_w3": normal(ffn_dim, dim)}
    x = torch.randn(tokens, dim).bfloat16()
    for weigh_input in (True, False):
        for shared_product in (bf16_product, Fp8Product.apply):
            expected = layer(weights, x, weigh_input, bf16_product, bf16_product)
            actual = layer(weights, x, weigh_input, Fp8Product.apply, shared_product)
            gradients = [sqnr(actual[2][name], expected[2][name]) for name in ("w1", "w2", "w3")]
            print(f"dim {dim}, experts {ffn_dim}, {tokens} tokens, scores on {'input ' if weigh_input else 'output'}, "
                  f"shared expert in {'bf16' if shared_product is bf16_product else 'FP8 '}: "
                  f"output {sqnr(actual[0], expected[0]):.1f} dB, input gradient {sqnr(actual[1], expected[1]):.1f}, "
                  f"experts' weight gradients {min(gradients):.1f}")


if __name__ == "__main__":
    measure(256, 192, 512, 0.045)
    measure(1280, 2048, 2048, 0.02)
