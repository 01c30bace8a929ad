"""Elementwise functions that TT-NN composes of others, those that change their first operand, and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api.chosen_shards import for_elements
from tt_xla.ttnn_api.configs import MODE_AT, UnaryWithParam, function_of, gelu_op, step
from tt_xla.ttnn_api.enums import DataType, Layout, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.pointwise import IN_PLACE_PARAMETERS, in_place, pair
from tt_xla.ttnn_api.families.pointwise_functions import of_three
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.operation import OPERATIONS, Functions, Part, Rule, define, delivered, operation
from tt_xla.ttnn_api.operation_enums import BcastOpDim, BcastOpMath, LossReductionMode
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor


def _scaled(op: str) -> Rule:
    def rule(
        input_tensor_a: Operand,
        input_tensor_b: Operand,
        alpha: float,
        memory_config: MemoryConfig | None,
        output_tensor: Operand | None,
    ) -> Step:
        multiple = [("op_type", "mul_unary_sfpu"), ("params", [float(alpha)])]
        attributes = {"input_tensor_b_activations": [multiple]}
        return pair(op, input_tensor_a, input_tensor_b, None, memory_config, output_tensor, attributes)

    rule.__doc__ = f"Computes {op.removeprefix('ttnn.')} of the first operand and a multiple of the second one."
    return rule


define("ttnn.addalpha", _scaled("ttnn.add"))
define("ttnn.subalpha", _scaled("ttnn.subtract"))


def _integers(op: str) -> Rule:
    def rule(
        input_tensor_a: Any,
        input_tensor_b: Any,
        input_b: Any,
        dtype: DataType | None,
        memory_config: MemoryConfig | None,
        output_tensor: Operand | None,
    ) -> Step:
        right = input_b if input_tensor_b is None else input_tensor_b
        return pair(op, input_tensor_a, right, dtype, memory_config, output_tensor, {})

    rule.__doc__ = f"Computes {op.removeprefix('ttnn.')} of integers."
    return rule


for _name, _op in {
    "bitwise_left_shift": "logical_left_shift",
    "bitwise_right_shift": "bitwise_right_shift",
    "gcd": "gcd",
    "lcm": "lcm",
}.items():
    define(f"ttnn.{_name}", _integers(f"ttnn.{_op}"))


@operation("ttnn.bias_gelu")
def bias_gelu(
    input_tensor_a: Operand,
    input_tensor_b: Any,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
    fast_and_approximate_mode: bool | None,
) -> Step:
    """Computes gelu of a sum."""
    attributes: dict[str, Any] = {"activations": [[("op_type", gelu_op(bool(fast_and_approximate_mode)))]]}
    return pair("ttnn.add", input_tensor_a, input_tensor_b, dtype, memory_config, output_tensor, attributes)


def _two(op: str, *, swapped: bool = False) -> Rule:
    def rule(input_tensor_a: Operand, input_tensor_b: Any, output_tensor: Operand) -> Step:
        step = pair(op, input_tensor_a, input_tensor_b, None, None, output_tensor, {})
        if swapped:
            step.operands = {"lhs": step.operands["rhs"], "rhs": step.operands["lhs"]}
        return step

    rule.__doc__ = f"Computes {op.removeprefix('ttnn.')} in place of the first operand."
    return rule


for _name, _rule in {
    "bias_gelu_": bias_gelu,
    "rsub_": _two("ttnn.subtract", swapped=True),
    **{f"{name}_": _two(f"ttnn.{name}") for name in ("ldexp", "logaddexp", "logaddexp2", "squared_difference")},
}.items():
    define(f"ttnn.{_name}", in_place(_rule), IN_PLACE_PARAMETERS)


@operation("ttnn.logical_not_", composite=True)
def logical_not_(input_tensor: Tensor) -> Tensor:
    """Replaces elements that are 0 by 1, and others by 0."""
    return OPERATIONS["ttnn.logical_not"](input_tensor, output_tensor=input_tensor)


@operation("ttnn.multigammaln", composite=True)
def multigammaln(input_tensor: Tensor, memory_config: Any) -> Tensor:
    """Computes the multivariate log-gamma function of dimension 4."""
    f = Functions(memory_config)
    result = f.lgamma(input_tensor)
    for shift in (0.5, 1.0, 1.5):
        result = f.add(result, f.lgamma(f.subtract(input_tensor, shift)))
    return f.add(result, 3 * math.log(math.pi))


@operation("ttnn.polyval", composite=True)
def polyval(input_tensor_a: Tensor, coeffs: Sequence[float], memory_config: Any) -> Tensor:
    """Computes a polynomial, whose first coefficient is that of the highest power."""
    if not coeffs:
        raise TTFatal("coeffs should be 1 or more coefficients", hint="Pass at least one coefficient.")
    f = Functions(memory_config)
    if len(coeffs) == 1:
        return f.full_like(input_tensor_a, coeffs[0])
    result = f.multiply(input_tensor_a, coeffs[0])
    for coefficient in coeffs[1:-1]:
        result = f.multiply(input_tensor_a, f.add(result, coefficient))
    return f.add(result, coeffs[-1])


@operation("ttnn.outer", composite=True)
def outer(input_tensor_a: Tensor, input_tensor_b: Tensor, memory_config: Any) -> Tensor:
    """Multiplies each element of the last dimension of one tensor with each of the other's; dimensions before it are
    those of a batch, which broadcast."""
    _check_outer(input_tensor_a, input_tensor_b)
    f = Functions()
    sides: list[Tensor] = []
    for tensor, place in ((input_tensor_a, -1), (input_tensor_b, -2)):
        layout = tensor.memory_config().memory_layout
        if layout not in (TensorMemoryLayout.INTERLEAVED, TensorMemoryLayout.HEIGHT_SHARDED):
            kind = tensor.memory_config().buffer_type
            tensor = f.to_memory_config(tensor, MemoryConfig(TensorMemoryLayout.INTERLEAVED, kind))
        sides.append(f.unsqueeze(tensor, place))
    batch = max(math.prod(each.type.shape[:-1]) for each in (input_tensor_a, input_tensor_b))
    if batch > 1 or input_tensor_a.dtype in (DataType.INT32, DataType.UINT32, DataType.FLOAT32):
        return Functions(memory_config).multiply(*sides)
    return Functions(memory_config).matmul(*(f.to_layout(each, Layout.TILE) for each in sides))


def _check_outer(a: Tensor, b: Tensor) -> None:
    """Refuses operands of an outer product.

    Raises:
        TTFatal: one has no dimension, or their data types are not taken or differ.
    """
    if not (a.shape and b.shape):
        raise TTFatal(
            f"ttnn.outer: inputs must be at least 1D, but got shapes {a.shape} and {b.shape}",
            hint="Give each a dimension with ttnn.unsqueeze.",
        )
    taken = (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.FLOAT32, DataType.INT32, DataType.UINT32)
    if a.dtype not in taken or b.dtype not in taken:
        raise TTFatal(
            f"ttnn.outer: unsupported dtype (got {a.dtype} and {b.dtype}); supported dtypes are BFLOAT16, BFLOAT8_B, "
            "FLOAT32, INT32, UINT32",
            hint="Convert them with ttnn.typecast.",
        )
    if a.dtype is not b.dtype:
        raise TTFatal(
            f"ttnn.outer: inputs must have the same dtype, but got {a.dtype} and {b.dtype}",
            hint="Convert one with ttnn.typecast.",
        )


def _gated(op: str, names: Sequence[str]) -> Rule:
    def rule(gate: Operand, up: Operand, memory_config: MemoryConfig | None, **parameters: Any) -> Step:
        attributes = {name: float(parameters[name]) for name in names}
        return pair(op, gate, up, None, memory_config, None, attributes)

    rule.__doc__ = f"Computes {op.removeprefix('ttnn.')} of a gate and a value."
    return rule


for _name, _names in {"situ_glu": ("beta1", "beta2"), "clamped_silu_glu": ("limit",)}.items():
    define(f"ttnn.{_name}", _gated(f"ttnn.{_name}", _names), ("gate", "up", *_names, "memory_config"))


@operation("ttnn.snake_beta")
def snake_beta(
    input_tensor: Operand,
    alpha: Operand,
    beta: Operand,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Computes ``x + sin(alpha * x) ** 2 / beta``."""
    operands = {"input": input_tensor, "alpha": alpha, "beta": beta}
    return of_three("ttnn.snake_beta", operands, {}, memory_config, output_tensor)


