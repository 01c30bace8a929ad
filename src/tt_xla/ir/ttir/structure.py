"""Ops that move elements, and those that choose among them."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import BOOL, I32, I64S, shape


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
        whole, factors = shape(self.input), self.value("broadcast_dimensions")
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
        shapes.normalise_dims(self.value("dimensions"), len(shape(self.input)))
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
    conservative_folding = opt_prop_def(BOOL)


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
    WhereOp,
    ClampScalarOp,
    ClampTensorOp,
    LeakyReluOp,
    TypecastOp,
)
