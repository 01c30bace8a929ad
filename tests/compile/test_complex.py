"""Complex intermediates of real programs are computed on the chip as pairs; values of the host stay there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

from tt_xla.compiler.pipeline import compile_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = pytest.mark.usefixtures("golden_programs")

Array = Any
X, Y = (np.random.default_rng(seed).standard_normal((4, 6)).astype(np.float32) for seed in (1, 2))
TURNS = np.exp(1j * np.linspace(0, 3, 6)).astype(np.complex64)


def parts(z: Array) -> tuple[Array, Array]:
    return z.real, z.imag


@jax.jit
def _turned(z: Array) -> Array:
    return z * TURNS


ON_CHIP: dict[str, Callable[[Array, Array], Any]] = {
    "sum_difference_and_sign": lambda x, y: parts(-(lax.complex(x, y) + lax.complex(y, x)) - lax.complex(x, x)),
    "product": lambda x, y: parts(lax.complex(x, y) * lax.complex(y, x)),
    "product_with_a_constant": lambda x, y: parts(lax.complex(x, y) * TURNS),
    "matrix_product": lambda x, y: parts(lax.complex(x, y) @ lax.complex(y, x).T),
    "in_a_function": lambda x, y: parts(_turned(lax.complex(x, y))),
    "conjugate": lambda x, y: parts(jnp.conj(lax.complex(x, y))),
    "moved": lambda x, y: parts(
        jnp.concatenate([lax.complex(x, y)[1:3, ::2].T.reshape(2, 3), lax.complex(y, x)[:2, :3][::-1]], 1)
    ),
    "chosen": lambda x, y: parts(jnp.where(x > y, lax.complex(x, y), lax.complex(y, x)[:1])),
    "gathered": lambda x, y: parts(lax.complex(x, y)[jnp.array([2, 0])]),
}


def compiled(program: Callable[..., Any], *inputs: np.ndarray, **options: Any) -> Program:
    module = jax.jit(program).lower(*inputs).compiler_ir("stablehlo")
    return compile_module(module, CompileOptions.parse(options), load_target("n150"))


def check(program: Program, reference: Callable[..., Any], *inputs: np.ndarray) -> None:
    tensors = [torch.from_numpy(value) for value in inputs]
    got = get_device("n150").load(program).run(tensors, [0] * len(tensors))
    for one, other in zip(got, jax.tree.leaves(reference(*inputs)), strict=True):
        np.testing.assert_allclose(one.numpy(), np.asarray(other), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ON_CHIP)
def test_runs_on_the_chip(name: str) -> None:
    program = compiled(ON_CHIP[name], X, Y, numerics="exact")
    assert [step.op for function in program.functions for step in function.body if "host" in step.op] == []
    check(program, ON_CHIP[name], X, Y)


def test_results_and_operands_are_made_and_taken_apart_on_the_host() -> None:
    def turned(x: Array, z: Array) -> Array:
        return lax.complex(x, x) * z

    z = (X + 1j * Y).astype(np.complex64)
    program = compiled(turned, X, z, numerics="exact")
    assert "ttnn.multiply" in {step.op for step in program.functions[0].body}
    check(program, turned, X, z)


def test_between_two_transforms_nothing_leaves_the_host() -> None:
    def filtered(x: Array, y: Array) -> Array:
        return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y), 6)

    program = compiled(filtered, X, Y)
    assert [step.op for step in program.functions[0].body if "host" in step.op] == ["ttnn.host_call"]
    check(program, filtered, X, Y)


def test_a_transform_takes_what_the_chip_made() -> None:
    def spectrum(x: Array, y: Array) -> Array:
        return jnp.fft.fft(lax.complex(x, y) * TURNS).real

    program = compiled(spectrum, X, Y, numerics="exact")
    assert "ttnn.multiply" in {step.op for step in program.functions[0].body}
    check(program, spectrum, X, Y)
