"""Devices: a chip of the emulated system, or a mesh of them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tt_xla import environment
from tt_xla.errors import MeshError
from tt_xla.ttnn_api import hal, signatures
from tt_xla.ttnn_api.enums import Arch, FabricConfig
from tt_xla.ttnn_api.errors import IncompatibleArguments, TTFatal
from tt_xla.ttnn_api.geometry import CoreCoord, CoreGrid
from tt_xla.ttnn_api.shapes import MeshCoordinate, MeshShape
from tt_xla.ttnn_api.sub_devices import SubDeviceId, SubDevices
from tt_xla.ttnn_api.topology import MeshCoordinateRange, TensorTopology, mesh_places, replicated

if TYPE_CHECKING:
    from tt_xla.target import Target


class Reserved(NamedTuple):
    """Bytes of each core or bank that tensors do not get."""

    l1_small: int
    """Bytes of L1 for tables of convolutions and pooling."""
    trace_region: int
    """Bytes of DRAM for traces."""


class MeshDevice(SubDevices):
    """A mesh of chips of the emulated system; one chip is a mesh of one row and one column.

    Args:
        target: the system.
        shape: rows and columns.
        chips: number of the chip at each place.
        sizes: bytes that tensors do not get.
        parent: the mesh that this one is a part of; None for one that was opened.
    """

    def __init__(
        self,
        target: Target,
        shape: MeshShape,
        chips: Sequence[int],
        sizes: Reserved,
        parent: MeshDevice | None = None,
    ) -> None:
        from tt_xla.ttnn_api.memory import Memory  # imports the cost model

        super().__init__()
        self.target, self.shape, self.chips = target, shape, tuple(chips)
        self._reserved, self._parent, self._number = sizes, parent, next(_numbers)
        self._submeshes: list[MeshDevice] = []
        self.memory = Memory(target, sizes.l1_small)
        self.is_open = True
        self.fabric = _fabric[-1]
        """The network between the chips, as it was set when the device was opened."""
        self.misses_allowed = True
        self.plans: dict[Any, Any] = {}
        """How to execute each call that was made before, by its operation and the types of its arguments."""
        self.predicted_us = 0.0
        """Predicted device time of all calls so far, with the gaps between them."""
        self.recording: list[Any] | None = None
        """Calls of the trace that is being captured; None outside a capture."""
        self.traces: dict[int, list[Any]] = {}
        """Captured traces by number."""

    @property
    def topology(self) -> TensorTopology | None:
        """Topology of a tensor that every chip holds; None on one chip."""
        return None if len(self.chips) == 1 else replicated(self.shape)

    @property
    def trace_region_size(self) -> int:
        """Bytes of DRAM reserved for traces."""
        return self._reserved.trace_region

    def id(self) -> int:
        """Returns the number of this device among all that were opened."""
        return self._number

    def get_device_id(self, place: MeshCoordinate | None = None) -> int:
        """Returns the number of the chip at a place of the mesh, by default of the first one."""
        return self.chips[0 if place is None else self._position(place)]

    def _position(self, place: MeshCoordinate) -> int:
        if place.dims() != self.shape.dims() or not all(0 <= at < of for at, of in zip(place, self.shape, strict=True)):
            raise TTFatal(f"Coordinate {place} is outside of {self}", hint="Name a row and a column of the mesh.")
        row, column = place
        return row * self.shape[1] + column

    def get_device_ids(self) -> list[int]:
        return list(self.chips)

    def get_num_devices(self) -> int:
        return len(self.chips)

    def group_size(self, axis: int | None) -> int:
        """Returns the number of chips that exchange along an axis of the mesh; None stands for all chips.

        Raises:
            TTFatal: the mesh has no such axis.
        """
        if axis is None:
            return len(self.chips)
        if not 0 <= axis < self.shape.dims():
            raise TTFatal(
                f"cluster_axis {axis} is not an axis of {self.shape}",
                hint="Pass 0 for the chips of a column, or 1 for those of a row.",
            )
        return self.shape[axis]

    def get_system_mesh_id(self) -> int:
        return 0

    def get_view(self) -> MeshDeviceView:
        return MeshDeviceView(self.shape)

    def create_submesh(self, submesh_shape: MeshShape, offset: MeshCoordinate | None = None) -> MeshDevice:
        """Returns a box of this mesh as a mesh device with a memory of its own.

        Raises:
            TTFatal: the box is not within the mesh.
        """
        box, start = MeshShape(submesh_shape), MeshCoordinate([0] * self.shape.dims()) if offset is None else offset
        if any(first + size > of for first, size, of in zip(start, box, self.shape, strict=True)):
            shown = "std::nullopt" if offset is None else offset
            raise TTFatal(
                f"Submesh shape {box} and offset {shown} does not fit within parent mesh ({self.shape})",
                hint="Make the submesh smaller.",
            )
        chips = [self.get_device_id(place) for place in mesh_places(box, self.shape, start)]
        part = MeshDevice(self.target, box, chips, self._reserved, self)
        self._submeshes.append(part)
        return part

    def create_submeshes(self, submesh_shape: MeshShape) -> list[MeshDevice]:
        """Returns the boxes of a shape that the mesh consists of.

        Raises:
            TTFatal: the mesh does not consist of whole boxes.
        """
        box = MeshShape(submesh_shape)
        if any(of % size for size, of in zip(box, self.shape, strict=True)):
            raise TTFatal(
                f"Shape {self.shape} is not divisible by submesh shape {box} along each dimension",
                hint="Choose a shape that divides the mesh.",
            )
        starts = itertools.product(*(range(0, of, size) for size, of in zip(box, self.shape, strict=True)))
        return [self.create_submesh(box, MeshCoordinate(start)) for start in starts]

    def get_submeshes(self) -> list[MeshDevice]:
        return list(self._submeshes)

    def reshape(self, new_shape: MeshShape) -> None:
        """Gives the mesh other rows and columns, with neighbours that are linked.

        Raises:
            TTFatal: the shape has another number of chips.
        """
        shape = MeshShape(new_shape)
        if shape.mesh_size() != len(self.chips):
            raise TTFatal(
                f"Mesh device of {len(self.chips)} devices cannot be reshaped to {shape}",
                hint="Keep the number of chips.",
            )
        chips = self.chips if len(self.chips) < self.target.chips else linked_chips(self.target, shape)
        _open.pop(self.chips, None)
        self.shape, self.chips = shape, tuple(chips)
        self.plans.clear()
        _open[self.chips] = self

    def set_sub_device_stall_group(self, sub_device_ids: Sequence[SubDeviceId]) -> None:
        """Does nothing: a call's results are there when it returns."""

    def reset_sub_device_stall_group(self) -> None:
        """Does nothing: a call's results are there when it returns."""

    def quiesce_devices(self) -> None:
        """Returns at once: a call's results are there when it returns."""

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

    def get_optimal_dram_bank_to_logical_worker_assignment(
        self, noc: Any, coord: MeshCoordinate | None = None
    ) -> list[CoreCoord] | dict[int, CoreCoord]:
        """Returns the core next to each bank of DRAM: that of the first network, also for the second.

        Args:
            noc: the network.
            coord: the chip; with it the result is a dictionary by bank.
        """
        return self.bank_workers if coord is None else dict(enumerate(self.bank_workers))

    @property
    def bank_workers(self) -> list[CoreCoord]:
        """The core next to each bank of DRAM on the first network."""
        return [CoreCoord(x, y) for y, x in self.target.dram_bank_workers]

    def worker_core_from_logical_core(self, logical_core: CoreCoord) -> CoreCoord:
        """Returns the place of a worker core in translated coordinates, which count other cores as well.

        Raises:
            RuntimeError: there is no such core.
        """
        places = self._worker_places()
        if logical_core not in places:
            raise RuntimeError(f"No core coordinate found at location: ({logical_core.x}, {logical_core.y}, TENSIX)")
        return places[logical_core]

    def logical_core_from_worker_core(self, virtual_core: CoreCoord) -> CoreCoord:
        """Returns the worker core at a place in translated coordinates.

        Raises:
            RuntimeError: there is no such core.
        """
        for core, place in self._worker_places().items():
            if place == virtual_core:
                return core
        raise RuntimeError(f"No core coordinate found at location: ({virtual_core.x}, {virtual_core.y}, TENSIX)")

    def _worker_places(self) -> dict[CoreCoord, CoreCoord]:
        """Returns the translated coordinates of each worker core."""
        (rows, columns), (top, left) = self.target.grid, self.target.coord_translation_offsets
        between = _BETWEEN.get(self.target.arch, (columns, 0))
        places = [left + x + (between[1] if x >= between[0] else 0) for x in range(columns)]
        return {CoreCoord(x, y): CoreCoord(places[x], top + y) for y in range(rows) for x in range(columns)}

    def sfpu_eps(self) -> float:
        """Returns the distance from 1 to the next number of the vector unit, as TT-NN tells it."""
        return hal.EPSILON

    def sfpu_nan(self) -> float:
        """Returns the number that TT-NN takes for the vector unit's NaN."""
        return hal.NOT_A_NUMBER

    def sfpu_inf(self) -> float:
        """Returns the number that TT-NN takes for the vector unit's infinity."""
        return hal.INFINITY

    def num_program_cache_entries(self) -> int:
        """Returns the number of programs of the card that calls have made so far."""
        return sum(plan.is_program for plan in self.plans.values())

    def set_program_cache_misses_allowed(self, allowed: bool) -> None:
        """Says whether calls may make new programs; one that would is refused."""
        self.misses_allowed = allowed

    def enable_program_cache(self) -> None:
        """Does nothing: the emulated card always keeps bound kernels."""

    def clear_program_cache(self) -> None:
        self.plans.clear()

    disable_and_clear_program_cache = clear_program_cache

    def close(self) -> None:
        """Closes the device and its submeshes, and forgets plans and traces."""
        for part in self._submeshes:
            part.close()
        self._submeshes.clear()
        self.is_open = False
        self.plans.clear()
        self.traces.clear()

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"MeshDevice({rows}x{columns} grid, {len(self.chips)} devices)"


