"""Ops that read or write elements at positions, and ops that find positions."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def

from tt_xla.ir.abstract import indexing as shared
from tt_xla.ir.properties import I32, SI32, defaulted, prop_def


@irdl_op_definition
class EmbeddingBackwardOp(shared.EmbeddingBackward):
    """Computes the gradient of a table from that of its rows."""

    name = "ttir.embedding_backward"


@irdl_op_definition
class ScatterOp(shared.Scatter):
    """Writes or reduces elements at positions along ``dim``."""

    name = "ttir.scatter"
    input = operand_def(TensorType)
    index = operand_def(TensorType)
    source = operand_def(TensorType)
    dim = prop_def(I32)


@irdl_op_definition
class RowsGatherOp(shared.RowsGather):
    """Reads rows at positions."""

    name = "ttir.rows_gather"


@irdl_op_definition
class RowsScatterOp(shared.RowsScatter):
    """Writes or reduces rows at positions."""

    name = "ttir.rows_scatter"


@irdl_op_definition
class SortOp(shared.Sort):
    """Sorts along ``dim``; also returns the position that each value had."""

    name = "ttir.sort"
    dim = defaulted(SI32, -1)


@irdl_op_definition
class TopKOp(shared.TopK):
    """Selects the ``k`` greatest values along ``dim``; also returns their positions."""

    name = "ttir.topk"
    dim = defaulted(I32, -1)


@irdl_op_definition
class TopKRouterGptOp(shared.TopKRouter):
    """Selects the best experts of each token and their weights."""

    name = "ttir.topk_router_gpt"


@irdl_op_definition
class SamplingOp(shared.Sampling):
    """Draws one candidate of each row by its probability."""

    name = "ttir.sampling"


OPS = (
    EmbeddingBackwardOp,
    ScatterOp,
    RowsGatherOp,
    RowsScatterOp,
    SortOp,
    TopKOp,
    TopKRouterGptOp,
    SamplingOp,
)
