"""Modules in the form of upstream's dumps: inside ``ttcore.device_module``, with the device that they are for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tt_xla.compiler.meshes import mesh_attributes, mesh_devices, mesh_shape
from tt_xla.ir.mesh import Shape
from tt_xla.ir.ttcore import DeviceAttr, DeviceOp, in_device_module
from tt_xla.target import Target, device_chips


def wrapped(module: ModuleOp, target: Target) -> ModuleOp:
    """Returns a copy of a module of functions inside ``ttcore.device_module``."""
    outer, inner = in_device_module(module)
    mesh = mesh_shape(module) or (1, 1)
    devices = mesh_devices(module)
    outer.attributes |= mesh_attributes(mesh, devices)
    inner.attributes |= mesh_attributes(mesh, devices)
    device = DeviceOp.create(
        properties={"sym_name": StringAttr("default_device"), "device_attr": DeviceAttr(_device(target, mesh, devices))}
    )
    first = inner.body.block.first_op
    if first is None:
        inner.body.block.add_op(device)
    else:
        inner.body.block.insert_op_before(device, first)
    return outer


def _device(target: Target, mesh: Shape, devices: Sequence[int]) -> str:
    """Returns the text of tt-mlir's ``DeviceAttr``: the grid, the maps from addresses to cores and banks, and the mesh.

    L1 is addressed by the position of a core in the grid; pages of DRAM go to the banks in turn.
    """
    rows, columns = target.grid
    banks = target.dram_banks
    numbers = device_chips(target) if devices else ()
    chips = [numbers[device] for device in devices] or list(range(math.prod(mesh)))
    flat = "(d0 * s1) * (s2 * (s3 * s6)) + d1 * (s2 * (s3 * s6)) + d2"
    dram = f"((({flat}) floordiv s4) floordiv {banks}) * s4 + ({flat}) mod s4 + s5"
    return (
        f"workerGrid = #ttcore.grid<{rows}x{columns}, virt_to_physical_map = (d0, d1) -> (0, d0, d1), "
        f"physical_to_virt_map = (d0, d1, d2) -> (d1, d2)>, dramGrid = #ttcore.grid<1x{banks}>, "
        "l1Map = (d0, d1, d2)[s0] -> (0, d0, d1, d2 + s0), "
        f"dramMap = (d0, d1, d2)[s0, s1, s2, s3, s4, s5, s6] -> (0, 0, (({flat}) floordiv s4) mod {banks}, {dram}), "
        f"meshShape = {'x'.join(map(str, mesh))}, chipIds = {chips}"
    )
