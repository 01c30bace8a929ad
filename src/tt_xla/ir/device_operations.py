"""Names of the device operations of tt-metal that TTNN ops run, as profilers show them."""

from __future__ import annotations

from collections.abc import Sequence

from tt_xla.ir.layout import TILE
from tt_xla.ir.op_table import DM, HOST, TM, program_of
from tt_xla.ir.program import HOST_OPS, Instruction, TensorSpec

TRANSFERS = frozenset({"to_device", "from_device", "write_tensor"})
"""Transfers over PCIe, for which the device runs no program."""


def device_operation(
    instruction: Instruction, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> tuple[str, str]:
    """Returns an op's name in profiles, such as ``MatmulDeviceOperation``, and its category.

    Args:
        instruction: the op.
        inputs, outputs: shape and layout of its operands and results.
    """
    name = instruction.op.rpartition(".")[2]
    if instruction.op in HOST_OPS:
        return f"(torch) {name}", HOST
    code, category = _by_layout(name, inputs, outputs) or program_of(name)
    return f"{code}DeviceOperation", category


def _by_layout(name: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> tuple[str, str] | None:
    """Returns name and category of an op whose program depends on its tensors' layouts; None for other ops."""
    if not inputs or not outputs:
        return None
    before, after = inputs[0], outputs[0]
    if name == "to_layout":
        if before.layout.tiled == after.layout.tiled:
            return "Typecast" if before.layout.dtype != after.layout.dtype else "Copy", DM
        unpadded = all(size % TILE == 0 for size in after.shape[-2:]) and len(after.shape) > 1
        tilize = "Tilize" if unpadded else "TilizeWithValPadding"
        return (tilize if after.layout.tiled else "Untilize" if unpadded else "UntilizeWithUnpadding"), TM
    if name == "to_memory_config":
        sharded = before.layout.is_sharded, after.layout.is_sharded
        names = {(False, True): "InterleavedToSharded", (True, False): "ShardedToInterleaved", (True, True): "Reshard"}
        return names.get(sharded, "Copy"), DM
    return None


__all__ = ["TRANSFERS", "device_operation"]
