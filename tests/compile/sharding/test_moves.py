"""What chips exchange: the collectives of the module of one chip, and how much each moves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxlib.mlir import ir

from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module

pytestmark = pytest.mark.quick

X8 = '"x"=8'
X42 = '"x"=4, "y"=2'
X44 = '"x"=4, "y"=4'


def collectives(
    mesh: str,
    function: Callable[..., Any],
    arguments: Sequence[tuple[tuple[int, ...], str]],
    results: Sequence[str] = (),
) -> list[tuple[str, tuple[int, ...]]]:
    """Returns the collectives of a function on several chips, each with the shape of its result.

    Args:
        mesh: axes of the mesh, as in ``sdy.mesh``.
        arguments: shape of each argument, and its dimension shardings as in ``sdy.sharding``.
        results: dimension shardings of the results; none where propagation finds them.
    """
    module = parse_module(jax.jit(function).lower(*[np.ones(shape, np.float32) for shape, _ in arguments]).as_text())
    chips = int(np.prod([int(size) for size in re.findall(r"=(\d+)", mesh)]))
    with module.context, ir.Location.unknown():
        declaration = ir.Module.parse(f"sdy.mesh @mesh = <[{mesh}]>").body.operations[0]
        declaration.operation.clone(ip=ir.InsertionPoint.at_block_begin(module.body))
        for op in module.body.operations:
            if op.operation.name == "func.func" and op.name.value == "main":
                op.attributes["arg_attrs"] = _attributes([dims for _, dims in arguments])
                if results:
                    op.attributes["res_attrs"] = _attributes(results)
    localised = localise(module, chips)
    assert localised is not None
    exchanges: list[tuple[str, tuple[int, ...]]] = []

    def visit(op: Any) -> ir.WalkResult:
        name = op.name.removeprefix("stablehlo.")
        if name in ("all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter"):
            exchanges.append((name, tuple(ir.RankedTensorType(op.results[0].type).shape)))
        return ir.WalkResult.ADVANCE

    localised.module.operation.walk(visit)
    return exchanges


def _attributes(shardings: Sequence[str]) -> Any:
    parsed = [ir.Attribute.parse(f"{{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}") for dims in shardings]
    return ir.ArrayAttr.get(parsed)


def _mlp(x: Any, w1: Any, w2: Any) -> Any:
    return jax.nn.relu(x @ w1) @ w2


def _step(w: Any, x: Any) -> Any:
    return w - 0.1 * jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(w)


def _convolution(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1), "SAME")


CASES = {
    "batch": (X8, _mlp, [((16, 32), '{"x"}, {}'), ((32, 64), "{}, {}"), ((64, 32), "{}, {}")], (), []),
    "columns, then rows": (
        X8,
        _mlp,
        [((16, 32), "{}, {}"), ((32, 64), '{}, {"x"}'), ((64, 32), '{"x"}, {}')],
        ("{}, {}",),
        [("all_reduce", (16, 32))],
    ),
    "columns, then rows, to a split result": (
        X8,
        _mlp,
        [((16, 32), "{}, {}"), ((32, 64), '{}, {"x"}'), ((64, 32), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("reduce_scatter", (2, 32))],
    ),
    "weights split, batch split": (
        X8,
        _step,
        [((32, 64), '{"x"}, {}'), ((512, 32), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("all_gather", (32, 64)), ("reduce_scatter", (64, 4))],
    ),
    "halo": (
        X8,
        _convolution,
        [((1, 4, 64, 16), '{}, {}, {"x"}, {}'), ((8, 4, 3, 3), "{}, {}, {}, {}")],
        ('{}, {}, {"x"}, {}',),
        [("collective_permute", (1, 4, 1, 16))] * 2,
    ),
    "swapped axes of one size": (
        X44,
        lambda a: a * 2,
        [((16, 16), '{"x"}, {"y"}')],
        ('{"y"}, {"x"}',),
        [("collective_permute", (4, 4))],
    ),
    "from one dimension to another": (
        X8,
        lambda a: a * 2,
        [((16, 32), '{"x"}, {}')],
        ('{}, {"x"}',),
        [("all_to_all", (16, 4))],
    ),
    "split further": (X42, lambda a: a * 2, [((16, 32), '{"x"}, {}')], ('{"x", "y"}, {}',), []),
    "slice": (
        X8,
        lambda a: a[1:],
        [((64, 4), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("collective_permute", (1, 4))],
    ),
    "roll": (
        X8,
        lambda a: jnp.roll(a, 1, 0),
        [((64, 4), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("collective_permute", (1, 4))] * 2,
    ),
    "reverse": (
        X8,
        lambda a: a[::-1],
        [((64, 4), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("collective_permute", (8, 4))],
    ),
    "sort": (
        X8,
        lambda a: jnp.sort(a, axis=0),
        [((64, 8), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("all_to_all", (64, 1)), ("all_to_all", (8, 8))],
    ),
    "top_k": (
        X8,
        lambda a: lax.top_k(a, 2)[0],
        [((4, 64), '{}, {"x"}')],
        (),
        [("all_gather", (4, 16)), ("all_gather", (4, 16))],
    ),
    "cumulative": (
        X8,
        lambda a: lax.reduce_window(a, np.float32(0), lax.add, (64, 1), (1, 1), ((63, 0), (0, 0))),
        [((64, 4), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("all_gather", (8, 4))],
    ),
    "rows of a split table": (
        X8,
        lambda t, i: t[i[:, 0].astype(jnp.int32)],
        [((64, 4), '{"x"}, {}'), ((6, 1), "{}, {}")],
        (),
        [("all_reduce", (6, 4))],
    ),
    "rows of a large table that is split as the indices are": (
        X8,
        lambda t, i: t[i[:, 0].astype(jnp.int32)],
        [((1024, 4), '{"x"}, {}'), ((16, 1), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("all_gather", (16,)), ("reduce_scatter", (2, 4))],
    ),
    "rows of a small table that is split as the indices are": (
        X8,
        lambda t, i: t[i[:, 0].astype(jnp.int32)],
        [((16, 4), '{"x"}, {}'), ((1024, 1), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("all_gather", (16, 4))],
    ),
    "gradient of a large table that is split as the indices are": (
        X8,
        lambda t, i, g: t.at[i[:, 0].astype(jnp.int32)].add(g),
        [((1024, 4), '{"x"}, {}'), ((16, 1), '{"x"}, {}'), ((16, 4), '{"x"}, {}')],
        ('{"x"}, {}',),
        [("all_gather", (16,)), ("all_gather", (16, 4))],
    ),
    "dynamic slice": (
        X8,
        lambda a, i: lax.dynamic_slice(a, (i[0].astype(jnp.int32), 0), (1, 4)),
        [((64, 4), '{"x"}, {}'), ((1,), "{}")],
        (),
        [("all_reduce", (1, 4))],
    ),
    "dynamic slice of most of the rows": (
        X8,
        lambda a, i: lax.dynamic_slice(a, (i[0].astype(jnp.int32), 0), (60, 4)),
        [((64, 4), '{"x"}, {}'), ((1,), "{}")],
        (),
        [("all_gather", (64, 4))],
    ),
    "dynamic update": (
        X8,
        lambda a, b, i: lax.dynamic_update_slice(a, b, (i[0].astype(jnp.int32), 0)),
        [((64, 4), '{"x"}, {}'), ((3, 4), "{}, {}"), ((1,), "{}")],
        ('{"x"}, {}',),
        [],
    ),
    "split bias of a split batch": (
        X8,
        lambda a, b: a + b,
        [((64, 16), '{"x"}, {}'), ((16,), '{"x"}')],
        ('{"x"}, {}',),
        [("all_gather", (16,))],
    ),
    "elementwise op of CHLO": (X8, lambda a: lax.erf_inv(a) * 2, [((64, 4), '{"x"}, {}')], (), []),
    "loop": (
        X8,
        lambda a: lax.fori_loop(0, 3, lambda _, c: c * 2, a),
        [((64, 4), '{"x"}, {}')],
        (),
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_chips_exchange(case: str) -> None:
    mesh, function, arguments, results, expected = CASES[case]
    assert collectives(mesh, function, arguments, results) == expected
