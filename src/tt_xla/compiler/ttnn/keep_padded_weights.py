"""Pass: convolutions whose weights TT-NN pads keep them in bfloat16.

TT-NN distributes an interleaved input over cores that it chooses itself, and pads the channels of prepared weights and
bias to whole blocks of these cores. It prepares them as bfloat16 only for such an input
(:mod:`tt_xla.compiler.workarounds.block_float_convolutions`); a conversion afterwards loses the padding, and the
convolution refuses the weights. ttnn 0.81.1: ``weight_matrix_width_ntiles 64 should be divisible by
weight_block_w_ntiles 6``.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import OpResult, SSAValue
from xdsl.rewriter import Rewriter

from tt_xla.compiler.rewriting import body, functions
from tt_xla.cost.sharding import may_pad_channels
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.ir.ttnn.configs import Conv2dConfigAttr
from tt_xla.ir.ttnn.memory import TypecastOp
from tt_xla.ir.ttnn.window import Conv2dOp, ConvTranspose2dOp
from tt_xla.target import Target


def run(module: ModuleOp, target: Target) -> None:
    """Removes the conversions of prepared weights and biases that TT-NN may have padded."""
    by_name = {function.sym_name.data: function for function in functions(module)}
    for function in by_name.values():
        for op in list(body(function).ops):
            if isinstance(op, Conv2dOp | ConvTranspose2dOp) and may_pad_channels(
                layout_of(op.input), (op.in_channels, op.out_channels), target
            ):
                _keep(op, by_name)


def _keep(op: Conv2dOp | ConvTranspose2dOp, by_name: Mapping[str, FuncOp]) -> None:
    """Gives a convolution its prepared weights and bias as they were before their conversion to block floats.

    Weights that are no block floats yet are those that TT-NN prepares itself at each call. Weights that several ops
    read stay as they are, because the config of each of those ops names their type.
    """
    if not layout_of(op.weight).dtype.is_block_float or not op.weight.has_one_use():
        return
    for index, operand in enumerate(op.operands):
        if operand in (op.weight, op.bias) and layout_of(operand).dtype.is_block_float:
            op.operands[index] = _unconverted(operand, by_name)
    fields = dict(op.conv2d_config or ()) | {"weights_dtype": layout_of(op.weight).dtype}
    op.properties["conv2d_config"] = Conv2dConfigAttr.of(**fields)


def _unconverted(value: SSAValue, by_name: Mapping[str, FuncOp]) -> SSAValue:
    """Returns the source of a conversion, here or in the const-eval function of the value, if it has no other use."""
    owner = value.owner
    if isinstance(owner, TypecastOp):
        source = owner.input
        if value.has_one_use():
            Rewriter.erase_op(owner, safe_erase=False)
        return source
    if not (isinstance(owner, LoadCachedOp) and isinstance(value, OpResult)):
        return value
    function = by_name[owner.callee]
    returned = body(function).last_op
    assert isinstance(returned, ReturnOp)
    before = _unconverted(returned.operands[value.index], by_name)
    returned.operands[value.index] = before
    function.update_function_type()
    return Rewriter.replace_value_with_new_type(value, before.type)