_CHAIN = {
    "add_unary_sfpu": "add",
    "div_unary_sfpu": "divide",
    "identity": "identity",
    "logsigmoid": "log_sigmoid",
    "mul_unary_sfpu": "multiply",
    "power": "pow",
    "recip": "reciprocal",
    "sub_unary_sfpu": "subtract",
    "unary_eq": "eq",
    "unary_ge": "ge",
    "unary_gt": "gt",
    "unary_le": "le",
    "unary_lt": "lt",
    "unary_ne": "ne",
}
"""Functions whose names in a chain are other than those of TT-NN's functions."""


@operation("ttnn.unary_chain", composite=True)
def unary_chain(
    input_tensor: Tensor, ops_chain: Sequence[Any], memory_config: Any, output_tensor: Tensor | None
) -> Tensor:
    """Applies functions of one number one after the other: floats in one kernel."""
    steps = [each if isinstance(each, UnaryWithParam) else UnaryWithParam(each) for each in ops_chain]
    if steps and input_tensor.dtype.element.is_float:
        return delivered(chain(input_tensor, steps, memory_config), output_tensor)
    f, result = Functions(memory_config), input_tensor
    for each in steps:
        name = each.op_type.name.lower()
        result = getattr(f, _CHAIN.get(name, name))(result, *_parameters_of(each))
    return delivered(result, output_tensor)