@dataclass(frozen=True)
class MeshDeviceView:
    """The places of the chips of a mesh, all of which belong to this process."""

    _shape: MeshShape

    def shape(self) -> MeshShape:
        return self._shape

    def num_devices(self) -> int:
        return self._shape.mesh_size()

    def is_local(self, place: MeshCoordinate) -> bool:
        return all(0 <= at < of for at, of in zip(place, self._shape, strict=True))

    def get_local_mesh_coord_range(self) -> MeshCoordinateRange:
        return MeshCoordinateRange(self._shape)


Device = MeshDevice

_BETWEEN = {"blackhole": (7, 2)}
"""The logical column in front of which columns of other cores lie, and how many there are, by architecture."""

_open: dict[tuple[int, ...], MeshDevice] = {}
_default: list[MeshDevice] = []
_fabric = [FabricConfig.DISABLED]
_numbers = itertools.count()


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
    return _opened(MeshShape(1, 1), [device_id], Reserved(l1_small_size, trace_region_size))


def open_mesh_device(
    mesh_shape: MeshShape | None = None,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: object = None,
    offset: MeshCoordinate | None = None,
    physical_device_ids: Sequence[int] = (),
    worker_l1_size: int = 0,
) -> MeshDevice:
    """Opens a mesh of chips whose neighbours are linked; by default all of the system's, nearest to a square.

    Args:
        mesh_shape: rows and columns.
        l1_small_size: bytes of L1 reserved for tables of convolutions and pooling.
        trace_region_size: bytes of DRAM reserved for traces.
        num_command_queues: ignored, because calls are executed in order.
        dispatch_core_config: ignored, because all cores compute.
        offset: place of the first chip in the mesh of all chips.
        physical_device_ids: the chip at each place.
        worker_l1_size: ignored.

    Raises:
        TTFatal: the system has fewer chips, or the links form no such mesh.
    """
    target, reserved = _target(), Reserved(l1_small_size, trace_region_size)
    whole = _natural(target)
    shape = whole if mesh_shape is None else MeshShape(mesh_shape)
    if physical_device_ids:
        return _opened(shape, list(physical_device_ids), reserved)
    if offset is not None:
        all_chips = linked_chips(target, whole)
        places = mesh_places(shape, whole, offset)
        return _opened(shape, [all_chips[row * whole[1] + column] for row, column in places], reserved)
    return _opened(shape, linked_chips(target, shape), reserved)


