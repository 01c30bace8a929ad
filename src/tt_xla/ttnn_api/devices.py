"""Devices: a chip of the emulated system, or a mesh of them."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from tt_xla import environment
from tt_xla.ttnn_api.enums import Arch, FabricConfig
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import CoreCoord, CoreGrid, MeshShape

if TYPE_CHECKING:
    from tt_xla.target import Target


class MeshDevice:
    """A mesh of chips of the emulated system; one chip is a mesh of one row and one column.

    Args:
        target: the system.
        shape: rows and columns.
        chips: number of the chip at each place.
        l1_small_size: bytes of L1 reserved for tables of convolutions and pooling.
        trace_region_size: bytes of DRAM reserved for traces.
    """

    def __init__(
        self, target: Target, shape: MeshShape, chips: Sequence[int], l1_small_size: int, trace_region_size: int
    ) -> None:
        from tt_xla.ttnn_api.memory import Memory  # imports the cost model

        self.target, self.shape, self.chips = target, shape, tuple(chips)
        self.trace_region_size = trace_region_size
        self.memory = Memory(target, l1_small_size)
        self.is_open = True
        self.plans: dict[Any, Any] = {}
        """How to execute each call that was made before, by its operation and the types of its arguments."""
        self.predicted_us = 0.0
        """Predicted device time of all calls so far, with the gaps between them."""
        self.recording: list[Any] | None = None
        """Calls of the trace that is being captured; None outside a capture."""
        self.traces: dict[int, list[Any]] = {}
        """Captured traces by number."""

    def id(self) -> int:
        return self.chips[0]

    def get_device_id(self) -> int:
        return self.chips[0]

    def get_device_ids(self) -> list[int]:
        return list(self.chips)

    def get_num_devices(self) -> int:
        return len(self.chips)

    def arch(self) -> Arch:
        return Arch[self.target.arch.upper()]

    def compute_with_storage_grid_size(self) -> CoreCoord:
        rows, columns = self.target.grid
        return CoreCoord(columns, rows)

    @property
    def core_grid(self) -> CoreGrid:
        rows, columns = self.target.grid
        return CoreGrid(x=columns, y=rows)

    def dram_grid_size(self) -> CoreCoord:
        return CoreCoord(self.target.dram_banks, 1)

    def num_program_cache_entries(self) -> int:
        return len(self.plans)

    def enable_program_cache(self) -> None:
        """Does nothing: the emulated card always keeps bound kernels."""

    def disable_and_clear_program_cache(self) -> None:
        self.plans.clear()

    def clear_program_cache(self) -> None:
        self.plans.clear()

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"MeshDevice({rows}x{columns} grid, {len(self.chips)} devices)"


Device = MeshDevice

_open: dict[tuple[int, ...], MeshDevice] = {}
_default: list[MeshDevice] = []


def open_device(
    *,
    device_id: int,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: object = None,
    worker_l1_size: int = 0,
) -> MeshDevice:
    """Opens a chip. An open one is returned as it is.

    Raises:
        TTFatal: the system has no such chip.
    """
    known = _open.get((device_id,))
    if known is not None:
        return known
    return _opened(MeshShape(1, 1), [device_id], l1_small_size, trace_region_size)


def open_mesh_device(
    mesh_shape: MeshShape | None = None,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: object = None,
    offset: object = None,
    physical_device_ids: Sequence[int] = (),
    worker_l1_size: int = 0,
) -> MeshDevice:
    """Opens a mesh of chips; all of the system's in one row if no shape is passed.

    Raises:
        TTFatal: the system has fewer chips.
    """
    shape = MeshShape(1, _target().chips) if mesh_shape is None else MeshShape(mesh_shape)
    chips = list(physical_device_ids) or list(range(shape.mesh_size()))
    return _opened(shape, chips, l1_small_size, trace_region_size)


def _target() -> Target:
    from tt_xla.target import load_target

    return load_target(environment.selected_system())


def _opened(shape: MeshShape, chips: Sequence[int], l1_small_size: int, trace_region_size: int) -> MeshDevice:
    target = _target()
    if missing := [chip for chip in chips if not 0 <= chip < target.chips]:
        raise TTFatal(
            f"Device {missing[0]} is not available; {target.name} has chips 0 to {target.chips - 1}",
            hint="Open another chip, or set TTXLA_SYSTEM to a system with more chips.",
        )
    device = _open[tuple(chips)] = MeshDevice(target, shape, chips, l1_small_size, trace_region_size)
    return device


def close_device(device: MeshDevice) -> None:
    """Closes a device. Its tensors can no longer be used on it."""
    device.is_open = False
    device.plans.clear()
    device.traces.clear()
    _open.pop(device.chips, None)


close_mesh_device = close_device


@contextlib.contextmanager
def manage_device(device_id: int) -> Generator[MeshDevice]:
    """Opens a chip for the body of the context."""
    device = open_device(device_id=device_id)
    try:
        yield device
    finally:
        close_device(device)


@contextlib.contextmanager
def create_mesh_device(mesh_shape: MeshShape | None = None, **options: Any) -> Generator[MeshDevice]:
    """Opens a mesh of chips for the body of the context."""
    device = open_mesh_device(mesh_shape, **options)
    try:
        yield device
    finally:
        close_device(device)


def synchronize_device(device: MeshDevice, cq_id: int | None = None, sub_device_ids: Sequence[object] = ()) -> None:
    """Returns at once: a call's results are there when it returns."""


def set_fabric_config(config: FabricConfig, *arguments: object, **options: object) -> None:
    """Does nothing: the emulated chips have all links of their system."""


def GetNumAvailableDevices() -> int:
    """Returns the number of chips of the system."""
    return _target().chips


get_num_devices = GetNumAvailableDevices


def get_device_ids() -> list[int]:
    """Returns the numbers of the system's chips."""
    return list(range(_target().chips))


def SetDefaultDevice(device: MeshDevice) -> None:
    """Sets the device that :func:`GetDefaultDevice` returns."""
    _default[:] = [device]


def GetDefaultDevice() -> MeshDevice | None:
    """Returns the default device; None if none is set."""
    return _default[0] if _default else None
