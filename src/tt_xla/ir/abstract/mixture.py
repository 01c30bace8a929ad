"""Mixture of experts: tokens travel to the chips of their experts, are computed there, and are combined.

Shapes are written with B for the batch, S sequence, H hidden size, K experts of a token, E experts, D chips. Source:
tt-mlir ``TTIROps.td``.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import ShapedOp, TensorOp
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, I64, defaulted, opt_prop_def, prop_def


class SparseMatmul(TensorOp, ABC):
    """Multiplies by the blocks of ``input_tensor_b`` [1, E, I, J] that ``sparsity`` marks."""

    input_tensor_a = operand_def(TensorType)
    input_tensor_b = operand_def(TensorType)
    sparsity = operand_def(TensorType)
    is_input_a_sparse = defaulted(BOOL, False)
    is_input_b_sparse = defaulted(BOOL, True)
    nnz = opt_prop_def(I64)

    def result_shape(self) -> shapes.Shape:
        a, (one, experts, inner, columns) = (
            self.shape_of_rank("input_tensor_a", 4),
            self.shape_of_rank("input_tensor_b", 4),
        )
        self.require(
            one == 1 and a[3] == inner, f"a of shape {a} does not multiply with b of shape {shape(self.input_tensor_b)}"
        )
        if not self.is_input_a_sparse:
            self.require(
                self.is_input_b_sparse,
                "is_input_a_sparse and is_input_b_sparse are both false, expected one to be true",
            )
            self.expect_shape("sparsity", (a[0], a[1], 1, experts))
            return (a[0], a[1], 1, experts, a[2], columns)
        self.require(a[1] == experts, f"a has {a[1]} blocks, b has {experts}")
        self.expect_shape("sparsity", (1, 1, a[0], experts))
        return (a[0], experts, a[2], columns)


class AllToAllDispatch(ShapedOp, ABC):
    """Sends tokens [B, S, 1, H] to the chips of their experts, [1, B * D, S, H], with the numbers of these experts."""

    input_tensor = operand_def(TensorType)
    expert_indices = operand_def(TensorType)
    expert_mapping = operand_def(TensorType)
    num_devices = prop_def(I64)
    cluster_axis = prop_def(I64)
    dispatched = result_def(TensorType)
    metadata = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        batch, rows, _, hidden = self.shape_of_rank("input_tensor", 4)
        chosen = self.shape_of_rank("expert_indices", 4)[3]
        self.expect_shape("expert_indices", (batch, rows, 1, chosen))
        spread = batch * self.num_devices
        return (1, spread, rows, hidden), (1, spread, rows, chosen)


class AllToAllDispatchMetadata(ShapedOp, ABC):
    """Sends tokens [1, 1, M, H], with numbers and scores [1, 1, M, K] of their experts, to the chips of these."""

    input_tensor = operand_def(TensorType)
    expert_indices = operand_def(TensorType)
    expert_scores = operand_def(TensorType)
    expert_mapping = operand_def(TensorType)
    num_devices = prop_def(I64)
    cluster_axis = prop_def(I64)
    dispatched = result_def(TensorType)
    indices = result_def(TensorType)
    scores = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        *_, rows, hidden = self.shape_of_rank("input_tensor", 4)
        chosen = self.shape_of_rank("expert_indices", 4)[3]
        self.expect_shape("expert_scores", shape(self.expert_indices))
        tokens = rows * self.num_devices
        return (1, tokens, hidden), (1, tokens, chosen), (1, tokens, chosen)


class AllToAllCombine(TensorOp, ABC):
    """Sends the experts' results [E of a chip, B * D, S, H] back to their tokens, [K, B, S, H]."""

    input_tensor = operand_def(TensorType)
    expert_metadata = operand_def(TensorType)
    expert_mapping = operand_def(TensorType)
    num_devices = prop_def(I64)
    cluster_axis = prop_def(I64)
    num_experts_per_tok = prop_def(I64)
    output_shard_dim = defaulted(I64, 2)

    def result_shape(self) -> shapes.Shape | None:
        *_, hidden = self.shape_of_rank("input_tensor", 4)
        result = shape(self.result)
        self.require(
            len(result) == 4 and result[0] == self.num_experts_per_tok and result[3] == hidden,
            f"result has shape {result}, expected [{self.num_experts_per_tok}, batch, rows, {hidden}]",
        )


class ExpertTokenRemap(ShapedOp, ABC):
    """Selects the scores [1, B, S, e] of the chip's own experts from [D, B, S, E], and the token blocks they take."""

    topk_tensor = operand_def(TensorType)
    expert_mapping = operand_def(TensorType)
    expert_metadata = operand_def(TensorType)
    reduction_size = prop_def(I64)
    mapping = result_def(TensorType)
    reduced = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        _, batch, rows, _ = self.shape_of_rank("topk_tensor", 4)
        experts, block = shape(self.mapping)[-1], self.reduction_size
        self.require(block > 0, f"reduction_size {block} must be positive")
        return (1, batch, rows, experts), (1, 1, -(-batch * rows // block), experts)
