"""Pass: math fidelity and accumulation type of every op of the matrix unit.

Accumulation is float32 unless an option says otherwise. Fidelity is HiFi4, the exact product of two bfloat16. From
level 1 on, products with block-float weights use HiFi2, which loses one bit of the activations and is twice as fast.
A precision file sets both layer by layer.
Options change neither for reductions between chips, whose errors would add up over the chips (as in tt-mlir), nor for
norms by statistics in float32: TT-NN takes these only if it accumulates in float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler.analysis.layers import layers_of
from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttnn.preparations import shared_preparation
from tt_xla.ir.ttnn.attributes import ComputeConfigAttr, MathFidelity, layout_of
from tt_xla.ir.ttnn.base import ComputeOp
from tt_xla.ir.ttnn.collective import ReduceScatterOp
from tt_xla.ir.ttnn.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttnn.normalization import ByStatistics, Statistics
from tt_xla.ir.ttnn.window import Conv2dOp, ConvTranspose2dOp
from tt_xla.options import CompileOptions

if TYPE_CHECKING:
    from tt_xla.precision import LayerPrecision


def run(module: ModuleOp, options: CompileOptions, layers: Mapping[str, LayerPrecision] | None = None) -> None:
    """Sets the compute config of ops that have none.

    Args:
        module: TTNN module that is changed in place.
        options: Compile options.
        layers: Precision by name of a layer; it precedes the options.
    """
    for function in functions(module):
        names = layers_of(function) if layers else {}
        for op in body(function).ops:
            if isinstance(op, ComputeOp) and op.compute_config is None:
                own = [(layers or {})[name] for name in sorted(names.get(op, ())) if name in (layers or {})]
                op.properties["compute_config"] = _chosen(op, options, own)
            if isinstance(op, Conv2dOp | ConvTranspose2dOp):
                prepare_for(op)


def _chosen(op: ComputeOp, options: CompileOptions, own: Sequence[LayerPrecision]) -> ComputeConfigAttr:
    """Returns the compute config of an op with the precision of its layers."""
    if isinstance(op, ReduceScatterOp | Statistics | ByStatistics):
        return _config(MathFidelity.HIFI4, True)
    return _config(_fidelity(op, options, own), _accumulates_wide(options, own))


def prepare_for(op: Conv2dOp | ConvTranspose2dOp) -> None:
    """Gives the ops that prepare weights and bias the config of their convolution, on which TT-NN's blocks depend."""
    for value in (op.weight, op.bias):
        preparation = shared_preparation(value) if value is not None else None
        if preparation is not None and op.compute_config is not None:
            preparation.properties["compute_config"] = op.properties["compute_config"]


@cache
def _config(fidelity: MathFidelity | None, fp32_dest_acc_en: bool) -> ComputeConfigAttr:
    """Returns a compute config. Equal ops share one, so that the verifier knows the second op from the first."""
    return ComputeConfigAttr.of(math_fidelity=fidelity, fp32_dest_acc_en=fp32_dest_acc_en)


_FIDELITIES = (MathFidelity.LOFI, MathFidelity.HIFI2, MathFidelity.HIFI3, MathFidelity.HIFI4)
"""Fidelities from the least to the most precise."""


def _fidelity(op: ComputeOp, options: CompileOptions, own: Sequence[LayerPrecision]) -> MathFidelity | None:
    """Returns the math fidelity of an op, or None for TT-NN's default; of several layers, the most precise one."""
    chosen = [MathFidelity(layer.math_fidelity) for layer in own if layer.math_fidelity is not None]
    if chosen:
        return max(chosen, key=_FIDELITIES.index)
    if options.math_fidelity == "ttnn_default":
        return None
    if options.math_fidelity:
        return MathFidelity(options.math_fidelity)
    low_precision = isinstance(op, MatmulOp | LinearOp | Conv2dOp) and _block_float_weights(op)
    return MathFidelity.HIFI2 if options.optimization_level > 0 and low_precision else MathFidelity.HIFI4


def _accumulates_wide(options: CompileOptions, own: Sequence[LayerPrecision]) -> bool:
    """Returns whether an op accumulates in float32; of several layers, one that asks for it is enough."""
    chosen = [layer.fp32_dest_acc_en for layer in own if layer.fp32_dest_acc_en is not None]
    return any(chosen) if chosen else options.fp32_dest_acc_en


def _block_float_weights(op: MatmulOp | LinearOp | Conv2dOp) -> bool:
    """Returns whether an op's weights are block floats."""
    if isinstance(op, Conv2dOp):
        dtype = dict(op.conv2d_config or ()).get("weights_dtype")
        return dtype is not None and dtype.is_block_float
    return layout_of(op.b).dtype.is_block_float
