"""What torchao's float8 training computes, for the tests here: writes vectors.safetensors beside this file.

Casts slice by slice in the four formats, and forward and backward of Float8Linear in its three recipes and in both
format families, each with the cases at the edge: zeros, subnormals, amax below torchao's floor, NaN and infinity.

Run by hand, from any directory, with PyPI's torch, torchao and safetensors; no GPU is used:

    TORCHAO_FORCE_SKIP_LOADING_SO_FILES=1 python3 tests/torchao/make_vectors.py

torchao picks the family of the GPU it finds and offers no other. Here the family is put into the recipe's six casts
instead; everything else of a recipe stays as `from_recipe_name` gives it.

Products of OCP codes are torch._scaled_mm on the CPU, as torchao calls it. For fnuz codes PyTorch has no such kernel
there: `emulate=True` is set in the recipe's own configuration, which then multiplies codes / scale in fp32. Casts and
scales are torchao's in both cases.
"""

import dataclasses
from pathlib import Path
from unittest import mock

import torch
import torchao
from safetensors.torch import save_file
from torchao.float8 import float8_linear
from torchao.float8.config import Float8LinearConfig, ScalingGranularity
from torchao.float8.float8_training_tensor import hp_tensor_and_scale_to_float8
from torchao.float8.float8_utils import amax_to_scale, tensor_to_scale

OUTPUT = Path(__file__).resolve().parent / "vectors.safetensors"
INF = float("inf")
NAN = float("nan")

FORMATS = {
    "e4m3fn": torch.float8_e4m3fn,
    "e4m3fnuz": torch.float8_e4m3fnuz,
    "e5m2": torch.float8_e5m2,
    "e5m2fnuz": torch.float8_e5m2fnuz,
}
FAMILIES = {"ocp": ("e4m3fn", "e5m2"), "fnuz": ("e4m3fnuz", "e5m2fnuz")}
RECIPES = ("tensorwise", "rowwise", "rowwise_with_gw_hp")
CASTS = (
    "cast_config_input",
    "cast_config_weight",
    "cast_config_grad_output",
    "cast_config_input_for_grad_weight",
    "cast_config_weight_for_grad_input",
    "cast_config_grad_output_for_grad_weight",
)
# In the order in which Float8Linear casts: which product reads it, on which side, and whether torchao holds it as
# [contraction, outer].
OPERANDS = (
    ("forward.left", False),
    ("forward.right", True),
    ("dgrad.left", False),
    ("dgrad.right", False),
    ("wgrad.left", True),
    ("wgrad.right", True),
)


def normal(rows, cols, generator):
    return torch.randn(rows, cols, generator=generator, dtype=torch.float64)


def cast_slices(generator):
    """[slices, 24], the edges of a cast; the tests know them by row."""
    noise = normal(17, 24, generator)
    signs = torch.where(noise < 0, -1.0, 1.0).to(torch.float64)
    rows = noise.clone()
    rows[1] = 0.0 * signs[1]
    rows[2] = signs[2] * 2.0**-130 * torch.arange(24)  # subnormal in bf16 and fp32
    rows[3] = noise[3] * 1e-14  # amax below the floor of 1e-12
    rows[4] = noise[4] * 1e-12  # amax just above it
    rows[5, 7] = 30000.0  # an outlier
    rows[6] = noise[6] * 1e38
    rows[7, 3] = INF
    rows[8, 3] = -INF
    rows[9, 3] = NAN
    rows[10, 3] = -NAN
    rows[11, 3], rows[11, 4] = INF, NAN
    rows[12] = signs[12] * (448 - 14 * torch.arange(24))  # scale 1 in e4m3fn: ties and all binades near the end
    rows[13] = signs[13] * (240 - 7.5 * torch.arange(24))
    rows[14] = signs[14] * 2.0 ** -torch.arange(24, dtype=torch.float64)  # down into the subnormal codes
    rows[15] = signs[15] * 1.5 * 2.0 ** -torch.arange(24, dtype=torch.float64)
    rows[16] = noise[16] * 2.0**-125
    return rows.to(torch.bfloat16)


def add_casts(vectors):
    x = cast_slices(torch.Generator().manual_seed(1))
    vectors["cast.x"] = x
    for name, dtype in FORMATS.items():
        for rounding, power_of_two in (("exact", False), ("power_of_two", True)):
            scale = tensor_to_scale(
                x,
                dtype,
                scaling_granularity=ScalingGranularity.AXISWISE,
                axiswise_dim=-1,
                round_scales_to_power_of_2=power_of_two,
            )
            codes = hp_tensor_and_scale_to_float8(x, scale, dtype, axiswise_dim=-1)
            vectors[f"cast.{name}.{rounding}.codes"] = codes._data.view(torch.uint8)
            vectors[f"cast.{name}.{rounding}.scale"] = scale.flatten()


