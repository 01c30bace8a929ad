"""Weights of matrix products and convolutions stored as block floats (``experimental_weight_dtype``)."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttnn.constness import constant_values
from tt_xla.errors import OptionError
from tt_xla.ir.base import shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttnn.attributes import Conv2dConfigAttr, laid_out, layout_of
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttnn.memory import TypecastOp
from tt_xla.ir.ttnn.window import Conv2dOp, PrepareConv2dWeightsOp


def run(module: ModuleOp, dtype: DataType) -> None:
    """Converts every weight that depends on parameters and constants alone.

    Raises:
        OptionError: a weight is not bfloat16.
    """
    for function in functions(module):
        constants = constant_values(function)
        for op in list(body(function).ops):
            if isinstance(op, MatmulOp | LinearOp) and op.b in constants:
                _check(op, op.b, dtype)
                _typecast(op, 1, dtype)
            elif isinstance(op, Conv2dOp) and op.weight in constants:
                _check(op, op.weight, dtype)
                _convert_convolution(op, dtype)


def _typecast(op: Operation, index: int, dtype: DataType) -> None:
    value = op.operands[index]
    type_ = laid_out(shape(value), layout_of(value).retyped(dtype))
    cast = TypecastOp.make([value], [type_], op.location)
    Rewriter.insert_op(cast, InsertPoint.before(op))
    op.operands[index] = cast.results[0]


def _convert_convolution(op: Conv2dOp, dtype: DataType) -> None:
    """The convolution's config says the format; weights that are prepared beforehand have it from then on."""
    config = Conv2dConfigAttr.of(**(dict(op.value("conv2d_config") or ()) | {"weights_dtype": dtype}))
    op.properties["conv2d_config"] = config
    prepare = op.weight.owner
    if isinstance(prepare, PrepareConv2dWeightsOp):
        prepare.properties["conv2d_config"] = config
        type_ = laid_out(shape(prepare.result), layout_of(prepare.result).retyped(dtype))
        Rewriter.replace_value_with_new_type(prepare.result, type_)


def _check(op: Operation, weight: SSAValue, dtype: DataType) -> None:
    found = layout_of(weight).dtype
    if found not in (DataType.BF16, dtype):
        raise OptionError(
            f"Weights of '{op.name}' are {found}; conversion to {dtype} needs a bfloat16 model.",
            location=describe(op.location),
            hint="Cast the model first, `model.to(dtype=torch.bfloat16)`, and its inputs likewise; or leave out "
            "enable_bfp8_conversion and experimental_weight_dtype.",
        )