def _parameters_of(link: UnaryWithParam) -> Sequence[Any]:
    """Returns the parameters of a step of a chain that its function takes."""
    return () if link.op_type.name.lower() in (*MODE_AT, "gelu") else link.params


def _chain(input_tensor: Operand, ops_chain: Sequence[UnaryWithParam], memory_config: MemoryConfig | None) -> Step:
    functions = [function_of(each) for each in ops_chain]
    memory = for_elements(memory_config, input_tensor.shape, input_tensor.layout, [input_tensor])
    result = input_tensor.type.with_(memory=memory)
    return Step("ttnn.unary_chain", {"input": input_tensor}, [result], {"functions": functions})


chain = Part("ttnn.unary_chain", _chain)
"""Applies functions one after another to a float, without rounding to its type between them."""


@operation("ttnn.assign", composite=True)
def assign(
    input_tensor: Tensor | None,
    input_a: Tensor | None,
    input_b: Tensor | None,
    memory_config: Any,
    dtype: DataType | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """Copies a tensor, or its elements into another tensor."""
    source = input_tensor if input_tensor is not None else input_a
    target = input_b if input_b is not None else output_tensor
    if target is not None:
        return OPERATIONS["ttnn.copy"](source, target)
    return OPERATIONS["ttnn.clone"](source, dtype=dtype, memory_config=memory_config)


_BCAST = {BcastOpMath.ADD: "add", BcastOpMath.SUB: "subtract", BcastOpMath.MUL: "multiply"}
_REPEATED = {BcastOpDim.H: (-2,), BcastOpDim.W: (-1,), BcastOpDim.HW: (-2, -1)}


def _repeated(
    lhs: Operand, rhs: Operand, function: str, memory_config: MemoryConfig | None, output_tensor: Operand | None
) -> Step:
    result = lhs.type.with_(memory=memory_config) if output_tensor is None else output_tensor.type
    return Step("ttnn.bcast", {"lhs": lhs, "rhs": rhs}, [result], {"function": function}, into=output_tensor)


repeated = Part("ttnn.bcast", _repeated)
"""Adds, subtracts or multiplies floats in the matrix unit."""


@operation("ttnn.bcast", composite=True)
def bcast(
    input_a: Tensor,
    input_b: Tensor,
    math_op: BcastOpMath,
    dim: BcastOpDim,
    memory_config: Any,
    output_tensor: Tensor | None,
) -> Tensor:
    """Adds, subtracts or multiplies by a tensor that is repeated along rows, columns or both."""
    for each in _REPEATED[dim]:
        if input_b.shape[each] != 1:
            raise TTFatal(
                f"bcast along {dim.name}: the second operand must have size 1 in dimension {each}, "
                f"its shape is {input_b.shape}",
                hint="Pass another dim, or slice the tensor.",
            )
    function = _BCAST[math_op]
    if input_a.dtype.element.is_float and input_b.dtype.element.is_float:
        return repeated(input_a, input_b, function, memory_config, output_tensor)
    return getattr(Functions(memory_config), function)(input_a, input_b, output_tensor=output_tensor)


def _loss(distance: str) -> Rule:
    def rule(
        input_reference: Tensor,
        input_prediction: Tensor,
        reduction: LossReductionMode,
        memory_config: Any,
        output_tensor: Tensor | None,
    ) -> Tensor:
        f = Functions(memory_config)
        if input_reference.dtype.element.is_float:
            losses = f.subtract(input_reference, input_prediction, activations=[step(distance)])
        else:
            losses = getattr(f, distance)(f.subtract(input_reference, input_prediction))
        if reduction is LossReductionMode.NONE:
            return delivered(losses, output_tensor)
        if reduction is LossReductionMode.MEAN and not losses.dtype.element.is_float:
            raise TTFatal(
                f"ttnn.mean does not support integer inputs - got DataType::{losses.dtype.name}.",
                hint="Convert both tensors with ttnn.typecast.",
            )
        reduce = f.sum if reduction is LossReductionMode.SUM else f.mean
        return delivered(reduce(losses), output_tensor)

    rule.__doc__ = f"Computes a loss by {distance} of differences."
    return rule


define("ttnn.l1_loss", _loss("abs"), composite=True)
define("ttnn.mse_loss", _loss("square"), composite=True)