def add_logarithms(vectors):
    """Amaxes, fp32 but not bf16, whose scale is the float just below a power of two."""
    for name, dtype in FORMATS.items():
        powers = 2.0 ** torch.tensor([-10, -4, 0, 4, 10, 20, 30, 38], dtype=torch.float64)
        below = torch.nextafter(powers.float(), torch.zeros(8)).double()
        amax = (torch.finfo(dtype).max / below).float()
        vectors[f"logarithm.{name}.amax"] = amax
        vectors[f"logarithm.{name}.scale"] = amax_to_scale(amax, dtype, round_scales_to_power_of_2=True)


def edge_matrix(rows, cols, generator):
    """Row 1 is zeros of both signs, row 2 subnormals, row 3 below the floor of amax, column 1 zeros."""
    noise = normal(rows, cols, generator)
    signs = torch.where(noise < 0, -1.0, 1.0).to(torch.float64)
    matrix = noise * 2.0 ** (torch.arange(rows) % 5 - 3).unsqueeze(1)
    matrix[1] = 0.0 * signs[1]
    matrix[2] = signs[2] * 2.0**-130 * (torch.arange(cols) % 4)
    matrix[3] *= 1e-14
    matrix[:, 1] = 0.0 * signs[:, 1]
    return matrix.to(torch.bfloat16)


def linear_operands(m, n, k, seed):
    generator = torch.Generator().manual_seed(seed)
    return {
        "x": edge_matrix(m, k, generator),
        "weight": edge_matrix(n, k, generator),
        "dy": edge_matrix(m, n, generator),
    }


def recipe_config(recipe, family):
    e4m3, e5m2 = (FORMATS[name] for name in FAMILIES[family])
    config = Float8LinearConfig.from_recipe_name(recipe)
    casts = {}
    for cast in CASTS:
        of_recipe = getattr(config, cast)
        dtype = e5m2 if of_recipe.target_dtype is FORMATS["e5m2"] else e4m3
        casts[cast] = dataclasses.replace(of_recipe, target_dtype=dtype)
    return dataclasses.replace(config, **casts, emulate=family == "fnuz")


def add_linear(vectors, case, operands, recipe, family):
    config = recipe_config(recipe, family)
    casts = []
    cast = float8_linear.hp_tensor_to_float8_dynamic

    def recorded(*args, **kwargs):
        casts.append(cast(*args, **kwargs))
        return casts[-1]

    n, k = operands["weight"].shape
    linear = torch.nn.Linear(k, n, bias=False, dtype=torch.bfloat16)
    linear.weight.data = operands["weight"]
    x = operands["x"].clone().requires_grad_()
    with mock.patch.object(float8_linear, "hp_tensor_to_float8_dynamic", recorded):
        layer = float8_linear.Float8Linear.from_float(linear, config)
        y = layer(x)
        y.backward(operands["dy"])
    prefix = f"{case}.{family}.{recipe}"
    for (operand, transposed), tensor in zip(OPERANDS, casts, strict=False):  # without wgrad where that is bf16
        codes = tensor._data.view(torch.uint8)
        vectors[f"{prefix}.{operand}.codes"] = (codes.t() if transposed else codes).contiguous()
        vectors[f"{prefix}.{operand}.scale_inverse"] = tensor._scale.reciprocal().flatten()
    vectors[f"{prefix}.y"] = y.detach()
    vectors[f"{prefix}.dx"] = x.grad
    vectors[f"{prefix}.dweight"] = layer.weight.grad


def main():
    vectors = {}
    add_casts(vectors)
    add_logarithms(vectors)
    finite = linear_operands(7, 16, 32, seed=2)
    non_finite = linear_operands(6, 16, 16, seed=3)
    non_finite["x"][4, 5] = NAN
    non_finite["dy"][5, 6] = INF
    for case, operands in (("finite", finite), ("non_finite", non_finite)):
        vectors |= {f"{case}.{name}": operand for name, operand in operands.items()}
        for family in FAMILIES:
            for recipe in RECIPES:
                add_linear(vectors, case, operands, recipe, family)
    versions = {"torch": torch.__version__.split("+")[0], "torchao": torchao.__version__}
    save_file({name: vectors[name].contiguous() for name in sorted(vectors)}, OUTPUT, versions)
    print(f"{OUTPUT.name}: {len(vectors)} tensors, {OUTPUT.stat().st_size} bytes, {versions}")


if __name__ == "__main__":
    main()
