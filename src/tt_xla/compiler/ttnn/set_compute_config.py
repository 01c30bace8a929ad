"""Pass: math fidelity and accumulation type of every op of the matrix unit.

Accumulation is float32 unless an option says otherwise. Fidelity is HiFi4, the exact product of two bfloat16. From
level 1 on, products with block-float weights use HiFi2, which loses one bit of the activations and is twice as fast.
Options change neither for reductions between chips, whose errors would add up over the chips (as in tt-mlir).
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler.rewriting import body, functions
from tt_xla.ir.ttnn.attributes import ComputeConfigAttr, MathFidelity, layout_of
from tt_xla.ir.ttnn.base import ComputeOp
from tt_xla.ir.ttnn.collective import ReduceScatterOp
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttnn.window import Conv2dOp
from tt_xla.options import CompileOptions


def run(module: ModuleOp, options: CompileOptions) -> None:
    """Sets the compute config of ops that have none."""
    for function in functions(module):
        for op in body(function).ops:
            if isinstance(op, ComputeOp) and op.compute_config is None:
                between_chips = isinstance(op, ReduceScatterOp)
                op.properties["compute_config"] = _config(
                    MathFidelity.HIFI4 if between_chips else _fidelity(op, options),
                    between_chips or options.fp32_dest_acc_en,
                )


@cache
def _config(fidelity: MathFidelity | None, fp32_dest_acc_en: bool) -> ComputeConfigAttr:
    """Returns a compute config. Equal ops share one, so that the verifier knows the second op from the first."""
    return ComputeConfigAttr.of(math_fidelity=fidelity, fp32_dest_acc_en=fp32_dest_acc_en)


def _fidelity(op: ComputeOp, options: CompileOptions) -> MathFidelity | None:
    """Returns the math fidelity of an op, or None for TT-NN's default."""
    if options.math_fidelity == "ttnn_default":
        return None
    if options.math_fidelity:
        return MathFidelity(options.math_fidelity)
    low_precision = isinstance(op, MatmulOp | LinearOp | Conv2dOp) and _block_float_weights(op)
    return MathFidelity.HIFI2 if options.optimization_level > 0 and low_precision else MathFidelity.HIFI4


def _block_float_weights(op: MatmulOp | LinearOp | Conv2dOp) -> bool:
    """Returns whether an op's weights are block floats."""
    if isinstance(op, Conv2dOp):
        dtype = dict(op.conv2d_config or ()).get("weights_dtype")
        return dtype is not None and dtype.is_block_float
    return layout_of(op.b).dtype.is_block_float
