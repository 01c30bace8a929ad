"""Ops that move elements or select among them."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, var_result_def

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.abstract import structure as more
from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.properties import BOOL, F32, I32, I64S, SI32, STR, defaulted, prop_def


@irdl_op_definition
class ReshapeOp(shared.Reshape):
    """Gives the same elements in row-major order another shape."""

    name = "ttir.reshape"


@irdl_op_definition
class PermuteOp(shared.Permute):
    """Reorders dimensions."""

    name = "ttir.permute"


@irdl_op_definition
class BroadcastOp(shared.TensorOp):
    """Repeats each dimension of size 1 as often as ``broadcast_dimensions`` says; other dimensions have factor 1."""

    name = "ttir.broadcast"
    input = operand_def(TensorType)
    broadcast_dimensions = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        input_shape, factors = shape(self.input), self.broadcast_dimensions
        if len(input_shape) != len(factors) or any(
            f != 1 and size != 1 for size, f in zip(input_shape, factors, strict=True)
        ):
            raise ValueError(
                f"broadcast_dimensions {factors} do not fit shape {input_shape}: only a size of 1 is repeated"
            )
        return tuple(size * factor for size, factor in zip(input_shape, factors, strict=True))


@irdl_op_definition
class ConcatOp(shared.Concat):
    """Joins its inputs along ``dim``."""

    name = "ttir.concat"


@irdl_op_definition
class SliceStaticOp(shared.SliceStatic):
    """Takes a strided slice."""

    name = "ttir.slice_static"


@irdl_op_definition
class PadOp(shared.Pad):
    """Pads with ``value``."""

    name = "ttir.pad"


@irdl_op_definition
class ReverseOp(shared.TensorOp):
    """Reverses the order of elements along ``dimensions``."""

    name = "ttir.reverse"
    input = operand_def(TensorType)
    dimensions = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims(self.dimensions, len(shape(self.input)))
        return shape(self.input)


@irdl_op_definition
class EmbeddingOp(shared.Embedding):
    """Looks up rows of a table by number."""

    name = "ttir.embedding"


@irdl_op_definition
class GatherOp(shared.Gather):
    """Reads elements by position along ``dim``."""

    name = "ttir.gather"
    dim = prop_def(I32)


@irdl_op_definition
class TransposeOp(more.Transpose):
    """Exchanges two dimensions."""

    name = "ttir.transpose"


@irdl_op_definition
class RepeatOp(shared.TensorOp):
    """Repeats the tensor along each dimension as often as ``repeat_dimensions`` says."""

    name = "ttir.repeat"
    input = operand_def(TensorType)
    repeat_dimensions = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        input_shape, factors = shape(self.input), self.repeat_dimensions
        self.require(
            len(input_shape) == len(factors),
            f"repeat_dimensions {factors} do not fit shape {input_shape}, expected {len(input_shape)} factors",
        )
        return tuple(size * factor for size, factor in zip(input_shape, factors, strict=True))


@irdl_op_definition
class RepeatInterleaveOp(more.RepeatInterleave):
    """Repeats each element several times in a row."""

    name = "ttir.repeat_interleave"


@irdl_op_definition
class RearrangeOp(shared.TensorOp):
    """Splits, joins and reorders dimensions by an einops pattern, ``b h s d -> b s (h d)``."""

    name = "ttir.rearrange"
    input = operand_def(TensorType)
    pattern = prop_def(STR)

    def result_shape(self) -> None:
        pattern = self.pattern
        self.require(pattern.count("->") == 1, f"pattern '{pattern}' has {pattern.count('->')} '->', expected one")
        self.require(
            math.prod(shape(self.input)) == math.prod(shape(self.result)),
            f"result has shape {shape(self.result)}, expected as many elements as in shape {shape(self.input)}",
        )


@irdl_op_definition
class SliceDynamicOp(more.SliceDynamic):
    """Takes a slice whose bounds are tensors."""

    name = "ttir.slice_dynamic"


@irdl_op_definition
class IndexOp(shared.TensorOp):
    """Computes NumPy's ``input[begin:end:step]`` along ``dim``."""

    name = "ttir.index"
    input = operand_def(TensorType)
    dim = prop_def(I32)
    begin = prop_def(I32)
    end = prop_def(I32)
    step = prop_def(I32)

    def result_shape(self) -> shapes.Shape:
        input_shape = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(input_shape))
        begin, end, step = self.begin, self.end, self.step
        self.require(
            0 <= begin <= end <= input_shape[dim] and step >= 1,
            f"slice {begin}:{end}:{step} does not lie in a dimension of size {input_shape[dim]}",
        )
        return (*input_shape[:dim], -(-(end - begin) // step), *input_shape[dim + 1 :])


@irdl_op_definition
class IndexSelectOp(shared.TensorOp):
    """Takes runs of ``length`` elements along ``dim``, from ``begin`` on, ``stride`` apart; 0 stands for ``length``."""

    name = "ttir.index_select"
    input = operand_def(TensorType)
    dim = prop_def(SI32)
    begin = prop_def(SI32)
    length = prop_def(SI32)
    stride = defaulted(SI32, 0)

    def result_shape(self) -> shapes.Shape:
        input_shape = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(input_shape))
        begin, length = self.begin, self.length
        stride = self.stride or length
        self.require(
            begin >= 0 and 0 < length <= stride,
            f"begin is {begin}, length {length} and stride {stride}, expected 0 <= begin and 0 < length <= stride",
        )
        runs = max(0, -(-(input_shape[dim] - begin - length + 1) // stride))
        return (*input_shape[:dim], runs * length, *input_shape[dim + 1 :])


@irdl_op_definition
class SqueezeOp(shared.TensorOp):
    """Removes the dimension ``dim``, which has size 1."""

    name = "ttir.squeeze"
    input = operand_def(TensorType)
    dim = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        input_shape = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(input_shape))
        self.require(
            input_shape[dim] == 1, f"dimension {dim} of shape {input_shape} has size {input_shape[dim]}, expected 1"
        )
        return (*input_shape[:dim], *input_shape[dim + 1 :])


@irdl_op_definition
class UnsqueezeOp(shared.TensorOp):
    """Inserts a dimension of size 1 at ``dim``."""

    name = "ttir.unsqueeze"
    input = operand_def(TensorType)
    dim = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        input_shape = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(input_shape) + 1)
        return (*input_shape[:dim], 1, *input_shape[dim:])


@irdl_op_definition
class ToLayoutOp(TTOp):
    """Converts ``input`` to the layout of ``output``; there is one result, unless ``output`` is a buffer."""

    name = "ttir.to_layout"
    input = operand_def()
    output = operand_def()
    outputs = var_result_def()

    def verify_(self) -> None:
        for result in self.results:
            if result.type != self.output.type:
                self.fail(f"result has type {result.type}, expected {self.output.type}")


@irdl_op_definition
class GetDimensionSizeOp(shared.TensorOp):
    """Returns the size of a dimension."""

    name = "ttir.get_dimension_size"
    operand = operand_def(TensorType)
    dimension = prop_def(I32)

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims((self.dimension,), len(shape(self.operand)))
        return (1,)


@irdl_op_definition
class WhereOp(shared.Where):
    """Selects ``second`` where ``first`` is not 0, else ``third``."""

    name = "ttir.where"


@irdl_op_definition
class ClampScalarOp(shared.ClampScalar):
    """Computes min(max(x, min), max)."""

    name = "ttir.clamp_scalar"


@irdl_op_definition
class ClampTensorOp(shared.ClampTensor):
    """Computes min(max(x, min), max)."""

    name = "ttir.clamp_tensor"


@irdl_op_definition
class LeakyReluOp(shared.LeakyRelu):
    """Computes x where x > 0, else parameter * x."""

    name = "ttir.leaky_relu"


@irdl_op_definition
class TypecastOp(shared.Typecast):
    """Converts the element type."""

    name = "ttir.typecast"
    conservative_folding = defaulted(BOOL, False)


@irdl_op_definition
class SeluOp(shared.ElementwiseUnary):
    """Computes scale * (x where x > 0, else alpha * (e to the x, minus 1))."""

    name = "ttir.selu"
    scale = defaulted(F32, 1.0507009873390197)
    alpha = defaulted(F32, 1.6732635498046875)


@irdl_op_definition
class GeluBwOp(shared.GeluBackward):
    """Computes the gradient of gelu."""

    name = "ttir.gelu_bw"


OPS = (
    ReshapeOp,
    PermuteOp,
    BroadcastOp,
    ConcatOp,
    SliceStaticOp,
    PadOp,
    ReverseOp,
    EmbeddingOp,
    GatherOp,
    TransposeOp,
    RepeatOp,
    RepeatInterleaveOp,
    RearrangeOp,
    SliceDynamicOp,
    IndexOp,
    IndexSelectOp,
    SqueezeOp,
    UnsqueezeOp,
    ToLayoutOp,
    GetDimensionSizeOp,
    WhereOp,
    ClampScalarOp,
    ClampTensorOp,
    LeakyReluOp,
    TypecastOp,
    SeluOp,
    GeluBwOp,
)
