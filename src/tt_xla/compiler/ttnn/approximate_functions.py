"""Pass: functions for which TT-NN has a coarse, fast form are computed by it.

It is the form that TT-NN calls ``fast_and_approximate_mode``. Of gelu it is a table of six lines: 223 cycles a tile
instead of 2849, with an error of up to 0.024 (tt-metal issue 52407).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tt_xla.compiler.analysis.layers import layers_of
from tt_xla.compiler.rewriting import body, functions
from tt_xla.ir import ttnn
from tt_xla.ir.base import TTOp
from tt_xla.ir.properties import STR
from tt_xla.ir.ttnn.configs import UNARIES, UnaryAttr
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp

if TYPE_CHECKING:
    from tt_xla.precision import LayerPrecision

APPROXIMATE = {"gelu": "gelu_approx"}
"""Name of the coarse form by the name of the function."""

_OPS = {ttnn.UNARY_OPS[exact]: ttnn.UNARY_OPS[coarse] for exact, coarse in APPROXIMATE.items()}
_SIDES = ("activations", "input_tensor_a_activations", "input_tensor_b_activations")
"""Properties of binary ops with the functions that their kernel applies."""


def run(module: ModuleOp, everywhere: bool, layers: Mapping[str, LayerPrecision]) -> None:
    """Replaces functions by their coarse forms.

    Args:
        module: TTNN module that is changed in place.
        everywhere: Whether functions change that belong to no layer, or to one that ``layers`` says nothing about.
        layers: Precision by name of a layer; of several layers in one product, one that forbids it is enough.
    """
    for function in functions(module):
        names = layers_of(function) if layers else {}
        for op in list(body(function).ops):
            chosen = [layers[name].fast_and_approximate_mode for name in names.get(op, ()) if name in layers]
            chosen = [choice for choice in chosen if choice is not None]
            if all(chosen) if chosen else everywhere:
                _approximate(op)


def _approximate(op: Operation) -> None:
    """Replaces the functions that an op computes."""
    kind = _OPS.get(type(op))  # pyright: ignore[reportArgumentType]
    if kind is not None:
        Rewriter.replace_op(op, kind.make(list(op.operands), [op.results[0].type], op.location))
    elif isinstance(op, LinearOp | MatmulOp):
        if op.activation in APPROXIMATE:
            op.properties["activation"] = STR.encode(APPROXIMATE[op.activation])
    elif isinstance(op, TTOp):
        for side in _SIDES:
            steps = op.value(side) if side in op.properties else ()
            if any(dict(step)["op_type"] in APPROXIMATE for step in steps):
                op.properties[side] = UNARIES.encode(tuple(_coarse(step) for step in steps))


def _coarse(step: tuple[tuple[str, object], ...]) -> tuple[tuple[str, object], ...]:
    """Returns a function's fields with the name of its coarse form, if it has one."""
    name = str(dict(step)["op_type"])
    return UnaryAttr.of(APPROXIMATE[name]).data if name in APPROXIMATE else step