def system_shape() -> MeshShape:
    """Returns the shape of the mesh of all chips of the system."""
    return _natural(_target())


def _target() -> Target:
    from tt_xla.target import load_target

    return load_target(environment.selected_system())


def _natural(target: Target) -> MeshShape:
    from tt_xla.target import natural_shape

    return MeshShape(natural_shape(target, target.chips))


def linked_chips(target: Target, shape: MeshShape) -> Sequence[int]:
    """Returns the chip at each place of a mesh so that neighbours are linked.

    Raises:
        TTFatal: the system has fewer chips, or the links form no such mesh.
    """
    from tt_xla.target import arrange

    try:
        return arrange(target, tuple(shape)).chips
    except MeshError as error:
        raise TTFatal(error.message, hint=error.hint or "Choose another mesh shape.") from error


def _opened(shape: MeshShape, chips: Sequence[int], reserved: Reserved) -> MeshDevice:
    target = _target()
    if missing := [chip for chip in chips if not 0 <= chip < target.chips]:
        raise TTFatal(
            f"Device {missing[0]} is not available; {target.name} has chips 0 to {target.chips - 1}",
            hint="Open another chip, or set TTXLA_SYSTEM to a system with more chips.",
        )
    if len(chips) != shape.mesh_size():
        raise TTFatal(
            f"{shape} has {shape.mesh_size()} places, got {len(chips)} devices",
            hint="Name one device for each place.",
        )
    device = _open[tuple(chips)] = MeshDevice(target, shape, chips, reserved)
    return device


