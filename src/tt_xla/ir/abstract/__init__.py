"""Ops that TTIR and TTNN share: operands, properties and checks, written once.

``ttir.permute`` and ``ttnn.permute`` differ only in the layout of their result, so both derive from :class:`Permute`.
The ops are those of upstream's tables (tt-mlir ``TTIROps.td``, ``TTNNOps.td``). This module holds the base classes and
the common ops; each module beside it holds one family.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp, shape, tensor_type
from tt_xla.ir.properties import (
    BOOL,
    ELEMENTS,
    F32,
    I32_LIST,
    I32S,
    I64S,
    SCALAR,
    SI32,
    STR,
    STRS,
    defaulted,
    opt_prop_def,
    prop_def,
)


class ShapedOp(TTOp, ABC):
    """An op with any number of tensor results, whose shapes follow from its operands and properties."""

    def result_shapes(self) -> Sequence[shapes.Shape | None]:
        """Returns the shape that each result must have; None where the operands do not decide it.

        Raises:
            ValueError: operands or properties contradict each other.
        """
        return ()

    def verify_(self) -> None:
        try:
            expected = self.result_shapes()
        except ValueError as error:
            self.fail(str(error))
            return
        names = [name for name, _ in self.get_irdl_definition().results]
        for name, value, expected_shape in zip(names, self.results, expected, strict=False):
            if expected_shape is not None and shape(value) != expected_shape:
                self.fail(f"{name} has shape {shape(value)}, expected {expected_shape}")

    def require(self, condition: bool, message: str) -> None:
        """Raises ValueError with ``message`` unless ``condition`` holds."""
        if not condition:
            raise ValueError(message)

    def shape_of_rank(self, name: str, rank: int) -> shapes.Shape:
        """Returns the shape of the operand ``name``.

        Raises:
            ValueError: the operand has another number of dimensions than ``rank``.
        """
        sizes = shape(getattr(self, name))
        if len(sizes) != rank:
            raise ValueError(f"{name} has shape {sizes}, expected rank {rank}")
        return sizes

    def expect_shape(self, name: str, expected: shapes.Shape) -> None:
        """Checks the shape of the operand ``name``, which may be absent.

        Raises:
            ValueError: the operand has another shape than ``expected``.
        """
        operand = getattr(self, name)
        if operand is not None and shape(operand) != expected:
            raise ValueError(f"{name} has shape {shape(operand)}, expected {expected}")


class TensorOp(ShapedOp, ABC):
    """An op with one tensor result, whose shape follows from its operands and properties."""

    result = result_def(TensorType)
    traits = traits_def(Pure())

    def result_shape(self) -> shapes.Shape | None:
        """Returns the shape that the result must have; None where the operands do not decide it."""
        return None

    def result_shapes(self) -> Sequence[shapes.Shape | None]:
        return (self.result_shape(),)


class LikeInput(TensorOp, ABC):
    """An op whose result has the shape of ``input``."""

    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shape(self.input)


class ElementwiseUnary(LikeInput, ABC):
    """An op that computes each element of its result from the same element of ``input``."""


class ElementwiseBinary(TensorOp, ABC):
    """An op that computes each element of its result from one of each operand, which broadcast as in NumPy."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.lhs), shape(self.rhs))


class Where(TensorOp, ABC):
    """Selects ``second`` where ``first`` is not 0, else ``third``."""

    first = operand_def(TensorType)
    second = operand_def(TensorType)
    third = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.first), shape(self.second), shape(self.third))


class LeakyRelu(ElementwiseUnary, ABC):
    """Computes x where x > 0, else ``parameter * x``."""

    parameter = prop_def(F32)


