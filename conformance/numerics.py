"""Measures how far the emulated card's ops deviate from the exact value and writes docs/numerics.md: ``make numerics``.

The operands are values of the element type; the exact result is torch's in float64. A ULP is the distance from the
exact value, rounded to the element type, to the next larger one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from docs.tables import write_between_marks
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Context, Weighted

Tensor = torch.Tensor
Exact = Callable[..., Tensor]
SIGNIFICANT = {"bf16": 8, "f32": 24}
CONTAINERS = {"bf16": torch.bfloat16, "f32": torch.float32}


def _values(*shape: int, seed: int = 0, low: float = -4.0, high: float = 4.0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * (high - low) + low


def _rms(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight


UNARY: dict[str, Exact] = {
    "abs": torch.abs, "atan": torch.atan, "ceil": torch.ceil, "cos": torch.cos, "erf": torch.erf, "exp": torch.exp,
    "expm1": torch.expm1, "floor": torch.floor, "gelu": F.gelu, "hardsigmoid": F.hardsigmoid, "mish": F.mish,
    "neg": torch.neg, "reciprocal": torch.reciprocal, "relu": torch.relu, "relu6": F.relu6, "sigmoid": torch.sigmoid,
    "sign": torch.sign, "silu": F.silu, "sin": torch.sin, "tan": torch.tan, "tanh": torch.tanh,
}  # fmt: skip
POSITIVE: dict[str, Exact] = {"log": torch.log, "log1p": torch.log1p, "rsqrt": torch.rsqrt, "sqrt": torch.sqrt}
BINARY: dict[str, Exact] = {
    "add": torch.add, "atan2": torch.atan2, "divide": torch.div, "maximum": torch.maximum, "minimum": torch.minimum,
    "multiply": torch.mul, "remainder": torch.fmod, "subtract": torch.sub,
}  # fmt: skip
REDUCTIONS: dict[str, Exact] = {"max": torch.amax, "mean": torch.mean, "min": torch.amin, "sum": torch.sum}

Case = tuple[str, dict[str, Tensor], dict[str, Any], Exact]
"""Op, operands, attributes, and the function that computes the exact result from the operands in order."""


def cases() -> dict[str, Case]:
    by_name: dict[str, Case] = {}
    x, y, positive = _values(64, 256), _values(64, 256, seed=1), _values(64, 256, low=0.01)
    for name, exact in UNARY.items():
        by_name[name] = f"ttnn.{name}", {"input": x}, {}, exact
    for name, exact in POSITIVE.items():
        by_name[name] = f"ttnn.{name}", {"input": positive}, {}, exact
    for name, exact in BINARY.items():
        by_name[name] = f"ttnn.{name}", {"lhs": x, "rhs": y}, {}, exact
    for name, exact in REDUCTIONS.items():
        attributes = {"keep_dim": True, "dim_arg": [1]}
        by_name[name] = f"ttnn.{name}", {"input": x}, attributes, lambda x, exact=exact: exact(x, 1, keepdim=True)
    by_name["softmax"] = "ttnn.softmax", {"input": x}, {"dimension": 1}, lambda x: torch.softmax(x, 1)
    norm = {"input": x, "weight": _values(256, seed=2)}
    by_name["layer_norm"] = (
        *("ttnn.layer_norm", norm, {"epsilon": 1e-5}),
        lambda x, weight: F.layer_norm(x, (256,), weight, None, 1e-5),
    )
    by_name["rms_norm"] = "ttnn.rms_norm", norm, {"epsilon": 1e-5}, _rms
    product = {"a": _values(128, 512), "b": _values(512, 256, seed=3)}
    for level in ("lofi", "hifi2", "hifi3", "hifi4"):
        by_name[f"matmul {level}"] = "ttnn.matmul", product, {"compute_config": {"math_fidelity": level}}, torch.matmul
    narrow = {"compute_config": {"math_fidelity": "hifi4", "fp32_dest_acc_en": False}}
    by_name["matmul hifi4, 16-bit accumulator"] = "ttnn.matmul", product, narrow, torch.matmul
    heads = {name: _values(1, 4, 128, 64, seed=seed) for seed, name in enumerate(("query", "key", "value"))}
    by_name["scaled_dot_product_attention"] = (
        *("ttnn.scaled_dot_product_attention", heads, {"is_causal": False}),
        F.scaled_dot_product_attention,
    )
    return by_name


def deviation(case: Case, dtype: str) -> tuple[float, float, float, float]:
    """Returns the largest and mean error in ULP, the fraction of elements beyond one ULP, and the correlation."""
    op, operands, attributes, exact = case
    tensors = {name: tensor.to(CONTAINERS[dtype]) for name, tensor in operands.items()}
    expected = exact(*(tensor.double() for tensor in tensors.values()))

    def spec(shape: torch.Size) -> TensorSpec:
        return TensorSpec(tuple(shape), TensorLayout.of(tuple(shape), DataType(dtype)))

    specs = {name: spec(tensor.shape) for name, tensor in tensors.items()}
    call = bind(Context(op, "silicon", specs, (spec(expected.shape),)), attributes)
    result = (call.call if isinstance(call, Weighted) else call)(*tensors.values()).double()
    exponent = torch.frexp(expected.abs().clamp(min=2.0**-126)).exponent
    ulps = (result - expected).abs() / torch.ldexp(torch.ones_like(expected), exponent - SIGNIFICANT[dtype])
    correlation = torch.corrcoef(torch.stack([result.flatten(), expected.flatten()]))[0, 1]
    return float(ulps.max()), float(ulps.mean()), float((ulps > 1).double().mean()), float(correlation)


def table() -> str:
    lines = ["| op | type | max ULP | mean ULP | beyond 1 ULP | PCC |", "|---|---|---|---|---|---|"]
    for name, case in cases().items():
        for dtype in SIGNIFICANT:
            largest, mean, beyond, correlation = deviation(case, dtype)
            lines.append(f"| {name} | {dtype} | {largest:.3g} | {mean:.3g} | {beyond:.2%} | {correlation:.6f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", type=Path, help="write the table into this document")
    arguments = parser.parse_args()
    text = table()
    print(text)
    if arguments.document:
        write_between_marks(arguments.document, "numerics", text)


if __name__ == "__main__":
    main()
