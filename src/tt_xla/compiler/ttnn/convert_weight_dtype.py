"""Pass: weights of matrix products and convolutions are stored as block floats.

The option ``experimental_weight_dtype`` applies to all weights. An argument's ``ttcore.weight_dtype`` takes precedence;
``bf16`` there leaves the weight alone. A weight depends on a parameter or constant of the model, an argument. Constants
that the program itself contains, such as the matrices by which an image is resized, keep their type.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import constant_values, tensor_operands
from tt_xla.compiler.analysis.layers import weight_of
from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions
from tt_xla.errors import OptionError
from tt_xla.ir.base import shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import WEIGHT_DTYPE
from tt_xla.ir.ttnn.attributes import Conv2dConfigAttr, laid_out, layout_of
from tt_xla.ir.ttnn.memory import TypecastOp
from tt_xla.ir.ttnn.structure import ConcatOp
from tt_xla.ir.ttnn.window import Conv2dOp, PrepareConv2dWeightsOp

_PRECISION = (DataType.BFP_BF4, DataType.BFP_BF8, DataType.BF16)
"""Weight types from the least to the most precise."""


def run(module: ModuleOp, dtype: DataType | None, overrides: Mapping[str, str] | None = None) -> None:
    """Converts every weight that depends on nothing but arguments with the role of parameters and constants.

    A weight that the program casts from bfloat16 to float32 is left alone: it asks for a product in float32.

    Args:
        module: TTNN module that is changed in place.
        dtype: Element type of weights whose arguments have no attribute; None leaves them alone.
        overrides: Element types by argument name; they take precedence over the attributes.

    Raises:
        OptionError: A weight depends on a float32 argument.
    """
    for function in functions(module):
        argument_dtypes = _argument_dtypes(function, overrides or {})
        if dtype is None and not argument_dtypes:
            continue
        sources = _sources(function)
        for op in list(body(function).ops):
            weight = weight_of(op)
            if weight is None or not sources.get(weight):
                continue
            weight_dtype = (_requested(weight, argument_dtypes, dtype) if argument_dtypes else None) or dtype
            if weight_dtype is None or weight_dtype is DataType.BF16:
                continue
            if layout_of(weight).dtype not in (DataType.BF16, weight_dtype):
                _check(op, sources[weight], weight_dtype)
            elif isinstance(op, Conv2dOp):
                _convert_convolution(op, weight_dtype)
            else:
                _typecast(op, 1, weight_dtype)


def _argument_dtypes(function: FuncOp, overrides: Mapping[str, str]) -> dict[SSAValue, DataType | None]:
    """Returns the weight types that arguments have by an override of their name or by their attribute."""
    argument_attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    attributes = zip(body(function).args, argument_attributes, strict=False)
    dtypes: dict[SSAValue, DataType | None] = {}
    for argument, attrs in attributes:
        name, attribute = attrs.data.get("ttir.name"), attrs.data.get(WEIGHT_DTYPE)
        dtype_name = overrides.get(name.data) if isinstance(name, StringAttr) else None
        if dtype_name is None and isinstance(attribute, StringAttr):
            dtype_name = attribute.data
        if dtype_name is not None:
            dtypes[argument] = DataType(dtype_name)
    return dtypes


def _sources(function: FuncOp) -> dict[SSAValue, frozenset[SSAValue]]:
    """Returns the arguments that each constant value depends on; none for constants of the program itself."""
    constants = constant_values(function)
    sources: dict[SSAValue, frozenset[SSAValue]] = {
        argument: frozenset[SSAValue]((argument,)) for argument in body(function).args if argument in constants
    }
    for op in body(function).ops:
        for result in op.results:
            if result in constants:
                sources[result] = frozenset[SSAValue]().union(*(sources[operand] for operand in tensor_operands(op)))
    return sources


def _requested(weight: SSAValue, known: dict[SSAValue, DataType | None], default: DataType | None) -> DataType | None:
    """Returns the weight type that a weight's arguments ask for; of joined weights, the most precise one."""
    if weight in known or not isinstance(weight, OpResult):
        return known.get(weight)
    dtypes = [_requested(value, known, default) for value in tensor_operands(weight.op)]
    if isinstance(weight.op, ConcatOp) and any(dtypes):
        dtypes = [requested or default or DataType.BF16 for requested in dtypes]
    known_dtypes = [requested for requested in dtypes if requested is not None]
    known[weight] = max(known_dtypes, key=_PRECISION.index, default=None)
    return known[weight]


def _typecast(op: Operation, index: int, dtype: DataType) -> None:
    """Casts an operand of an op to another element type."""
    value = op.operands[index]
    type_ = laid_out(shape(value), layout_of(value).retyped(dtype))
    cast = TypecastOp.make([value], [type_], op.location)
    Rewriter.insert_op(cast, InsertPoint.before(op))
    op.operands[index] = cast.results[0]


def _convert_convolution(op: Conv2dOp, dtype: DataType) -> None:
    """Puts the format into the convolution's config; weights that are prepared beforehand have it from there on."""
    config = Conv2dConfigAttr.of(**(dict(op.conv2d_config or ()) | {"weights_dtype": dtype}))
    op.properties["conv2d_config"] = config
    prepare = op.weight.owner
    if isinstance(prepare, PrepareConv2dWeightsOp):
        prepare.properties["conv2d_config"] = config
        type_ = laid_out(shape(prepare.result), layout_of(prepare.result).retyped(dtype))
        Rewriter.replace_value_with_new_type(prepare.result, type_)


def _check(op: Operation, sources: frozenset[SSAValue], dtype: DataType) -> None:
    """Checks that the arguments that a float32 weight depends on are narrower, as those of a bfloat16 model are.

    Raises:
        OptionError: An argument is float32.
    """
    if any(layout_of(argument).dtype is DataType.F32 for argument in sources):
        raise OptionError(
            f"Weights of '{op.name}' are {DataType.F32}; conversion to {dtype} needs a bfloat16 model.",
            location=describe(op.location),
            hint="Cast the model first, `model.to(dtype=torch.bfloat16)`, and its inputs likewise; or leave out "
            "enable_bfp8_conversion and experimental_weight_dtype.",
        )
