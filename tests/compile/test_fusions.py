"""Each fusion in the spellings that frameworks use, and programs that look like it but must not fuse.

A positive case must compile to the ops that it names and no others; a negative one must not have the op that it names.
All programs run on the emulated card and are compared with XLA's CPU client.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jaxlib
import numpy as np
import pytest
import torch
from jax.extend import backend as jax_backend
from spellings import BF16, FUSED, NOT_FUSED, UNCOUNTED
from test_against_stablehlo import assert_identical, on_card, with_edges

from tt_xla.compiler.pipeline import OPTIONAL, compile_module
from tt_xla.compiler.ttir import fuse
from tt_xla.compiler.ttnn import fuse_rotary, fuse_unary
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

PRODUCTS = {"matmul", "linear", "conv2d", "conv_transpose2d"}
"""Ops whose order of sums depends on the operands' layout."""

ATTENTION_ATOL = 6e-2
"""Tolerance of attention in bfloat16: the exponential of the chip's kernel deviates by up to 6 % (docs/numerics.md)."""


@cache
def lowered(name: str) -> Any:
    case = (FUSED | NOT_FUSED)[name]
    return jax.jit(case.program).lower(*case.inputs).compiler_ir("stablehlo")


def program_of(name: str, **options: Any) -> Program:
    return compile_module(lowered(name), CompileOptions.parse(options), load_target("n150"))


def counted(program: Program) -> Counter[str]:
    names = [step.op.partition(".")[2] for function in program.functions for step in function.body]
    return Counter(name for name in names if name not in UNCOUNTED)


@pytest.mark.parametrize("name", FUSED)
def test_fuses(name: str) -> None:
    assert counted(program_of(name)) == Counter(FUSED[name].ops)


@pytest.mark.parametrize("name", NOT_FUSED)
def test_does_not_fuse(name: str) -> None:
    assert NOT_FUSED[name].ops[0] not in counted(program_of(name))


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", [*FUSED, *NOT_FUSED])
def test_equals_its_parts(name: str, level: int) -> None:
    """The results differ from XLA's by no more than the chip's numerics and the tanh form of gelu allow."""
    case = (FUSED | NOT_FUSED)[name]
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(lowered(name).operation.get_asm(), devices)
    references = executable.execute([jax.device_put(value, client.local_devices()[0]) for value in case.inputs])
    program = program_of(name, optimization_level=level)
    got = get_device("n150").load(program).run([to_torch(value) for value in case.inputs], [0] * len(case.inputs))
    for one, other in zip(got, references, strict=True):
        expected = np.asarray(other).astype(np.float32)
        atol = max(case.atol, ATTENTION_ATOL) if "scaled_dot_product_attention" in case.ops else case.atol
        np.testing.assert_allclose(one.to(torch.float32).numpy(), expected, atol=atol, rtol=2e-2)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", [*FUSED, *NOT_FUSED])
def test_exact_numerics_change_no_bit(name: str, level: int) -> None:
    """Under exact numerics a program computes what it computes without folds and fusions, bit by bit.

    Programs with products are compared within the last digits, as the order of sums depends on the operands' layout.
    """
    case = (FUSED | NOT_FUSED)[name]
    inputs = tuple(with_edges(value) for value in case.inputs)
    results = on_card(lowered(name), inputs, numerics="exact", optimization_level=level)
    plain = on_card(lowered(name), inputs, numerics="exact", optimization_level=level, without=OPTIONAL)
    has_sums = PRODUCTS & set(counted(program_of(name, numerics="exact")))
    for result, value in zip(results, plain, strict=True):
        if has_sums:
            np.testing.assert_allclose(result.astype(np.float32), value.astype(np.float32), rtol=2e-2, atol=case.atol)
        else:
            assert_identical(result, value)


def test_every_pattern_is_described() -> None:
    described = (Path(__file__).parents[2] / "docs" / "fusions.md").read_text()
    patterns = (
        *fuse.PATTERNS,
        *fuse_rotary.PATTERNS,
        *fuse_unary.PATTERNS,
        *fuse.linear.TRANSPOSES,
    )
    assert [pattern.name for pattern in patterns if f"`{pattern.name}`" not in described] == []