class GeluBackward(TensorOp, ABC):
    """Computes the gradient of gelu at ``rhs``, times ``lhs``."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    approximate = defaulted(STR, "none")

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.lhs), shape(self.rhs))


class ClampScalar(ElementwiseUnary, ABC):
    """Computes ``min(max(x, min), max)`` with bounds that are numbers.

    ``indexes`` names the op and dimension of which x are indices that must lie within the bounds. Programs have it
    where option ``trap`` asks for checks of indices.
    """

    min = prop_def(SCALAR)
    max = prop_def(SCALAR)
    indexes = opt_prop_def(STR)


class ClampTensor(TensorOp, ABC):
    """Computes ``min(max(x, min), max)`` with bounds that are tensors."""

    input = operand_def(TensorType)
    min = operand_def(TensorType)
    max = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.input), shape(self.min), shape(self.max))


class Typecast(ElementwiseUnary, ABC):
    """Converts the element type; a conversion from float to integer truncates towards zero."""


class Reduction(TensorOp, ABC):
    """Reduces the dimensions ``dim_arg``, all of them when absent; ``keep_dim`` keeps them with size 1."""

    input = operand_def(TensorType)
    dim_arg = opt_prop_def(I32_LIST)
    keep_dim = prop_def(BOOL)

    def result_shape(self) -> shapes.Shape:
        return shapes.reduce(shape(self.input), self.dim_arg, self.keep_dim)


class AlongDim(LikeInput, ABC):
    """An op that computes each element of its result from all or some elements of ``input`` along a dimension."""


class Cumulative(AlongDim, ABC):
    """Computes a running reduction along ``dim``."""

    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims((self.dim,), len(shape(self.input)))
        return shape(self.input)


class Softmax(AlongDim, ABC):
    """Computes ``exp(x) / sum(exp(x))`` along ``dimension``."""

    dimension = prop_def(SI32)
    numericStable = defaulted(BOOL, False)

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims((self.dimension,), len(shape(self.input)))
        return shape(self.input)


class Matmul(TensorOp, ABC):
    """Computes ``a @ b`` over broadcast batch dimensions; a flag transposes the last two dimensions of its operand."""

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    transpose_a = defaulted(BOOL, False)
    transpose_b = defaulted(BOOL, False)

    def result_shape(self) -> shapes.Shape:
        return shapes.matmul(shape(self.a), shape(self.b), self.transpose_a, self.transpose_b)


class Linear(TensorOp, ABC):
    """Computes ``a @ b + bias``; the bias broadcasts over rows."""

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    transpose_a = defaulted(BOOL, False)
    transpose_b = defaulted(BOOL, False)

    def result_shape(self) -> shapes.Shape:
        product = shapes.matmul(shape(self.a), shape(self.b), self.transpose_a, self.transpose_b)
        return product if self.bias is None else shapes.broadcast(product, shape(self.bias))


class Reshape(TensorOp, ABC):
    """Gives the same elements in row-major order another shape."""

    input = operand_def(TensorType)
    shape_ = prop_def(I32_LIST, prop_name="shape")

    def result_shape(self) -> shapes.Shape:
        sizes, operand = self.shape_, tensor_type(self.operands[0])
        if math.prod(sizes) != operand.element_count():
            raise ValueError(
                f"shape {sizes} has {math.prod(sizes)} elements, expected {operand.element_count()}, as in the operand "
                f"of shape {operand.get_shape()}"
            )
        return sizes


class Permute(TensorOp, ABC):
    """Reorders dimensions: dimension ``d`` of the result is dimension ``permutation[d]`` of the operand."""

    input = operand_def(TensorType)
    permutation = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        return shapes.permute(shape(self.input), self.permutation)


class Concat(TensorOp, ABC):
    """Joins its inputs along ``dim``."""

    inputs = var_operand_def(TensorType)
    dim = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        if not self.operands:
            raise ValueError("expected at least one input, got none")
        return shapes.concat([shape(value) for value in self.operands], self.dim)


class SliceStatic(TensorOp, ABC):
    """Computes NumPy's ``input[begin:end:step, ...]`` with non-negative bounds and positive steps."""

    input = operand_def(TensorType)
    begins = prop_def(I32_LIST)
    ends = prop_def(I32_LIST)
    step = prop_def(I32_LIST)

    def result_shape(self) -> shapes.Shape:
        return shapes.slice_static(shape(self.input), self.begins, self.ends, self.step)


