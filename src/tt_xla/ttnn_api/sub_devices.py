"""Sub-devices: groups of cores that a device is divided into. On the emulated card they change no result."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import CoreRangeSet
from tt_xla.ttnn_api.operation_enums import DispatchCoreAxis, DispatchCoreType

__all__ = ["DispatchCoreConfig", "SubDevice", "SubDeviceId", "SubDeviceManagerId"]


class DispatchCoreConfig:
    """The cores that dispatch work. The emulated card has none, so that it changes nothing.

    Args:
        type: kind of the cores.
        axis: whether they are rows or columns.
    """

    def __init__(self, type: DispatchCoreType | None = None, axis: DispatchCoreAxis | None = None) -> None:
        self.type = type or DispatchCoreType.WORKER
        self.axis = axis or DispatchCoreAxis.COL


@dataclass(frozen=True)
class SubDevice:
    """Cores of a sub-device: those that compute, then those of Ethernet."""

    cores: Sequence[CoreRangeSet]


@dataclass(frozen=True)
class SubDeviceId:
    """Number of a sub-device within its manager."""

    id: int

    def __repr__(self) -> str:
        return f"SubDeviceId({self.id})"


@dataclass(frozen=True)
class SubDeviceManagerId:
    """Number of a division of a device into sub-devices."""

    id: int


class SubDevices:
    """The divisions of one device into sub-devices."""

    def __init__(self) -> None:
        self._managers: dict[SubDeviceManagerId, Sequence[SubDevice]] = {}
        self._numbers = itertools.count(1)
        self._loaded: SubDeviceManagerId | None = None

    def create_sub_device_manager(self, sub_devices: Sequence[SubDevice], local_l1_size: int) -> SubDeviceManagerId:
        """Adds a division.

        Raises:
            TTFatal: a core is in two sub-devices.
        """
        ranges = [each for sub_device in sub_devices for cores in sub_device.cores for each in cores.ranges()]
        for one, other in itertools.combinations(ranges, 2):
            if one.intersects(other):
                raise TTFatal("SubDevices specified for SubDeviceManager intersect", hint=f"{one} and {other} do.")
        manager = SubDeviceManagerId(next(self._numbers))
        self._managers[manager] = list(sub_devices)
        return manager

    def load_sub_device_manager(self, sub_device_manager_id: SubDeviceManagerId) -> None:
        """Makes a division the one in force.

        Raises:
            TTFatal: the device has no such division.
        """
        self._check(sub_device_manager_id)
        self._loaded = sub_device_manager_id

    def clear_loaded_sub_device_manager(self) -> None:
        """Makes the whole device one sub-device again."""
        self._loaded = None

    def remove_sub_device_manager(self, sub_device_manager_id: SubDeviceManagerId) -> None:
        """Forgets a division.

        Raises:
            TTFatal: the device has no such division, or it is in force.
        """
        self._check(sub_device_manager_id)
        if sub_device_manager_id == self._loaded:
            raise TTFatal(
                "Cannot remove active sub-device manager", hint="Call clear_loaded_sub_device_manager before."
            )
        del self._managers[sub_device_manager_id]

    def _check(self, manager: SubDeviceManagerId) -> None:
        if manager not in self._managers:
            raise TTFatal("Sub-device manager does not exist", hint="Make it with create_sub_device_manager.")