def scratch_device() -> MeshDevice:
    """Returns a device of one chip with a memory of its own, which is none of the open ones."""
    return MeshDevice(_target(), MeshShape(1, 1), [0], Reserved(l1_small=1 << 15, trace_region=0))


def _check_device(name: str, device: object) -> None:
    if not isinstance(device, MeshDevice):
        raise IncompatibleArguments(
            f"ttnn.{name}(): incompatible function arguments: a device is needed, got {device!r}"
        )


def close_device(device: MeshDevice) -> None:
    """Closes a device. Its tensors can no longer be used on it.

    Raises:
        IncompatibleArguments: it is no device.
    """
    _check_device("close_device", device)
    device.close()
    _open.pop(device.chips, None)


close_mesh_device = CloseDevice = close_device


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
    _check_device("synchronize_device", device)


def set_fabric_config(config: FabricConfig, *arguments: object, **options: object) -> None:
    """Sets the network between the chips of devices that are opened later. The emulated one has all links."""
    _fabric[:] = [config]


def get_fabric_config() -> FabricConfig:
    """Returns the network that was set."""
    return _fabric[-1]


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


def CreateDevice(*arguments: Any, **keywords: Any) -> MeshDevice:
    """Opens a chip: an earlier name of :func:`open_device`."""
    _, values = signatures.bound("ttnn.CreateDevice", arguments, keywords)
    return open_device(**values)


def CreateDevices(*arguments: Any, **keywords: Any) -> dict[int, MeshDevice]:
    """Opens chips, each as a device of its own."""
    _, values = signatures.bound("ttnn.CreateDevices", arguments, keywords)
    return {number: open_device(device_id=number, **values) for number in values.pop("device_ids")}


def CloseDevices(devices: dict[int, MeshDevice]) -> None:
    """Closes what :func:`CreateDevices` returned."""
    for device in devices.values():
        close_device(device)


GetNumPCIeDevices = get_num_pcie_devices = GetNumAvailableDevices  # each emulated chip is reached from the host
get_pcie_device_ids = get_device_ids


def GetPCIeDeviceID(device_id: int) -> int:
    """Returns the chip by which the host reaches a chip: the chip itself."""
    return device_id