class Pad(TensorOp, ABC):
    """Pads with ``value``; ``padding`` is low, high of each dimension in turn."""

    input = operand_def(TensorType)
    padding = prop_def(I32S)
    value_ = prop_def(F32, prop_name="value")

    def result_shape(self) -> shapes.Shape:
        return shapes.pad(shape(self.input), self.padding)


class Embedding(TensorOp, ABC):
    """Looks up row ``input[i...]`` of ``weight`` [V, D]; the result has the shape of ``input``, then D."""

    input = operand_def(TensorType)
    weight = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        if len(shape(self.weight)) != 2:
            raise ValueError(f"weight has shape {shape(self.weight)}, expected rank 2")
        return (*shape(self.input), shape(self.weight)[1])


class Gather(TensorOp, ABC):
    """Computes ``torch.gather``: element ``index[i...]`` along ``dim``; the result has the shape of ``index``."""

    input = operand_def(TensorType)
    index = operand_def(TensorType)
    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""

    def result_shape(self) -> shapes.Shape:
        (dim,) = shapes.normalise_dims((self.dim,), len(shape(self.input)))
        shapes.check_index(shape(self.index), shape(self.input), dim)
        return shape(self.index)


class Normalization(TensorOp, ABC):
    """Normalises over the last dimensions, with optional scale and shift."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)

    def normalized(self) -> shapes.Shape:
        """Returns the sizes of the dimensions that are normalised over, by default the last one."""
        return shape(self.input)[-1:]

    def result_shape(self) -> shapes.Shape:
        for name, operand in (("weight", self.weight), ("bias", self.bias)):
            if operand is not None and shape(operand) != self.normalized():
                raise ValueError(f"{name} has shape {shape(operand)}, expected {self.normalized()}")
        return shape(self.input)


class Constant(TensorOp, ABC):
    """A tensor whose elements are given with the program."""

    value_ = prop_def(ELEMENTS, prop_name="value")

    def result_shape(self) -> shapes.Shape:
        result, data = tensor_type(self.result), cast(Any, self.value_).type
        if (result.get_shape(), result.element_type) != (data.get_shape(), data.element_type):
            raise ValueError(f"value has type {data}, expected the result's type {result}")
        return result.get_shape()


class HostCall(TTOp, ABC):
    """Runs a StableHLO program on the host: ``@main`` of ``module``, from the inputs to the results.

    ``ops`` lists the source ops that the program stands for, each with its line. ``input_types`` and ``output_types``
    are the program's own element types; tensors that the chip holds in other types are converted to and from them.
    """

    inputs = var_operand_def(TensorType)
    module = prop_def(STR)
    ops = prop_def(STRS)
    input_types = prop_def(STRS)
    output_types = prop_def(STRS)
    effects = opt_prop_def(BOOL)
    """Whether two calls with equal inputs may give other results, as draws of random numbers do."""
    outputs = var_result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_declared(self)


class HostCallback(TTOp, ABC):
    """Calls a Python function of the process with the inputs; see :mod:`tt_xla.callbacks`.

    The function may have side effects, so it is called as often and in the same order as in the source.
    """

    inputs = var_operand_def(TensorType)
    callback = prop_def(STR)
    """Name under which the function is registered."""
    input_types = prop_def(STRS)
    output_types = prop_def(STRS)
    outputs = var_result_def(TensorType)

    def verify_(self) -> None:
        check_declared(self)


def check_declared(op: HostCall | HostCallback) -> None:
    """Checks that the op declares a StableHLO element type for each input and result."""
    for name, types, values in (
        ("input_types", op.input_types, op.inputs),
        ("output_types", op.output_types, op.outputs),
    ):
        if len(types) != len(values):
            op.fail(f"{name} has {len(types)} types for {len(values)} values")
