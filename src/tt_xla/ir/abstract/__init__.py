"""Ops that TTIR and TTNN have alike: operands, properties and checks, written once.

``ttir.permute`` and ``ttnn.permute`` differ in their result's layout alone, so both derive from :class:`Permute`.
The op tables are upstream's (tt-mlir ``TTIROps.td``, ``TTNNOps.td``). Here are the bases and the common ops; the
modules beside this one hold a family each.
"""

from __future__ import annotations

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
    """An op of any number of tensor results whose shapes follow from its operands and properties."""

    def result_shapes(self) -> Sequence[shapes.Shape | None]:
        """The shapes that the results must have; None where operands do not decide one.

        Raises:
            ValueError: operands or properties do not go together.
        """
        return ()

    def verify_(self) -> None:
        try:
            expected = self.result_shapes()
        except ValueError as error:
            self.fail(str(error))
            return
        names = [name for name, _ in self.get_irdl_definition().results]
        for name, value, wanted in zip(names, self.results, expected, strict=False):
            if wanted is not None and shape(value) != wanted:
                self.fail(f"{name} has shape {shape(value)}, expected {wanted}")

    def need(self, condition: bool, message: str) -> None:
        """Raises ValueError with ``message`` unless ``condition`` holds."""
        if not condition:
            raise ValueError(message)

    def rank(self, name: str, rank: int) -> shapes.Shape:
        """The shape of the operand ``name``, which must have ``rank`` dimensions."""
        found = shape(getattr(self, name))
        if len(found) != rank:
            raise ValueError(f"{name} has shape {found}, expected rank {rank}")
        return found

    def expect(self, name: str, expected: shapes.Shape) -> None:
        """That the operand ``name``, unless it is absent, has a shape."""
        operand = getattr(self, name)
        if operand is not None and shape(operand) != expected:
            raise ValueError(f"{name} has shape {shape(operand)}, expected {expected}")


class TensorOp(ShapedOp, ABC):
    """An op with one tensor result whose shape follows from its operands and properties."""

    result = result_def(TensorType)
    traits = traits_def(Pure())

    def result_shape(self) -> shapes.Shape | None:
        """The shape that the result must have; None where operands do not decide it."""
        return None

    def result_shapes(self) -> Sequence[shapes.Shape | None]:
        return (self.result_shape(),)


class LikeInput(TensorOp, ABC):
    """The result has the shape of ``input``."""

    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shape(self.input)


class ElementwiseUnary(LikeInput, ABC):
    pass


class ElementwiseBinary(TensorOp, ABC):
    """Broadcasts as NumPy does."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.lhs), shape(self.rhs))


class Where(TensorOp, ABC):
    """``second`` where ``first`` is not 0, else ``third``."""

    first = operand_def(TensorType)
    second = operand_def(TensorType)
    third = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.first), shape(self.second), shape(self.third))


class LeakyRelu(ElementwiseUnary, ABC):
    parameter = prop_def(F32)


class GeluBackward(TensorOp, ABC):
    """The gradient of gelu at ``rhs`` times ``lhs``."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    approximate = defaulted(STR, "none")

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.lhs), shape(self.rhs))


class ClampScalar(ElementwiseUnary, ABC):
    min = prop_def(SCALAR)
    max = prop_def(SCALAR)


class ClampTensor(TensorOp, ABC):
    input = operand_def(TensorType)
    min = operand_def(TensorType)
    max = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        return shapes.broadcast(shape(self.input), shape(self.min), shape(self.max))


class Typecast(ElementwiseUnary, ABC):
    """Converts element types; float to integer truncates towards zero."""


class Reduction(TensorOp, ABC):
    input = operand_def(TensorType)
    dim_arg = opt_prop_def(I32_LIST)
    keep_dim = prop_def(BOOL)

    def result_shape(self) -> shapes.Shape:
        return shapes.reduce(shape(self.input), self.dim_arg, self.keep_dim)


class Cumulative(ElementwiseUnary, ABC):
    """A running reduction along ``dim``."""

    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims((self.dim,), len(shape(self.input)))
        return shape(self.input)


class Softmax(ElementwiseUnary, ABC):
    dimension = prop_def(SI32)
    numericStable = defaulted(BOOL, False)

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims((self.dimension,), len(shape(self.input)))
        return shape(self.input)


class Matmul(TensorOp, ABC):
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    transpose_a = defaulted(BOOL, False)
    transpose_b = defaulted(BOOL, False)

    def result_shape(self) -> shapes.Shape:
        return shapes.matmul(shape(self.a), shape(self.b), self.transpose_a, self.transpose_b)


class Linear(TensorOp, ABC):
    """``a @ b + bias``, the bias broadcast over rows."""

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    transpose_a = defaulted(BOOL, False)
    transpose_b = defaulted(BOOL, False)

    def result_shape(self) -> shapes.Shape:
        product = shapes.matmul(shape(self.a), shape(self.b), self.transpose_a, self.transpose_b)
        return product if self.bias is None else shapes.broadcast(product, shape(self.bias))


