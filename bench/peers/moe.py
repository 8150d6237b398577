"""Times the experts of a mixture of experts in PyTorch, in bf16 and in torchao's rowwise FP8, forward and backward.

    python3 bench/peers/moe.py --precisions bf16,fp8

What `octet bench moe` measures: w1, w3, SwiGLU and w2 over routed rows, by default the experts of a rank of
DeepSeek-V3, with the gradients of rows and weights in bf16. torchao casts weights and activations in each step, forward
and backward. SwiGLU is compiled. Each line of JSON holds the median of a layer's steps by CUDA's events, of a precision
and a split of the rows: shared equally, or 64 and the rest in turn.
"""

import argparse
import json
import sys

import torch
import torch.nn.functional as F
from triton.testing import do_bench


def grouped_product(precision, offsets):
    """x [rows, k] w [experts, n, k] -> [rows, n], by experts."""
    if precision == "bf16":
        return lambda x, w: torch._grouped_mm(x, w.transpose(-2, -1), offsets)
    from torchao.prototype.moe_training.fp8_grouped_mm import _to_fp8_rowwise_then_scaled_grouped_mm as product

    return lambda x, w: product(x, w.transpose(-2, -1), offsets, pad_token_groups_for_grouped_mm=False)


def milliseconds(precision, sizes, dim, ffn_dim):
    """The median of a step: forward and backward."""
    torch.manual_seed(0)
    rows, experts = sum(sizes), len(sizes)
    offsets = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
    random = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    x = random(rows, dim).requires_grad_()
    w1, w3, w2 = ((random(experts, *shape) * 0.02).requires_grad_() for shape in ((ffn_dim, dim),) * 2 + ((dim, ffn_dim),))
    dout = random(rows, dim)
    product = grouped_product(precision, offsets)
    swiglu = torch.compile(lambda gate, up: F.silu(gate) * up)

    def step():
        for tensor in (x, w1, w3, w2):
            tensor.grad = None
        product(swiglu(product(x, w1), product(x, w3)), w2).backward(dout)

    return do_bench(step, warmup=50, rep=300, return_mode="median")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precisions", default="bf16,fp8")
    parser.add_argument("--experts", type=int, default=32)
    parser.add_argument("--rows", type=int, default=32768)
    parser.add_argument("--dim", type=int, default=7168)
    parser.add_argument("--ffn-dim", type=int, default=2048)
    options = parser.parse_args()
    each = options.rows // options.experts
    few = min(64, each)
    skewed = [2 * each - few if i % 2 else few for i in range(options.experts)]
    for split, sizes in (("equal", [each] * options.experts), ("skewed", skewed)):
        for precision in options.precisions.split(","):
            median = milliseconds(precision, sizes, options.dim, options.ffn_dim)
            print(json.dumps({"precision": precision, "split": split, "ms": median}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
