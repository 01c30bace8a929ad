"""Ops that move elements or select among them. Source: tt-mlir ``TTNNOps.td``."""

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
    """Gives the same elements in row-major order another shape."""

    name = "ttnn.reshape"


@irdl_op_definition
class PermuteOp(TTNNOp, shared.Permute):
    """Reorders dimensions."""

    name = "ttnn.permute"
    pad_value = defaulted(F32, 0.0)


@irdl_op_definition
class ConvertToHwcOp(TTNNOp, shared.TensorOp):
    """Turns images [1, N, C, H * W] into rows of channels [1, 1, N * H * W, C].

    TT-NN's ``experimental.convert_to_hwc`` reads row-major shards that cut the positions, and writes row-major shards
    of rows. It fills channels up to a multiple of 8 with what lies in L1, so ``C`` is one here.
    """

    name = "ttnn.convert_to_hwc"
    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        sizes = shape(self.input)
        if len(sizes) != 4 or sizes[0] != 1 or sizes[2] % 8:
            raise ValueError(f"images have shape {sizes}, expected [1, N, C, H * W] with C a multiple of 8")
        _, images, channels, positions = sizes
        return (1, 1, images * positions, channels)


@irdl_op_definition
class RepeatOp(TTNNOp, shared.TensorOp):
    """Repeats the tensor along each dimension as often as ``repeat_dims`` says."""

    name = "ttnn.repeat"
    input = operand_def(TensorType)
    repeat_dims = prop_def(SHAPE)

    def result_shape(self) -> shapes.Shape:
        factors = self.repeat_dims
        if len(factors) != len(shape(self.input)):
            raise ValueError(
                f"repeat_dims {factors} do not fit shape {shape(self.input)}, expected one factor for each dimension"
            )
        return tuple(size * factor for size, factor in zip(shape(self.input), factors, strict=True))


@irdl_op_definition
class RepeatInterleaveOp(TTNNOp, more.RepeatInterleave):
    """Repeats each element several times in a row."""

    name = "ttnn.repeat_interleave"


@irdl_op_definition
class TransposeOp(TTNNOp, more.Transpose):
    """Exchanges two dimensions."""

    name = "ttnn.transpose"


@irdl_op_definition
class SliceDynamicOp(TTNNOp, more.SliceDynamic):
    """Takes a slice whose bounds are tensors."""

    name = "ttnn.slice_dynamic"


@irdl_op_definition
class ConcatOp(TTNNOp, shared.Concat):
    """Joins its inputs along ``dim``."""

    name = "ttnn.concat"


@irdl_op_definition
class SliceStaticOp(TTNNOp, shared.SliceStatic):
    """Takes a strided slice."""

    name = "ttnn.slice_static"


@irdl_op_definition
class PadOp(TTNNOp, shared.Pad):
    """Pads with ``value``."""

    name = "ttnn.pad"
    use_multicore = prop_def(BOOL)


@irdl_op_definition
class EmbeddingOp(TTNNOp, shared.Embedding):
    """Looks up rows of a table by number; the table is row-major bf16."""

    name = "ttnn.embedding"


@irdl_op_definition
class GatherOp(TTNNOp, shared.Gather):
    """Reads elements by position along ``dim``; positions are u32."""

    name = "ttnn.gather"
    dim = prop_def(SI32)


@irdl_op_definition
class WhereOp(TTNNOp, shared.Where):
    """Selects ``second`` where ``first`` is not 0, else ``third``."""

    name = "ttnn.where"


@irdl_op_definition
class ClampScalarOp(TTNNOp, shared.ClampScalar):
    """Computes min(max(x, min), max)."""

    name = "ttnn.clamp_scalar"


@irdl_op_definition
class ClampTensorOp(TTNNOp, shared.ClampTensor):
    """Computes min(max(x, min), max)."""

    name = "ttnn.clamp_tensor"


@irdl_op_definition
class LeakyReluOp(TTNNOp, shared.LeakyRelu):
    """Computes x where x > 0, else parameter * x."""

    name = "ttnn.leaky_relu"


@irdl_op_definition
class PowScalarOp(TTNNOp, shared.TensorOp):
    """Raises lhs to the power of one number."""

    name = "ttnn.pow_scalar"
    lhs = operand_def(TensorType)
    rhs = prop_def(SCALAR)

    def result_shape(self) -> shapes.Shape:
        return shape(self.lhs)


@irdl_op_definition
class GeluBwOp(TTNNOp, shared.GeluBackward):
    """Computes the gradient of gelu."""

    name = "ttnn.gelu_bw"


OPS = (
    ConvertToHwcOp,
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
