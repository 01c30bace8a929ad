"""Each fusion in the spellings that frameworks have for it, and what looks like it but is not.

A positive case must compile to the ops that it names and no others; a negative one must not have the op that it names.
All are run on the emulated card and compared with XLA's CPU client on the same module.
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

from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.ttir import fuse
from tt_xla.compiler.ttnn import fuse_rotary, fuse_unary
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target


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
    """Within what the chip's numerics and the tanh form of gelu allow."""
    case = (FUSED | NOT_FUSED)[name]
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(lowered(name).operation.get_asm(), devices)
    wanted = executable.execute([jax.device_put(value, client.local_devices()[0]) for value in case.inputs])
    program = program_of(name, optimization_level=level)
    got = get_device("n150").load(program).run([to_torch(value) for value in case.inputs], [0] * len(case.inputs))
    for one, other in zip(got, wanted, strict=True):
        expected = np.asarray(other).astype(np.float32)
        np.testing.assert_allclose(one.to(torch.float32).numpy(), expected, atol=case.atol, rtol=2e-2)


def test_tanh_form_of_gelu_keeps_its_parts_under_exact_numerics() -> None:
    """It differs from the function itself by 5e-4, and exact numerics judge the compiler's meaning."""
    assert "gelu" not in counted(program_of("gelu_by_tanh", numerics="exact"))


def test_every_pattern_is_described() -> None:
    described = (Path(__file__).parents[2] / "docs" / "fusions.md").read_text()
    patterns = (
        *fuse.PATTERNS,
        *fuse_rotary.PATTERNS,
        *fuse_unary.PATTERNS,
        *fuse.linear.TRANSPOSES,
        *fuse.activation.APPROXIMATE,
    )
    assert [pattern.name for pattern in patterns if f"`{pattern.name}`" not in described] == []
