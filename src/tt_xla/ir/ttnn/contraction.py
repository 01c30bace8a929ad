"""Matrix products. Source: tt-mlir ``TTNN_MatmulOp``, ``TTNN_LinearOp``; ``ttnn.matmul``, ``ttnn.linear``."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from tt_xla.ir import abstract as shared
from tt_xla.ir.properties import STR, opt_prop_def
from tt_xla.ir.ttnn.base import ComputeOp
from tt_xla.ir.ttnn.configs import MATMUL_CONFIG


@irdl_op_definition
class MatmulOp(ComputeOp, shared.Matmul):
    """Computes a batched matrix product, then ``activation``."""

    name = "ttnn.matmul"
    activation = opt_prop_def(STR)
    matmul_program_config = opt_prop_def(MATMUL_CONFIG)


@irdl_op_definition
class LinearOp(ComputeOp, shared.Linear):
    """Computes a batched matrix product plus bias, then ``activation``."""

    name = "ttnn.linear"
    activation = opt_prop_def(STR)
    matmul_program_config = opt_prop_def(MATMUL_CONFIG)


OPS = (MatmulOp, LinearOp)
