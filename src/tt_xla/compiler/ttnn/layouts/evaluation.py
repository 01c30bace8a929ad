"""The predicted time of an op in one of its forms, and the L1 that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tt_xla.compiler.ttnn.layouts.forms import Form, Site
from tt_xla.cost.circular_buffers import circular_buffer_bytes, internal_tensor
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.cost.model import instruction_cost
from tt_xla.cost.sharding import may_pad_channels
from tt_xla.ir.layout import DataType, TensorLayout, round_up
from tt_xla.ir.program import Instruction, TensorSpec


class Evaluation(NamedTuple):
    """Time of an op in one form, and the L1 that it needs."""

    time_us: float
    """Predicted time in us."""
    buffers: int
    """Bytes of circular buffers on each core."""
    traffic_us: float
    """Time of data movement in us, hidden or not."""
    internal: int
    """Bytes on each core of the tensor that the op allocates before its result and frees at its end."""


def evaluate(site: Site, form: Form, layouts: Sequence[TensorLayout], result: TensorLayout | None) -> Evaluation:
    """Evaluates an op in a form with its operands in ``layouts``."""
    instruction, specs = placed_op(site, form, layouts, result)
    cost = instruction_cost(instruction, specs, site.target, site.mesh)
    internal = internal_tensor(instruction, specs)
    size = bytes_per_bank(internal.layout, site.target) if internal is not None else 0
    return Evaluation(
        cost.total_us,
        circular_buffer_bytes(instruction, specs, site.target),
        cost.dram_us + cost.noc_us,
        round_up(size, site.target.noc_l1_align),
    )


def placed_op(
    site: Site, form: Form, layouts: Sequence[TensorLayout], result: TensorLayout | None
) -> tuple[Instruction, list[TensorSpec]]:
    """Returns the instruction of an op in a form, and its operands and results where they lie.

    Weights that :mod:`tt_xla.compiler.ttnn.keep_padded_weights` will keep in bfloat16 are so here.
    """
    specs = [TensorSpec(spec.shape, layout) for spec, layout in zip(site.inputs, layouts, strict=True)]
    if site.name == "conv2d" and site.result is not None and specs[1].layout.dtype.is_block_float:
        channels = (specs[0].shape[-1], site.result.shape[-1])
        if may_pad_channels(specs[0].layout, channels, site.target):
            specs[1] = TensorSpec(specs[1].shape, specs[1].layout.retyped(DataType.BF16))
    if site.result is not None and result is not None:
        specs.append(TensorSpec(site.result.shape, result))
    return configured(site, form), specs + list(site.others)


def configured(site: Site, form: Form) -> Instruction:
    """Returns the instruction with the config of a form."""
    plain = site.instruction
    if form.config is None:
        return plain
    if plain.op == "ttnn.conv2d":
        merged = {**(plain.attributes.get("conv2d_config") or {}), **form.config}
        attributes = {**plain.attributes, "conv2d_config": merged}
    else:
        attributes = {**plain.attributes, "matmul_program_config": form.config}
    return Instruction(plain.op, plain.operands, plain.results, attributes)