class Reshape(TensorOp, ABC):
    input = operand_def(TensorType)
    shape_ = prop_def(I32_LIST, prop_name="shape")

    def result_shape(self) -> shapes.Shape:
        new = self.shape_
        before = tensor_type(self.operands[0])
        count = 1
        for size in new:
            count *= size
        if count != before.element_count():
            raise ValueError(f"shape {new} has {count} elements, the operand of shape {before.get_shape()} has another")
        return new


class Permute(TensorOp, ABC):
    """``result[i...] = input`` with dimension ``d`` of the result taken from dimension ``permutation[d]``."""

    input = operand_def(TensorType)
    permutation = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        return shapes.permute(shape(self.input), self.permutation)


class Concat(TensorOp, ABC):
    inputs = var_operand_def(TensorType)
    dim = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        if not self.operands:
            raise ValueError("expected one input or more, got none")
        return shapes.concat([shape(value) for value in self.operands], self.dim)


class SliceStatic(TensorOp, ABC):
    """NumPy's ``input[begin:end:step, ...]`` with non-negative bounds and positive steps."""

    input = operand_def(TensorType)
    begins = prop_def(I32_LIST)
    ends = prop_def(I32_LIST)
    step = prop_def(I32_LIST)

    def result_shape(self) -> shapes.Shape:
        return shapes.slice_static(shape(self.input), self.begins, self.ends, self.step)


class Pad(TensorOp, ABC):
    """Constant padding; ``padding`` is low, high of each dimension in turn."""

    input = operand_def(TensorType)
    padding = prop_def(I32S)
    value_ = prop_def(F32, prop_name="value")

    def result_shape(self) -> shapes.Shape:
        return shapes.pad(shape(self.input), self.padding)


class Embedding(TensorOp, ABC):
    """Row ``input[i...]`` of ``weight`` [V, D]; result has the shape of ``input`` and D."""

    input = operand_def(TensorType)
    weight = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        if len(shape(self.weight)) != 2:
            raise ValueError(f"weight has shape {shape(self.weight)}, expected rank 2")
        return (*shape(self.input), shape(self.weight)[1])


class Gather(TensorOp, ABC):
    """``torch.gather``: element ``index[i...]`` along the gathered dimension, the result has the shape of ``index``."""

    input = operand_def(TensorType)
    index = operand_def(TensorType)
    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""

    def result_shape(self) -> shapes.Shape:
        whole, wanted, dim = shape(self.input), shape(self.index), self.dim
        shapes.normalise_dims((dim,), len(whole))
        if len(whole) != len(wanted) or any(
            size > limit for d, (size, limit) in enumerate(zip(wanted, whole, strict=True)) if d != dim % len(whole)
        ):
            raise ValueError(f"index of shape {wanted} does not lie in an operand of shape {whole} along {dim}")
        return wanted


class Normalization(TensorOp, ABC):
    """Normalisation over the last dimensions with optional scale and shift."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    input = operand_def(TensorType)
    weight = opt_operand_def(TensorType)
    bias = opt_operand_def(TensorType)

    def normalized(self) -> shapes.Shape:
        """Sizes of the dimensions that are normalised over, the last one by default."""
        return shape(self.input)[-1:]

    def result_shape(self) -> shapes.Shape:
        for name, operand in (("weight", self.weight), ("bias", self.bias)):
            if operand is not None and shape(operand) != self.normalized():
                raise ValueError(f"{name} has shape {shape(operand)}, expected {self.normalized()}")
        return shape(self.input)


class Constant(TensorOp, ABC):
    value_ = prop_def(ELEMENTS, prop_name="value")

    def result_shape(self) -> shapes.Shape:
        result, data = tensor_type(self.result), cast(Any, self.value_).type
        if (result.get_shape(), result.element_type) != (data.get_shape(), data.element_type):
            raise ValueError(f"value has type {data}, the result has {result}")
        return result.get_shape()


class HostCall(TTOp, ABC):
    """A StableHLO program that the host runs: ``@main`` of ``module``, from the inputs to the results.

    ``ops`` says which ops of the source it stands for, each with its line. The types are those that the program itself
    has; what the chip holds in another type is converted on the way in, and back on the way out.
    """

    inputs = var_operand_def(TensorType)
    module = prop_def(STR)
    ops = prop_def(STRS)
    input_types = prop_def(STRS)
    output_types = prop_def(STRS)
    outputs = var_result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_declared(self)


class HostCallback(TTOp, ABC):
    """A Python function of the process, called with the inputs; see :mod:`tt_xla.callbacks`.

    It may do more than make results, so it is called wherever the source says, as often and in the same order.
    """

    inputs = var_operand_def(TensorType)
    callback = prop_def(STR)
    """The name it was registered under."""
    input_types = prop_def(STRS)
    output_types = prop_def(STRS)
    outputs = var_result_def(TensorType)

    def verify_(self) -> None:
        check_declared(self)


def check_declared(op: HostCall | HostCallback) -> None:
    """That there is a StableHLO element type for each value."""
    for name, values in (("input_types", op.inputs), ("output_types", op.outputs)):
        if len(op.value(name)) != len(values):
            op.fail(f"{name} has {len(op.value(name))} types for {len(values)} values")
