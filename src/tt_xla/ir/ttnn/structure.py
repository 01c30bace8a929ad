"""Ops that move elements, and those that choose among them. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.abstract import structure as more
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, F32, SCALAR, SI32, defaulted, prop_def
from tt_xla.ir.ttnn.attributes import SHAPE
from tt_xla.ir.ttnn.base import TTNNOp


@irdl_op_definition
class ReshapeOp(TTNNOp, shared.Reshape):
    """The same elements in row-major order under another shape."""

    name = "ttnn.reshape"


@irdl_op_definition
class PermuteOp(TTNNOp, shared.Permute):
    """Dimensions reordered."""

    name = "ttnn.permute"
    pad_value = defaulted(F32, 0.0)


@irdl_op_definition
class RepeatOp(TTNNOp, shared.TensorOp):
    """The tensor ``repeat_dims`` times along each dimension."""

    name = "ttnn.repeat"
    input = operand_def(TensorType)
    repeat_dims = prop_def(SHAPE)

    def result_shape(self) -> shapes.Shape:
        factors = self.repeat_dims
        if len(factors) != len(shape(self.input)):
            raise ValueError(f"repeat_dims {factors} need one factor for each dimension of {shape(self.input)}")
        return tuple(size * factor for size, factor in zip(shape(self.input), factors, strict=True))


@irdl_op_definition
class RepeatInterleaveOp(TTNNOp, more.RepeatInterleave):
    """Each element several times in a row."""

    name = "ttnn.repeat_interleave"


@irdl_op_definition
class TransposeOp(TTNNOp, more.Transpose):
    """Two dimensions exchanged."""

    name = "ttnn.transpose"


@irdl_op_definition
class SliceDynamicOp(TTNNOp, more.SliceDynamic):
    """A part whose bounds are tensors."""

    name = "ttnn.slice_dynamic"


@irdl_op_definition
class ConcatOp(TTNNOp, shared.Concat):
    """Inputs one after the other along ``dim``."""

    name = "ttnn.concat"


@irdl_op_definition
class SliceStaticOp(TTNNOp, shared.SliceStatic):
    """A strided part."""

    name = "ttnn.slice_static"


@irdl_op_definition
class PadOp(TTNNOp, shared.Pad):
    """Surrounded by ``value``."""

    name = "ttnn.pad"
    use_multicore = prop_def(BOOL)


@irdl_op_definition
class EmbeddingOp(TTNNOp, shared.Embedding):
    """Rows of a table by number; the table is row-major bf16."""

    name = "ttnn.embedding"


@irdl_op_definition
class GatherOp(TTNNOp, shared.Gather):
    """Elements by position along ``dim``; positions are u32."""

    name = "ttnn.gather"
    dim = prop_def(SI32)


@irdl_op_definition
class WhereOp(TTNNOp, shared.Where):
    """``second`` where ``first`` is not 0, else ``third``."""

    name = "ttnn.where"


@irdl_op_definition
class ClampScalarOp(TTNNOp, shared.ClampScalar):
    """min(max(x, min), max)."""

    name = "ttnn.clamp_scalar"


@irdl_op_definition
class ClampTensorOp(TTNNOp, shared.ClampTensor):
    """min(max(x, min), max)."""

    name = "ttnn.clamp_tensor"


@irdl_op_definition
class LeakyReluOp(TTNNOp, shared.LeakyRelu):
    """x where x > 0, else parameter * x."""

    name = "ttnn.leaky_relu"


@irdl_op_definition
class PowScalarOp(TTNNOp, shared.TensorOp):
    """lhs to the power of one number."""

    name = "ttnn.pow_scalar"
    lhs = operand_def(TensorType)
    rhs = prop_def(SCALAR)

    def result_shape(self) -> shapes.Shape:
        return shape(self.lhs)


@irdl_op_definition
class GeluBwOp(TTNNOp, shared.GeluBackward):
    """The gradient of gelu."""

    name = "ttnn.gelu_bw"


OPS = (
    ReshapeOp,
    PermuteOp,
    RepeatOp,
    RepeatInterleaveOp,
    TransposeOp,
    SliceDynamicOp,
    ConcatOp,
    SliceStaticOp,
    PadOp,
    EmbeddingOp,
    GatherOp,
    WhereOp,
    ClampScalarOp,
    ClampTensorOp,
    LeakyReluOp,
    PowScalarOp,
    GeluBwOp,
)
