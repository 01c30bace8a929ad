"""Programs compute at larger capacities what they compute at their sizes, whatever the padding holds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.fuzz.cases import Case
from tests.fuzz.kinds import padded
from tests.fuzz.paddings.judge import differences, new_symbols, poisoned, symbolic
from tt_xla.frontends.capacity.program import SymbolicProgram
from tt_xla.frontends.capacity.sizes import always_equal, equation, integer_value, step_capacity
from tt_xla.frontends.capacity.values import NoRuleError

SIZES = [{"s": 5, "b": 3}, {"s": 8, "b": 2}, {"s": 2, "b": 7}]

PROGRAMS = {
    "softmax": (lambda x: jax.nn.softmax(x, 1), [(3, "s")]),
    "a cache and a new row": (lambda x, y: jnp.concatenate([x, y], 0), [("s", 3), (1, 3)]),
    "several parts": (lambda x, y: jnp.concatenate([y, x, y, x], 0), [("s", 3), (2, 3)]),
    "running sums of two merged sizes": (lambda x: jnp.cumsum(x.reshape(-1)), [("b", "s")]),
    "a layer on merged sizes": (
        lambda x, w: (x.reshape(-1, 4) @ w).reshape(x.shape[0], x.shape[1], -1).sum((0, 1)),
        [("b", "s", 4), (4, 5)],
    ),
    "backwards": (lambda x: x[::-1], [("s", 3)]),
    "the last row": (lambda x: (x[-1], x[-1:]), [("s", 3)]),
    "every second row": (lambda x: x[1::2], [("s", 3)]),
    "neighbours": (lambda x: (x[1:], x[:-1], x[1:] + x[:-1]), [("s", 3)]),
    "greatest": (lambda x: (jnp.argmax(x, 0), jnp.argmin(x, 0), jnp.argmax(x)), [("s", "b")]),
    "sorted": (lambda x: (jnp.sort(x, 0), jnp.argsort(x, 0, descending=True)), [("s", 3)]),
    "two greatest": (lambda x: lax.top_k(x, 2), [(3, "s")]),
    "edges": (lambda x: jnp.pad(x, ((1, 2), (0, 0)), constant_values=7.0), [("s", "b")]),
    "edges cut off": (lambda x: lax.pad(x, 0.0, ((0, -1, 0), (1, -1, 0))), [("s", 3)]),
    "set row": (lambda x, u: x.at[1].set(u), [("s", "b"), ("b",)]),
    "updated slices": (lambda x, u: lax.dynamic_update_slice(x, u, (3, 1)), [("2 * s + 3", 3), ("s", 2)]),
    "an update beyond the end": (lambda x, u: lax.dynamic_update_slice(x, u, (100, 0)), [("s", 3), (2, 3)]),
    "a slice beyond the end": (lambda x: lax.dynamic_slice(x, (100, 0), (2, 2)), [("s", 3)]),
    "positions": (lambda x: jnp.arange(x.shape[0] + 1) * x.shape[0], [("s", 3)]),
    "causal attention": (
        lambda x: jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((x.shape[0],) * 2, bool)), x @ x.T, -1e9), -1) @ x,
        [("s", 4)],
    ),
    "products over a size": (lambda x, y: (x + 1) @ (y + 1), [("b", "s"), ("s", 3)]),
    "batched products": (lambda x, y: jnp.einsum("bsd,btd->bst", x, y), [("b", "s", 4), ("b", "s", 4)]),
    "convolutions of images": (
        lambda x, w: lax.conv_general_dilated(
            jax.nn.relu(lax.conv_general_dilated(x, w, (2, 2), ((1, 1), (1, 1)))) + 1,
            jnp.ones((2, 4, 3, 3)),
            (1, 1),
            "SAME",
        ),
        [("b", 3, "s * 4", "b * 5 + 1"), (4, 3, 3, 3)],
    ),
    "a transposed convolution": (
        lambda x, w: lax.conv_transpose(x, w, (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH")),
        [("b", 3, "s"), (4, 3, 3)],
    ),
    "pooling": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3), (1, 2, 2), ((0, 0), (1, 1), (1, 1))),
        [("b", "s * 4", "s * 3")],
    ),
    "the gradient of a convolution": (
        lambda x, w: jax.grad(lambda w: jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME")).mean())(w),
        [("b", 3, 8, 8), (4, 3, 3, 3)],
    ),
    "the gradient of pooling": (
        lambda x: jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID").sum())(x),
        [("b", 8)],
    ),
    "heads merged": (lambda x: x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1), [("b", 2, "s", 4)]),
    "sizes merged in another order": (lambda x: x.transpose(1, 0, 2).reshape(-1, x.shape[0]), [("b", "s", 4)]),
    "sizes split anew": (lambda x: x.reshape(-1, 3).sum(1), [(3, "s", 4)]),
    "heads repeated": (
        lambda x: jnp.broadcast_to(x[:, :, None], (x.shape[0], 2, 3, x.shape[2], 4)).reshape(x.shape[0], 6, -1, 4),
        [("b", 2, "s", 4)],
    ),
    "repeated": (lambda x: (jnp.tile(x, (3, 1)), jnp.repeat(x, 2, axis=0), jnp.stack([x, x * 2])), [("s", 4)]),
    "a norm over batch and positions": (
        lambda x: (x - x.mean((0, 2), keepdims=True)) / jnp.sqrt(x.var((0, 2), keepdims=True) + 1e-5),
        [("b", 3, "s")],
    ),
    "a scan": (lambda x: lax.scan(lambda c, r: (c + r, c * 2), x[0] * 0, x), [(4, "s")]),
    "a loop": (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + c[1].sum()), (0, x)), [("s",)]),
    "a branch": (lambda x: lax.cond(x.max() > 0, lambda y: y * 2, lambda y: y - y.sum(), x), [("s",)]),
    "any and all": (lambda x: ((x > 0).any(0), (x > 0).all(0), jnp.prod(x, 0)), [("s", 2)]),
    "a diagonal": (jnp.diagonal, [("s", "s")]),
}

LOOKED_UP = {
    "rows": (lambda x, i: x[i], [(10, 3), ("b", "s")]),
    "clipped rows": (lambda x, i: jnp.take(x, i * 100, axis=0, mode="clip"), [("s", 3), ("b",)]),
    "filled rows": (lambda x, i: jnp.take(x, i * 100, axis=0, mode="fill", fill_value=3.0), [("s", 3), ("b",)]),
    "added rows": (lambda x, i: x.at[i].add(2.0), [("s", 3), ("b",)]),
    "chosen classes": (
        lambda x, i: -jnp.take_along_axis(jax.nn.log_softmax(x), jnp.abs(i)[:, None], 1).mean(),
        [("b", 5), ("b",)],
    ),
}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_at_a_capacity_computes_what_it_computes_at_the_size(name, sizes):
    function, shapes = PROGRAMS[name]
    shapes = [symbolic(shape, symbols) for symbols in [new_symbols("sb")] for shape in shapes]
    assert not [*differences(function, shapes, ["float32"] * len(shapes), sizes)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", LOOKED_UP)
def test_indices_of_the_padding_read_and_write_nothing(name, sizes):
    function, shapes = LOOKED_UP[name]
    shapes = [symbolic(shape, symbols) for symbols in [new_symbols("sb")] for shape in shapes]
    assert not [*differences(function, shapes, ["float32", "int32"], sizes)]


@pytest.mark.parametrize("number", range(40))
def test_drawn_programs(number):
    program = padded.draw(Case("padded", "tests", number).generator())
    assert not [*program.check()], program.text


def test_noise_fills_all_padding_that_may_hold_anything():
    s = new_symbols("s")["s"]
    seen = []
    program = SymbolicProgram(jax.make_jaxpr(lambda x: [jnp.exp(x)])(jax.ShapeDtypeStruct((s,), "float32")))
    padded_program = program.padded({"s": 8}, lambda ctx, value: seen.append(poisoned(ctx, value)) or seen[-1])
    with jax.disable_jit():
        padded_program(np.zeros(8, np.float32), np.int32(5))
    assert not np.isfinite(np.asarray(seen[-1].array)[5:]).any()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.scan(lambda c, r: (c + r, c), 0.0, x)[0],
        lambda x: lax.top_k(x, x.shape[0] - 1)[0],
        lambda x: lax.linalg.cholesky(x[:, None] * x[None, :]),
    ],
)
def test_a_primitive_without_a_rule_is_refused_in_words(function):
    s = new_symbols("s")["s"]
    program = SymbolicProgram(jax.make_jaxpr(lambda x: [function(x)])(jax.ShapeDtypeStruct((s,), "float32")))
    with pytest.raises(NoRuleError, match="change"):
        jax.eval_shape(program.padded({"s": 8}), *program.padded({"s": 8}).arguments, jax.ShapeDtypeStruct((), "int32"))


def test_capacities_are_powers_of_two_or_half_steps():
    assert [step_capacity(size) for size in (1, 2, 3, 5, 32, 33, 100)] == [1, 2, 4, 8, 32, 64, 128]
    assert [step_capacity(size, half_steps=True) for size in (1, 2, 3, 5, 7, 33, 49, 100)] == [
        1,
        2,
        3,
        6,
        8,
        48,
        64,
        128,
    ]
    assert [step_capacity(size, 32, half_steps=True) for size in (1, 32, 33)] == [32, 32, 48]


def test_a_cache_and_a_row_more_have_one_capacity():
    s = new_symbols("s")["s"]
    specs = [jax.ShapeDtypeStruct((s, 3), "float32"), jax.ShapeDtypeStruct((1, 3), "float32")]
    program = SymbolicProgram(jax.make_jaxpr(lambda x, y: [jnp.concatenate([x, y])])(*specs))
    assert program.offsets == {"s": 1}
    padded_program = program.padded({"s": 8})
    assert [*padded_program.shapes, *padded_program.results] == [(8, 3), (1, 3), (8, 3)]


def test_a_size_that_is_a_multiple_has_an_equation_that_jax_takes():
    s = new_symbols("s")["s"]
    text = equation(8 * (s // 8), s)
    assert text == "mod(s, 8) == 0"
    (other,) = jax.export.symbolic_shape("s", constraints=[text])
    assert 8 * (other // 8) == other


def test_a_quotient_of_sizes_has_the_capacity_of_its_greatest_value():
    s = new_symbols("s")["s"]
    program = SymbolicProgram(jax.make_jaxpr(lambda x: [x])(jax.ShapeDtypeStruct((s, s // (s // 4)), "float32")))
    padded = program.padded({"s": 64})
    assert padded.arguments[0].shape == (64, 7)


def test_equal_sizes_in_other_forms_have_an_equation_that_jax_takes():
    s = new_symbols("s")["s"]
    text = equation((s - 8) // 8 + 1, s // 8)
    (other,) = jax.export.symbolic_shape("s", constraints=[text])
    assert (other - 8) // 8 + 1 == other // 8
    assert always_equal((s - 8) // 8 + 1, s // 8)
    assert not always_equal(s // 2, s // 3)
    assert equation(s + 1, 2 * s) is None
    text = equation(256 - jax.core.max_dim(256 - s, 0), s)
    (other,) = jax.export.symbolic_shape("s", constraints=[text])
    assert 256 - jax.core.max_dim(256 - other, 0) == other
    assert integer_value(s // 4 + 2 * s, {"s": 9}) == 20
