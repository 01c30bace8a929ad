"""Layouts of a program's arguments and results: the order in which the elements of an array stand in memory.

A layout is a permutation of the dimensions, from the one that varies fastest to the one that varies slowest, as in
XLA. JAX names a layout for each argument and result of ``main`` in the attribute ``mhlo.layout_mode``: ``default``,
``auto``, or the permutation in braces. The compiler does not see layouts: arrays that are not row-major are put in
row-major order before a run, and results are put in their layout after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.rules.elementwise import ELEMENTWISE
from tt_xla.compiler.stablehlo.expand import IDENTITIES
from tt_xla.frontends.jax.pjrt.buffer import Order, row_major
from tt_xla.frontends.jax.pjrt.errors import PluginError

MODE = "mhlo.layout_mode"
_PLAIN = re.compile(r"\{([\d,\s]*)\}")
_SAME_LAYOUT = {*ELEMENTWISE, "sdy.sharding_constraint", "sdy.reshard"}
"""Ops whose result has the layout of its operand."""


def entry_layouts(function: Any) -> tuple[tuple[Order, ...], tuple[Order, ...]]:
    """Returns the layouts of the arguments and of the results of ``main``.

    Arguments for which JAX leaves the choice are row-major. Results for which it does get the layout in which the
    transpositions that led to them move nothing.

    Args:
        function: ``main``, before its arguments are split over chips.

    Raises:
        PluginError: a layout has tiles, or is no permutation of the dimensions.
    """
    block = function.regions[0].blocks[0]
    arguments = [
        _stated(mode, value, f"Argument {index}")
        for index, (mode, value) in enumerate(_modes(function, "arg_attrs", block.arguments))
    ]
    known = dict(zip(block.arguments, arguments, strict=True))
    returned = list(block.operations)[-1].operands
    results = [
        _propagated(value, known) if mode == "auto" else _stated(mode, value, f"Result {index}")
        for index, (mode, value) in enumerate(_modes(function, "res_attrs", returned))
    ]
    return tuple(arguments), tuple(results)


def _modes(function: Any, name: str, values: Sequence[Any]) -> list[tuple[str, Any]]:
    """Returns the layout mode of each argument or result, with the value itself."""
    attributes = list(function.attributes[name]) if name in function.attributes else [{}] * len(values)
    modes = [each[MODE].value if MODE in each else "default" for each in attributes]
    return list(zip(modes, values, strict=True))


def _rank(value: Any) -> int:
    return len(value.type.shape) if isinstance(value.type, ir.RankedTensorType) else 0


def _stated(mode: str, value: Any, what: str) -> Order:
    """Returns the layout that a layout mode states; row-major for ``default`` and ``auto``.

    Args:
        mode: the layout mode.
        value: the argument or result.
        what: how messages call it.
    """
    if mode in ("default", "auto"):
        return row_major(_rank(value))
    plain = _PLAIN.fullmatch(mode)
    if plain is None:
        raise PluginError(
            "UNIMPLEMENTED",
            f"{what} has layout {mode}; 'tt' has layouts without tiles and memory spaces for arrays of JAX.",
            hint="Use Layout(major_to_minor=...) without a tiling; on the chip, the compiler tiles tensors itself.",
        )
    order = tuple(int(dim) for dim in plain[1].split(",") if dim.strip())
    if sorted(order) != list(range(_rank(value))):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"{what} has layout {mode} and shape {value.type}; expected each dimension from 0 to "
            f"{_rank(value) - 1} once.",
        )
    return order


def _propagated(value: Any, known: dict[Any, Order]) -> Order:
    """Returns the layout of a value for which nothing has to be moved, as far as elementwise ops and transpositions
    lead to a value with a layout; row-major beyond them.

    Args:
        value: the value.
        known: layouts of the function's arguments.
    """
    dims = list(range(_rank(value)))  # for each dimension of the result, the dimension of ``value`` that it comes from
    while (order := known.get(value)) is None:
        op = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        source = None if op is None else _source(op, value)
        if op is None or source is None:
            order = _constrained(op, value) or row_major(len(dims))
            break
        if op.name == "stablehlo.transpose":
            permutation = [int(dim) for dim in op.attributes["permutation"]]
            dims = [permutation[dim] for dim in dims]
        value = source
    return tuple(dims.index(dim) for dim in order)


def _source(op: Any, value: Any) -> Any:
    """Returns the operand whose layout an op's result takes over; None if it takes over none."""
    if op.name == "stablehlo.transpose":
        return op.operands[0]
    if op.name == "stablehlo.optimization_barrier":
        return op.operands[ir.OpResult(value).result_number]
    is_identity = op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value in IDENTITIES
    if op.name not in _SAME_LAYOUT and (not is_identity or "result_layouts" in op.attributes):
        return None
    return next((operand for operand in op.operands if operand.type.shape == value.type.shape), None)


def _constrained(op: Any, value: Any) -> Order | None:
    """Returns the layout that a custom call declares for one of its results; None for other ops.

    ``jax.experimental.layout.with_layout_constraint`` is such a call.
    """
    if op is None or op.name != "stablehlo.custom_call" or "result_layouts" not in op.attributes:
        return None
    order = op.attributes["result_layouts"][ir.OpResult(value).result_number]
    return tuple(int(dim) for dim in order)
