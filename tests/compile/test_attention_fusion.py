"""Attention fuses for every order of dimensions, masks and products in a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch

from tests.closeness import relative_error
from tt_xla.compiler import compile_module, parse_module
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = pytest.mark.usefixtures("golden_programs")

Array = Any
BF16 = np.dtype(ml_dtypes.bfloat16)
OP = "ttnn.scaled_dot_product_attention"
CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {}


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).standard_normal(shape).astype(BF16)


def chosen(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).random(shape) > 0.3


def case(*inputs: np.ndarray) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = (function, inputs)
        return function

    return add


def weights(scores: Array, axis: int = -1) -> Array:
    return jax.nn.softmax(scores / 8, axis=axis)


HEADS = random(2, 32, 8, 64), random(1, 2, 32, 8, 64)[0], random(1, 1, 2, 32, 8, 64)[0, 0]
GROUPS = random(2, 32, 8, 64), random(2, 32, 2, 64), random(1, 2, 32, 2, 64)[0]


@case(*GROUPS)
def heads_in_groups(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.dot_product_attention(q, k, v)


@case(*GROUPS)
def causal_heads_in_groups(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


@case(*GROUPS, chosen(2, 1, 1, 32))
def masked_heads_in_groups(q: Array, k: Array, v: Array, mask: Array) -> Array:
    return jax.nn.dot_product_attention(q, k, v, mask=mask)


@case(*HEADS)
def causal(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


@case(*HEADS, random(1, 8, 32, 32))
def biased(q: Array, k: Array, v: Array, bias: Array) -> Array:
    return jax.nn.dot_product_attention(q, k, v, bias=bias)


@case(random(2, 2, 2, 16, 64), random(1, 2, 2, 2, 16, 64)[0], random(2, 2, 2, 1, 16, 64)[:, :, :, 0])
def windows(q: Array, k: Array, v: Array) -> Array:
    return jnp.einsum("abcqk,abckd->abcqd", weights(jnp.einsum("abcqd,abckd->abcqk", q, k)), v)


@case(random(2, 16, 4, 32), random(2, 24, 4, 32), random(2, 24, 1, 4, 32)[:, :, 0])
def keys_before_queries(q: Array, k: Array, v: Array) -> Array:
    return jnp.einsum("bhkq,bkhd->bqhd", weights(jnp.einsum("bkhd,bqhd->bhkq", k, q), axis=-2), v)


@case(random(2, 64, 4, 16), random(2, 64, 4, 24), random(2, 1, 64, 4, 24)[:, 0])
def channels_first(q: Array, k: Array, v: Array) -> Array:
    return jnp.einsum("bhst,bdht->bdhs", weights(jnp.einsum("bdhs,bdht->bhst", q, k)), v)


@case(random(2, 16, 4, 64), random(2, 16, 64), random(2, 1, 16, 64)[:, 0], chosen(2, 1, 16, 16))
def one_head_of_keys(q: Array, k: Array, v: Array, mask: Array) -> Array:
    scores = jnp.where(mask, jnp.einsum("bqhd,bkd->bhqk", q, k), -1e9)
    return jnp.einsum("bhqk,bkd->bqhd", weights(scores), v)


@case(random(2, 4, 64), random(2, 64, 4, 64), random(2, 1, 64, 4, 64)[:, 0], np.int32(30))
def one_query(q: Array, k: Array, v: Array, length: Array) -> Array:
    scores = jnp.where(jnp.arange(64) < length, jnp.einsum("bhd,bthd->bht", q, k), -1e9)
    return jnp.einsum("bht,bthd->bhd", weights(scores), v)


REPEATED = random(2, 8, 32, 64), random(2, 2, 32, 64), random(1, 2, 2, 32, 64)[0]


@case(*REPEATED)
def repeated_heads(q: Array, k: Array, v: Array) -> Array:
    k, v = jnp.repeat(k, 4, axis=1), jnp.repeat(v, 4, axis=1)
    return jnp.matmul(weights(jnp.matmul(q, k.swapaxes(2, 3))), v)


@case(*REPEATED)
def tiled_heads(q: Array, k: Array, v: Array) -> Array:
    k, v = jnp.tile(k, (1, 4, 1, 1)), jnp.tile(v, (1, 4, 1, 1))
    return jnp.matmul(weights(jnp.matmul(q, k.swapaxes(2, 3))), v)


@case(REPEATED[0], random(2, 8, 32, 64), REPEATED[2])
def repeated_values(q: Array, k: Array, v: Array) -> Array:
    return jnp.matmul(weights(jnp.matmul(q, k.swapaxes(2, 3))), jnp.repeat(v, 4, axis=1))


@case(REPEATED[0], REPEATED[1], random(2, 4, 32, 64))
def repeated_unevenly(q: Array, k: Array, v: Array) -> Array:
    return jnp.matmul(weights(jnp.matmul(q, jnp.repeat(k, 4, axis=1).swapaxes(2, 3))), jnp.repeat(v, 2, axis=1))


@case(random(32, 64), random(48, 64), random(1, 48, 64)[0])
def no_batch(q: Array, k: Array, v: Array) -> Array:
    return weights(q @ k.T) @ v


def masked_by_key_head(q: Array, k: Array, v: Array, mask: Array) -> Array:
    scores = jnp.where(mask[:, :, None], jnp.einsum("bqkgd,btkd->bkgqt", q.reshape(2, 32, 2, 4, 64), k), -1e9)
    return jnp.einsum("bkgqt,btkd->bqkgd", weights(scores), v)


CASES["masked_by_batch_and_key_head"] = masked_by_key_head, (*GROUPS, chosen(2, 2, 32, 32))


def compiled(function: Callable[..., Any], inputs: tuple[np.ndarray, ...], level: int) -> Any:
    text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
    options = CompileOptions.parse({"optimization_level": level})
    return compile_module(parse_module(text), options, load_target("n150"))


def to_torch(array: np.ndarray) -> torch.Tensor:
    array = np.asarray(array)
    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", CASES)
def test_is_one_op_with_the_same_result(name: str, level: int) -> None:
    function, inputs = CASES[name]
    program = compiled(function, inputs, level)
    ops = [step.op for step in program.functions[0].body]
    assert ops.count(f"{OP}_decode" if name == "one_query" else OP) == 1
    assert not {"ttnn.softmax", "ttnn.matmul"} & set(ops)
    (result,) = get_device().load(program).run([to_torch(value) for value in inputs], [None] * len(inputs))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = np.asarray(jax.jit(function)(*inputs), np.float32)
    # Weights of the exponential that the chip takes deviate by up to 6 %.
    np.testing.assert_allclose(result.float().numpy(), expected, rtol=0.01, atol=0.06)
    assert relative_error(result, torch.from_numpy(expected)) < 0.03


def test_a_causal_mask_is_a_flag() -> None:
    for name in ("causal", "causal_heads_in_groups"):
        (step,) = [step for step in compiled(*CASES[name], 0).functions[0].body if step.op == OP]
        assert step.attributes["is_causal"]
        assert len(step.operands) == 3


@pytest.mark.parametrize("name", ["causal_heads_in_groups", "repeated_heads"])
def test_keys_and_values_of_a_group_are_not_repeated(name: str) -> None:
    (function,) = compiled(*CASES[name], 0).functions
    (step,) = [step for step in function.body if step.op == OP]
    assert [function.values[step.operands[operand]].shape[1] for operand in ("query", "key", "value")] == [8, 2, 2]


def test_each_move_is_one_permute() -> None:
    ops = [step.op for step in compiled(*CASES["causal_heads_in_groups"], 0).functions[0].body]
    assert [op for op in ops if op not in ("ttnn.deallocate", "ttnn.get_device")] == [
        *["ttnn.permute"] * 3,
        OP,
        "ttnn.permute",
    ]


UNEVEN = (*GROUPS, chosen(1, 2, 32, 32))
"""Inputs with a mask that varies along key heads, but not within their groups or along the batch. TT-NN cannot
broadcast such a mask."""


def over_queries(q: Array, k: Array, v: Array) -> Array:
    return jnp.einsum("bhqk,bkhd->bqhd", weights(jnp.einsum("bqhd,bkhd->bhqk", q, k), axis=-2), v)


@pytest.mark.parametrize(("function", "inputs"), [(masked_by_key_head, UNEVEN), (over_queries, HEADS)])
def test_is_left_alone(function: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> None:
    assert OP not in [step.op for step in compiled(function, inputs, 0).functions[0].body]
