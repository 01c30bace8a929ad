"""Ops that move elements, and those that choose among them."""

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
    """The same elements in row-major order under another shape."""

    name = "ttir.reshape"


@irdl_op_definition
class PermuteOp(shared.Permute):
    """Dimensions reordered."""

    name = "ttir.permute"


@irdl_op_definition
class BroadcastOp(shared.TensorOp):
    """Each dimension of size 1 repeated ``broadcast_dimensions`` times; 1 elsewhere."""

    name = "ttir.broadcast"
    input = operand_def(TensorType)
    broadcast_dimensions = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        whole, factors = shape(self.input), self.broadcast_dimensions
        if len(whole) != len(factors) or any(f != 1 and size != 1 for size, f in zip(whole, factors, strict=True)):
            raise ValueError(f"broadcast_dimensions {factors} repeat a dimension of {whole} that is not 1")
        return tuple(size * factor for size, factor in zip(whole, factors, strict=True))


@irdl_op_definition
class ConcatOp(shared.Concat):
    """Inputs one after the other along ``dim``."""

    name = "ttir.concat"


@irdl_op_definition
class SliceStaticOp(shared.SliceStatic):
    """A strided part."""

    name = "ttir.slice_static"


@irdl_op_definition
class PadOp(shared.Pad):
    """Surrounded by ``value``."""

    name = "ttir.pad"


@irdl_op_definition
class ReverseOp(shared.TensorOp):
    """Elements in reverse order along ``dimensions``."""

    name = "ttir.reverse"
    input = operand_def(TensorType)
    dimensions = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims(self.dimensions, len(shape(self.input)))
        return shape(self.input)


@irdl_op_definition
class EmbeddingOp(shared.Embedding):
    """Rows of a table by number."""

    name = "ttir.embedding"


@irdl_op_definition
class GatherOp(shared.Gather):
    """Elements by position along ``dim``."""

    name = "ttir.gather"
    dim = prop_def(I32)


@irdl_op_definition
class TransposeOp(more.Transpose):
    """Two dimensions exchanged."""

    name = "ttir.transpose"


@irdl_op_definition
class RepeatOp(shared.TensorOp):
    """The tensor ``repeat_dimensions`` times along each dimension."""

    name = "ttir.repeat"
    input = operand_def(TensorType)
    repeat_dimensions = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        whole, factors = shape(self.input), self.repeat_dimensions
        self.need(len(whole) == len(factors), f"repeat_dimensions {factors} need one factor for each of {whole}")
        return tuple(size * factor for size, factor in zip(whole, factors, strict=True))


@irdl_op_definition
class RepeatInterleaveOp(more.RepeatInterleave):
    """Each element several times in a row."""

    name = "ttir.repeat_interleave"


@irdl_op_definition
class RearrangeOp(shared.TensorOp):
    """Dimensions split, joined and reordered as an einops pattern says, ``b h s d -> b s (h d)``."""

    name = "ttir.rearrange"
    input = operand_def(TensorType)
    pattern = prop_def(STR)

    def result_shape(self) -> None:
        pattern = self.pattern
        self.need(pattern.count("->") == 1, f"pattern '{pattern}' has no '->'")
        self.need(
            math.prod(shape(self.input)) == math.prod(shape(self.result)),
            f"result of shape {shape(self.result)} has another number of elements than {shape(self.input)}",
        )


@irdl_op_definition
class SliceDynamicOp(more.SliceDynamic):
    """A part whose bounds are tensors."""

    name = "ttir.slice_dynamic"


@irdl_op_definition
class IndexOp(shared.TensorOp):
    """NumPy's ``input[begin:end:step]`` along ``dim``."""

    name = "ttir.index"
    input = operand_def(TensorType)
    dim = prop_def(I32)
    begin = prop_def(I32)
    end = prop_def(I32)
    step = prop_def(I32)

    def result_shape(self) -> shapes.Shape:
        whole = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(whole))
        begin, end, step = self.begin, self.end, self.step
        self.need(0 <= begin <= end <= whole[dim] and step >= 1, f"{begin}:{end}:{step} is not within {whole[dim]}")
        return (*whole[:dim], -(-(end - begin) // step), *whole[dim + 1 :])


@irdl_op_definition
class IndexSelectOp(shared.TensorOp):
    """Runs of ``length`` elements along ``dim``, from ``begin`` on, ``stride`` apart; one after the other for 0."""

    name = "ttir.index_select"
    input = operand_def(TensorType)
    dim = prop_def(SI32)
    begin = prop_def(SI32)
    length = prop_def(SI32)
    stride = defaulted(SI32, 0)

    def result_shape(self) -> shapes.Shape:
        whole = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(whole))
        begin, length = self.begin, self.length
        stride = self.stride or length
        self.need(
            begin >= 0 and 0 < length <= stride, f"begin {begin}, length {length}, stride {stride} do not go together"
        )
        runs = max(0, -(-(whole[dim] - begin - length + 1) // stride))
        return (*whole[:dim], runs * length, *whole[dim + 1 :])


@irdl_op_definition
class SqueezeOp(shared.TensorOp):
    """Without the dimension ``dim``, which has size 1."""

    name = "ttir.squeeze"
    input = operand_def(TensorType)
    dim = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        whole = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(whole))
        self.need(whole[dim] == 1, f"dimension {dim} of {whole} is not 1")
        return (*whole[:dim], *whole[dim + 1 :])


@irdl_op_definition
class UnsqueezeOp(shared.TensorOp):
    """With one more dimension of size 1 at ``dim``."""

    name = "ttir.unsqueeze"
    input = operand_def(TensorType)
    dim = prop_def(SI32)

    def result_shape(self) -> shapes.Shape:
        whole = shape(self.input)
        (dim,) = shapes.normalise_dims((self.dim,), len(whole) + 1)
        return (*whole[:dim], 1, *whole[dim:])


@irdl_op_definition
class ToLayoutOp(TTOp):
    """``input`` in the layout of ``output``; one result, unless the output is a buffer."""

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
    """The size of a dimension."""

    name = "ttir.get_dimension_size"
    operand = operand_def(TensorType)
    dimension = prop_def(I32)

    def result_shape(self) -> shapes.Shape:
        shapes.normalise_dims((self.dimension,), len(shape(self.operand)))
        return (1,)


@irdl_op_definition
class WhereOp(shared.Where):
    """``second`` where ``first`` is not 0, else ``third``."""

    name = "ttir.where"


@irdl_op_definition
class ClampScalarOp(shared.ClampScalar):
    """min(max(x, min), max)."""

    name = "ttir.clamp_scalar"


@irdl_op_definition
class ClampTensorOp(shared.ClampTensor):
    """min(max(x, min), max)."""

    name = "ttir.clamp_tensor"


@irdl_op_definition
class LeakyReluOp(shared.LeakyRelu):
    """x where x > 0, else parameter * x."""

    name = "ttir.leaky_relu"


@irdl_op_definition
class TypecastOp(shared.Typecast):
    """Another element type."""

    name = "ttir.typecast"
    conservative_folding = defaulted(BOOL, False)


@irdl_op_definition
class SeluOp(shared.ElementwiseUnary):
    """scale * (x where x > 0, else alpha * (e to the x, minus 1))."""

    name = "ttir.selu"
    scale = defaulted(F32, 1.0507009873390197)
    alpha = defaulted(F32, 1.6732635498046875)


@irdl_op_definition
class GeluBwOp(shared.GeluBackward):
    """The gradient of gelu."""

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
