"""Cache writes are formed if and only if the caller gives the cache up, for every way in which frontends write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch
from jax import lax

from tests.golden import Goldens
from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.ir.program import Program
from tt_xla.ir.program_text import program_lines
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

BF16 = np.dtype(ml_dtypes.bfloat16)
CACHE = (2, 4, 64, 32)

Update = Callable[[Any, Any, Any], Any]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return np.asarray(values, np.float32).astype(BF16)


def compiled(function: Callable[..., Any], inputs: tuple[Any, ...], donate: tuple[int, ...], **options: Any) -> Program:
    text = jax.jit(function, donate_argnums=donate, keep_unused=True).lower(*inputs).as_text()
    parsed = CompileOptions.parse({name: str(value).lower() for name, value in options.items()})
    return compile_module(parse_module(text.encode(), "a test"), parsed, load_target("p150"))


def names(program: Program) -> list[str]:
    return [step.op for function in program.functions for step in function.body]


def writes(program: Program) -> int:
    return sum(name in ("ttnn.paged_update_cache", "ttnn.fill_cache") for name in names(program))


def tensors(inputs: tuple[Any, ...]) -> list[torch.Tensor]:
    bits = {BF16: (np.uint16, torch.bfloat16)}
    arrays = [np.asarray(value) for value in inputs]
    return [
        torch.from_numpy(array.view(bits[array.dtype][0]).copy()).view(bits[array.dtype][1])
        if array.dtype in bits
        else torch.from_numpy(array.copy())
        for array in arrays
    ]


POSITION = np.int32(9)
UPDATES: dict[str, tuple[Update, tuple[int, ...], Any, int]] = {
    "dynamic_update_slice": (lambda c, n, p: lax.dynamic_update_slice(c, n, (0, 0, p, 0)), (2, 4, 1, 32), POSITION, 1),
    "beyond the end": (
        lambda c, n, p: lax.dynamic_update_slice(c, n, (0, 0, p, 0)),
        (2, 4, 1, 32),
        np.int32(99),
        1,
    ),
    "at a known place": (lambda c, n, p: lax.dynamic_update_slice(c, n, (0, 0, 63, 0)), (2, 4, 1, 32), POSITION, 1),
    "set": (lambda c, n, p: c.at[:, :, p].set(n), (2, 4, 32), POSITION, 1),
    "set from the end": (lambda c, n, p: c.at[:, :, p].set(n), (2, 4, 32), np.int32(-3), 1),
    "set outside": (lambda c, n, p: c.at[:, :, p].set(n), (2, 4, 32), np.int32(70), 1),
    "set rows at a place": (lambda c, n, p: c.at[:, :, p].set(n), (2, 4, 1, 32), np.array([5], np.int32), 1),
    "prefill": (lambda c, n, p: lax.dynamic_update_slice(c, n, (0, 0, 0, 0)), (2, 4, 32, 32), POSITION, 2),
    "set first": (lambda c, n, p: c.at[:, :, :32].set(n), (2, 4, 32, 32), POSITION, 2),
    "set by arange": (lambda c, n, p: c.at[:, :, jnp.arange(32)].set(n), (2, 4, 32, 32), POSITION, 2),
    "under jit": (
        jax.jit(lambda c, n, p: lax.dynamic_update_slice(c, n, (0, 0, p, 0))),
        (2, 4, 1, 32),
        POSITION,
        1,
    ),
}


def both(update: Update) -> Callable[..., Any]:
    """Returns the new cache, and the part that attention would read."""

    def run(cache: Any, new: Any, position: Any) -> Any:
        cache = update(cache, new, position)
        return cache, jnp.matmul(cache, jnp.swapaxes(cache, 2, 3))

    return run


@pytest.mark.parametrize("options", [{}, {"optimization_level": 2}, {"enable_trace": True}], ids=str)
@pytest.mark.parametrize("name", UPDATES)
def test_a_cache_that_is_given_up_is_written_in_place(name: str, options: dict[str, Any]) -> None:
    update, shape, position, count = UPDATES[name]
    function = both(update)
    inputs = (normal(*CACHE), normal(*shape, seed=1), position)
    program = compiled(function, inputs, (0,), numerics="exact", **options)
    assert writes(program) == count
    assert "ttnn.assign" not in names(program)
    assert [argument.written for argument in program.arguments] == [True, False, False]
    expected = [np.asarray(value, np.float32) for value in jax.jit(function)(*inputs)]
    executable = get_device("p150").load(program)
    for _ in range(3):  # a traced program runs, captures, replays
        arguments = tensors(inputs)
        results = executable.run(arguments, [None] * 3)
        for tensor, before in zip(arguments, tensors(inputs), strict=True):
            assert torch.equal(tensor, before)
        donated_arguments = tensors(inputs)
        others = executable.run(donated_arguments, [None] * 3, (0,))
        assert others[0].data_ptr() == donated_arguments[0].data_ptr()
        assert results[0].data_ptr() != arguments[0].data_ptr()
        for result, other, reference in zip(results, others, expected, strict=True):
            assert torch.equal(result, other)
            np.testing.assert_allclose(result.float(), reference, rtol=2e-2, atol=2e-2)
    np.testing.assert_array_equal(results[0].float(), expected[0])


OLD: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "not given up": (both(UPDATES["dynamic_update_slice"][0]), ()),
    "read later": (lambda c, n, p: (both(UPDATES["dynamic_update_slice"][0])(c, n, p), jnp.exp(c)), (0,)),
    "read before and after": (
        lambda c, n, p: (lax.dynamic_update_slice(c, n, (0, 0, p, 0)), jnp.swapaxes(c, 1, 2)),
        (0,),
    ),
    "returned": (lambda c, n, p: (lax.dynamic_update_slice(c, n, (0, 0, p, 0)), c), (0,)),
    "along another dimension": (lambda c, n, p: lax.dynamic_update_slice(c, n[:, :1], (0, p, 0, 0)), (0,)),
    "the first half of each row": (
        lambda c, n, p: lax.scatter(
            c,
            p[None],
            n[:, :, 0, :16],
            lax.ScatterDimensionNumbers((0, 1, 2), inserted_window_dims=(2,), scatter_dims_to_operand_dims=(2,)),
        ),
        (0,),
    ),
    "updated twice": (
        lambda c, n, p: [lax.dynamic_update_slice(c, n * i, (0, 0, p, 0)) for i in range(2)],
        (0,),
    ),
}


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", OLD)
def test_a_cache_that_is_needed_as_it_was_stays(name: str, level: int) -> None:
    function, donate = OLD[name]
    size = (2, 4, 64, 32) if name == "along another dimension" else (2, 4, 1, 32)
    inputs = (normal(*CACHE), normal(*size, seed=1), np.int32(3))
    program = compiled(function, inputs, donate, numerics="exact", optimization_level=level)
    assert not writes(program)
    assert not any(argument.written for argument in program.arguments)
    arguments = tensors(inputs)
    results = get_device("p150").load(program).run(arguments, [None] * 3, (0,))
    assert torch.equal(arguments[0], tensors(inputs)[0])
    for result, reference in zip(results, jax.tree.leaves(jax.jit(function)(*inputs)), strict=True):
        np.testing.assert_allclose(result.float(), np.asarray(reference, np.float32), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", [*UPDATES, *OLD])
def test_program(name: str, goldens: Goldens) -> None:
    if name in UPDATES:
        update, shape, position, _ = UPDATES[name]
        function, donate = both(update), (0,)
    else:
        function, donate = OLD[name]
        shape, position = (2, 4, 64, 32) if name == "along another dimension" else (2, 4, 1, 32), np.int32(3)
    program = compiled(function, (normal(*CACHE), normal(*shape, seed=1), position), donate, optimization_level=2)
    goldens.check("caches/caches", name, program_lines(program, locations=False))


def test_every_golden_program_has_a_cache(goldens: Goldens) -> None:
    goldens.has_only("caches", {"caches": [*UPDATES, *OLD]})


def test_an_array_given_twice_is_not_written_to() -> None:
    def function(cache: Any, other: Any, new: Any) -> Any:
        return lax.dynamic_update_slice(cache, new, (0, 0, 0, 0)) + other

    inputs = (normal(*CACHE), normal(*CACHE), normal(2, 4, 32, 32, seed=1))
    program = compiled(function, inputs, (0,), numerics="exact")
    assert writes(program) == 2
    cache, _, new = tensors(inputs)
    (result,) = get_device("p150").load(program).run([cache, cache, new], [None] * 3, (0,))
    assert torch.equal(cache, tensors(inputs)[0])
    np.testing.assert_allclose(result.float(), np.asarray(jax.jit(function)(*inputs), np.float32), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("level", [0, 2])
def test_a_second_cache_takes_no_memory(level: int) -> None:
    """The memory plan, which the first run confirms, contains the cache once. Unwritten positions cost no time."""

    def function(cache: Any, new: Any, position: Any) -> Any:
        return lax.dynamic_update_slice(cache, new, (0, 0, position, 0))

    inputs = (normal(8, 8, 1024, 64), normal(8, 8, 1, 64, seed=1), np.int32(3))
    size = inputs[0].nbytes
    peaks: list[int] = []
    times: list[float] = []
    for donate in ((), (0,)):
        program = compiled(function, inputs, donate, optimization_level=level)
        get_device("p150").load(program).run(tensors(inputs), [None] * 3)
        peaks.append(program.memory.dram_peak_bytes)
        times.append(program.predicted_device_us)
    assert times[1] < 0.7 * times[0]
    assert peaks[0] >= 2 * size
    assert size <= peaks[1] < 1.1 * size
