"""Conditions on tensors that a call gives for its results, in TT-NN's words."""

from __future__ import annotations

from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.layouts import Type, volume
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.shapes import padded

_TERNARY = ("ttnn.addcdiv", "ttnn.addcmul", "ttnn.lerp", "ttnn.mac", "ttnn.snake_beta", "ttnn.where")

_SLICE = "ttnn.slice_static"

_SHAPES = {
    **dict.fromkeys(
        ("ttnn.assign", "ttnn.to_memory_config", _SLICE),
        "Input tensor shape {made} does not match output tensor shape {given}",
    ),
    **dict.fromkeys(("ttnn.matmul", "ttnn.linear"), "Invalid optional output tensor"),
    **dict.fromkeys(
        _TERNARY,
        "When preallocted output tensor is used, Ternary operation requires its shape to match the computed shape. "
        "Computed shape: {made}, Shape in preallocated output tensor: {given}",
    ),
    "ttnn.argmax": "Preallocated output tensor is not page-compatible with the reduction result! Got : {given}, "
    "expected: {made} (or any shape with the same volume and last dimension)",
    "ttnn.clamp_tensor": "Shape of Output tensor {given} provided does not match the broadcasted output shape {made}",
    "ttnn.typecast": "Typecast operation requires input and preallocated output logical shapes to match. Input shape: "
    "{made}, Preallocated output shape: {given}",
}
_UNARY_SHAPE = "Unary: Preallocated output shape must match computed shape. Computed: {made}, Preallocated: {given}"
"""TT-NN's words about another shape, by op; those of functions of one tensor for all others."""

_LAYOUTS = {
    **dict.fromkeys(
        ("ttnn.assign", "ttnn.to_memory_config", _SLICE),
        "Input tensor layout (Layout::{made.name}) must equal output tensor layout (Layout::{given.name})",
    ),
    **dict.fromkeys(
        _TERNARY, "Ternary operation requires output tensor to be in Tile layout when working with non-sharded tensor."
    ),
    "ttnn.typecast": "Typecast operation requires input and output layouts to match. Input layout: "
    "Layout::{made.name}, Output layout: Layout::{given.name}",
}
_UNARY_LAYOUT = (
    "Unary: Output format (tile/row-major) must match input when preallocated. Output: {given.value}, Input: "
    "{made.value}"
)
"""TT-NN's words about another layout, by op; those of functions of one tensor for all ops that are in neither table."""

_MIXED = {DataType.BFLOAT16, DataType.FLOAT32, DataType.BFLOAT8_B}
"""Data types of which a tensor may receive a result of another one."""

_ANY_TYPE = ("ttnn.full",)
"""Ops whose result a tensor of another layout or data type may receive."""


def receive(step: Step) -> None:
    """Gives the results of a step the types of the tensors that receive them.

    Raises:
        TTFatal: a tensor has another shape than its result, or another layout.
    """
    into = [step.into] if isinstance(step.into, Operand) else list(step.into or ())
    types = list(step.results)
    for place, operand in enumerate(into):
        if operand is not None:
            _check_shape(step.op, types[place], operand.type)
            _check_type(step.op, types[place], operand.type)
            types[place] = operand.type
    step.results = types


def _check_shape(op: str, made: Type, given: Type) -> None:
    words, shown = _SHAPES.get(op, _UNARY_SHAPE), [made.shape, given.shape]
    if op == "ttnn.argmax":
        fits = volume(made.shape) == volume(given.shape) and made.shape[-1:] == given.shape[-1:]
    else:
        fits = made.shape == given.shape
    if op == _SLICE and (full := [padded(each, made.layout) for each in shown])[0] != full[1]:
        words, shown = "The preallocated output tensor needs a padded shape of {made}, however it is {given}", full
    if not fits:
        raise TTFatal(
            words.format(made=shown[0], given=shown[1]),
            hint="Make the tensor that receives the result with this shape.",
        )


def _check_type(op: str, made: Type, given: Type) -> None:
    if op in _ANY_TYPE or (op in _SHAPES and op not in _LAYOUTS):
        return
    if made.layout is not given.layout:
        wanted = "ttnn.TILE_LAYOUT" if made.layout is Layout.TILE else "ttnn.ROW_MAJOR_LAYOUT"
        raise TTFatal(
            _LAYOUTS.get(op, _UNARY_LAYOUT).format(made=made.layout, given=given.layout),
            hint=f"Make the tensor that receives the result with layout={wanted}.",
        )
    if op == _SLICE and made.dtype is not given.dtype:
        raise TTFatal(
            f"The preallocated output tensor needs a layout of TensorLayout(dtype=DataType::{made.dtype.name}), "
            f"however it is TensorLayout(dtype=DataType::{given.dtype.name})",
            hint=f"Make the tensor that receives the result with dtype={made.dtype}.",
        )
    if op not in _LAYOUTS and made.dtype is not given.dtype and not {made.dtype, given.dtype} <= _MIXED:
        raise TTFatal(
            f"Preallocated output dtype DataType::{given.dtype.name} is not compatible with input dtype "
            f"DataType::{made.dtype.name}. Integer and float dtypes cannot be mixed; mixed floating-point output is "
            "limited to BFLOAT16, FLOAT32, and BFLOAT8_B",
            hint=f"Make the tensor that receives the result with dtype={made.dtype}.",
        )
