"""The ops that prepare the weights and the bias of a convolution, and what they know of its input.

TT-NN pads the channels of an input in tiles to 32 and those of rows to 8, and lays weights out for one of them, in
blocks that depend on the compute config too. Weights that are prepared for another input or config give wrong values
without an error, as Tenstorrent's functional simulator shows.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import OpResult, SSAValue

from tt_xla.compiler.rewriting import body
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.configs import Layout
from tt_xla.ir.ttnn.memory import TypecastOp
from tt_xla.ir.ttnn.window import (
    Conv2dOp,
    PrepareConv2dBiasOp,
    PrepareConv2dWeightsOp,
    PrepareConvTranspose2dBiasOp,
    PrepareConvTranspose2dWeightsOp,
)

Preparation = PrepareConv2dWeightsOp | PrepareConv2dBiasOp


def preparation_of(value: SSAValue, by_name: Mapping[str, FuncOp] | None = None) -> Preparation | None:
    """Returns the op that prepares a convolution's weights or bias for this use alone, or None.

    Args:
        value: the weights or the bias.
        by_name: the functions of the module, to look into those of const-eval.
    """
    while value.has_one_use():
        owner = value.owner
        if isinstance(owner, Preparation):
            return owner
        if isinstance(owner, LoadCachedOp) and by_name is not None:
            assert isinstance(value, OpResult)
            returned = body(by_name[owner.callee]).last_op
            assert isinstance(returned, ReturnOp)
            value = returned.operands[value.index]
        elif isinstance(owner, TypecastOp):
            value = owner.input
        else:
            return None
    return None


_ANY = Preparation | PrepareConvTranspose2dWeightsOp | PrepareConvTranspose2dBiasOp


def shared_preparation(value: SSAValue) -> _ANY | None:
    """Returns the op that prepares weights or a bias, which other convolutions may share, or None."""
    while isinstance(value.owner, TypecastOp):
        value = value.owner.input
    return value.owner if isinstance(value.owner, _ANY) else None


def prepare_for_rows(op: Conv2dOp) -> bool:
    """Prepares weights and bias for an input in rows, and returns whether that is possible.

    Weights that no op prepares follow the input by themselves. Weights that other convolutions share stay as they are.
    """
    values = [value for value in (op.weight, op.bias) if value is not None and shared_preparation(value)]
    preparations = [each for each in map(preparation_of, values) if each is not None]
    if len(preparations) < len(values):
        return False
    for each in preparations:
        each.input_tensor_layout = Layout.ROW_MAJOR
    return True
