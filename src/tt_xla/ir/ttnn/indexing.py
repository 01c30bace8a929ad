"""Ops that read or write elements at positions, and ops that find positions. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def

from tt_xla.ir.abstract import indexing as shared
from tt_xla.ir.properties import BOOL, SI8, SI32, defaulted, prop_def
from tt_xla.ir.ttnn.base import TTNNOp


@irdl_op_definition
class EmbeddingBwOp(TTNNOp, shared.EmbeddingBackward):
    """Computes the gradient of a table from that of its rows."""

    name = "ttnn.embedding_bw"


@irdl_op_definition
class ScatterOp(TTNNOp, shared.Scatter):
    """Writes or reduces elements at positions along ``dim``."""

    name = "ttnn.scatter"
    input = operand_def(TensorType)
    index = operand_def(TensorType)
    source = operand_def(TensorType)
    dim = prop_def(SI32)


@irdl_op_definition
class RowsGatherOp(TTNNOp, shared.RowsGather):
    """Reads rows at positions."""

    name = "ttnn.rows_gather"


@irdl_op_definition
class RowsScatterOp(TTNNOp, shared.RowsScatter):
    """Writes or reduces rows at positions."""

    name = "ttnn.rows_scatter"


@irdl_op_definition
class SortOp(TTNNOp, shared.Sort):
    """Sorts along ``dim``; also returns the position that each value had."""

    name = "ttnn.sort"
    dim = defaulted(SI8, -1)


@irdl_op_definition
class TopKOp(TTNNOp, shared.TopK):
    """Selects the ``k`` greatest values along ``dim``; also returns their positions."""

    name = "ttnn.topk"
    dim = defaulted(SI32, -1)
    stable = defaulted(BOOL, True)
    """Whether the first of equal elements wins."""


@irdl_op_definition
class TopKRouterGptOp(TTNNOp, shared.TopKRouter):
    """Selects the best experts of each token and their weights."""

    name = "ttnn.topk_router_gpt"


@irdl_op_definition
class SamplingOp(TTNNOp, shared.Sampling):
    """Draws one candidate of each row by its probability."""

    name = "ttnn.sampling"


OPS = (
    EmbeddingBwOp,
    ScatterOp,
    RowsGatherOp,
    RowsScatterOp,
    SortOp,
    TopKOp,
    TopKRouterGptOp,
    SamplingOp,
)
