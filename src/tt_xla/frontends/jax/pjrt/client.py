"""The client: one process's view of a system, with a device for each chip, the devices' memories, and the topology."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

import tt_xla
from tt_xla.environment import selected_system
from tt_xla.frontends.jax.pjrt.answers import Answers, NamedValue, Packed
from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.structs import fields, has_field, text_at
from tt_xla.frontends.jax.pjrt.table import slot, trampoline
from tt_xla.ir.mesh import Mesh
from tt_xla.target import Target, load_target, natural_shape

PLATFORM = "tt"
MEMORY_KINDS = ("device", "pinned_host")
"""JAX's names of the memories of each device; the first is the default."""


class Device:
    """The object behind the handle of a device: one chip.

    Attributes:
        number: JAX's id of the device, and the chip's position in the system.
        target: the system.
        handle: the device's handle.
        memories: handles of the device's memories, in the order of :data:`MEMORY_KINDS`.
    """

    def __init__(self, target: Target, number: int) -> None:
        library = trampoline()
        self.number = number
        self.target = target
        # A memory answers with its device, and the device with its memories. Memories are created first, each with an
        # empty list of devices, which is filled in when the device has a handle.
        answers = [Answers() for _ in MEMORY_KINDS]
        device_lists = [memory.handles([0]) for memory in answers]
        self.memories = [
            _memory(library, answers[kind], number, kind, device_lists[kind]) for kind in range(len(MEMORY_KINDS))
        ]
        self.description = _description(library, Answers(), target, number)
        self.handle: int = library.new_cell(self, _device(Answers(), self), 0)
        for memory, devices in zip(self.memories, device_lists, strict=True):
            ctypes.c_void_p.from_address(devices).value = self.handle
            library.object_of(memory).device = self.handle


@dataclass
class Memory:
    """The object behind the handle of a memory.

    Attributes:
        device: handle of the device that the memory belongs to; 0 until the device is created.
    """

    kind: str
    device: int = 0


class Client:
    """A system as JAX sees it. Handles are numbers; the C part answers jaxlib's queries about them.

    Attributes:
        target: the system.
        devices: the devices, by JAX's id.
        topology: handle of the topology.
        handle: the client's handle.
    """

    def __init__(self, target: Target) -> None:
        library = trampoline()
        self.target = target
        self.devices = [Device(target, number) for number in range(target.chips)]
        descriptions = [device.description for device in self.devices]
        self.topology = library.new_cell(self, _topology(Answers(), descriptions, platform_version()), 0)
        self.handle = library.new_cell(self, _client(Answers(), self.devices, self.topology), 0)

    def device(self, number: int) -> Device:
        """Returns the device with an id.

        Raises:
            PluginError: there is no such device.
        """
        check_device(self.target, number)
        return self.devices[number]


def check_device(target: Target, number: int) -> None:
    """Checks that a system has a device with an id.

    Raises:
        PluginError: it has none.
    """
    if not 0 <= number < target.chips:
        there = "its only device is 0" if target.chips == 1 else f"its devices are 0 to {target.chips - 1}"
        raise PluginError("INVALID_ARGUMENT", f"System {target.name} has no device {number}; {there}.")


def count_of(chips: int) -> str:
    """Returns a number of chips in words."""
    return f"{chips} chip" if chips == 1 else f"{chips} chips"


class Topology:
    """A system that programs can be compiled for without a client."""

    def __init__(self, target: Target) -> None:
        library = trampoline()
        self.target = target
        descriptions = [_description(library, Answers(), target, number) for number in range(target.chips)]
        # The version differs from every client's. JAX compiles for a topology of a client's version with that client,
        # and waits for it while it holds Python's lock.
        version = f"{platform_version()} for {target.name}"
        self.handle = library.new_cell(self, _topology(Answers(), descriptions, version), 0)


def _arch(target: Target) -> str:
    """Returns the name of the architecture as JAX shows it, such as ``Wormhole_b0``."""
    return target.arch.capitalize()


def _attributes(target: Target, number: int) -> dict[str, NamedValue]:
    """Returns the attributes of JAX's device objects, by name. ``coords`` and ``core_on_chip`` are those of TPUs."""
    return {
        "arch": _arch(target),
        "device_arch": _arch(target),
        "system": target.name,
        "dram_size": target.dram_banks * target.dram_bank_bytes,
        "l1_size": target.l1_size,
        "grid": f"{target.grid[0]}x{target.grid[1]}",
        "coords": [*_mesh(target).coordinates(number), 0],
        "core_on_chip": 0,
    }


@functools.cache
def _mesh(target: Target) -> Mesh:
    """Returns the mesh in which JAX sees a system's chips. Ids of devices are positions in it."""
    return Mesh(natural_shape(target, target.chips), ("row", "column"))


def _memory(library: Any, answers: Answers, device: int, kind: int, devices: int) -> int:
    """Returns the handle of a memory.

    Args:
        library: the C part.
        answers: the memory's answers, which this function completes.
        device: id of the memory's device.
        kind: index in :data:`MEMORY_KINDS`.
        devices: address of the memory's list of one device.
    """
    number, name = device * len(MEMORY_KINDS) + kind, MEMORY_KINDS[kind]
    answers.set("PJRT_Memory_Id", id=number)
    answers.set("PJRT_Memory_Kind", kind=name)
    answers.set("PJRT_Memory_Kind_Id", kind_id=kind)
    answers.set("PJRT_Memory_DebugString", debug_string=f"TTMemory(id={number}, kind={name}, device={device})")
    answers.set("PJRT_Memory_ToString", to_string=f"TT_{number}({name})")
    answers.set("PJRT_Memory_AddressableByDevices", devices=devices, num_devices=1)
    handle: int = library.new_cell(Memory(name), answers.pack(), 0)
    return handle


def _description(library: Any, answers: Answers, target: Target, number: int) -> int:
    arch, attributes = _arch(target), _attributes(target, number)
    text = f"TTDevice(id={number}, arch={arch})"
    answers.set("PJRT_DeviceDescription_Id", id=number)
    answers.set("PJRT_DeviceDescription_ProcessIndex", process_index=0)
    answers.set(
        "PJRT_DeviceDescription_Attributes",
        num_attributes=len(attributes),
        attributes=answers.named_values(attributes),
    )
    answers.set("PJRT_DeviceDescription_Kind", device_kind=arch)
    answers.set("PJRT_DeviceDescription_DebugString", debug_string=text)
    answers.set("PJRT_DeviceDescription_ToString", to_string=text)
    return int(library.new_cell(None, answers.pack(), 0))


def _device(answers: Answers, device: Device) -> Packed:
    attributes = _attributes(device.target, device.number)
    memories = device.memories
    answers.set("PJRT_Device_GetDescription", device_description=device.description)
    answers.set("PJRT_Device_IsAddressable", is_addressable=True)
    answers.set("PJRT_Device_LocalHardwareId", local_hardware_id=device.number)
    answers.set("PJRT_Device_AddressableMemories", memories=answers.handles(memories), num_memories=len(memories))
    answers.set("PJRT_Device_DefaultMemory", memory=memories[0])
    answers.set(
        "PJRT_Device_GetAttributes",
        attributes=answers.named_values(attributes),
        num_attributes=len(attributes),
        device_attributes=trampoline().EVENT,
        attributes_deleter=trampoline().NOTHING,
    )
    return answers.pack()


def _topology(answers: Answers, descriptions: list[int], version: str) -> Packed:
    prefix = "PJRT_TopologyDescription"
    answers.set(f"{prefix}_PlatformName", platform_name=PLATFORM)
    answers.set(f"{prefix}_PlatformVersion", platform_version=version)
    answers.set(
        f"{prefix}_GetDeviceDescriptions",
        descriptions=answers.handles(descriptions),
        num_descriptions=len(descriptions),
    )
    answers.set(f"{prefix}_Attributes", attributes=answers.named_values({}), num_attributes=0)
    return answers.pack()


def _client(answers: Answers, devices: list[Device], topology: int) -> Packed:
    handles = answers.handles([device.handle for device in devices])
    memories = [memory for device in devices for memory in device.memories]
    answers.set("PJRT_Client_PlatformName", platform_name=PLATFORM)
    answers.set("PJRT_Client_PlatformVersion", platform_version=platform_version())
    answers.set("PJRT_Client_ProcessIndex", process_index=0)
    answers.set("PJRT_Client_Devices", devices=handles, num_devices=len(devices))
    answers.set("PJRT_Client_AddressableDevices", addressable_devices=handles, num_addressable_devices=len(devices))
    answers.set(
        "PJRT_Client_AddressableMemories",
        addressable_memories=answers.handles(memories),
        num_addressable_memories=len(memories),
    )
    answers.set("PJRT_Client_TopologyDescription", topology=topology)
    return answers.pack()


def platform_version() -> str:
    """Returns the text that JAX shows as the backend's platform version."""
    return f"tt-xla {tt_xla.__version__}"


@slot("PJRT_Client_Create")
def create(args: Any) -> None:
    """Creates the client of the selected system."""
    args.client = Client(load_target(selected_system())).handle


@slot("PJRT_TopologyDescription_Create")
def create_topology(args: Any) -> None:
    """Creates the topology of a named system (``n150``), of a ``.ttsys`` file, or of the selected system."""
    name = text_at(args.topology_name, args.topology_name_size)
    args.topology = Topology(load_target(name or selected_system())).handle


@slot("PJRT_Client_LookupDevice")
def lookup_device(args: Any) -> None:
    args.device = trampoline().object_of(args.client).device(args.id).handle


@slot("PJRT_Client_LookupAddressableDevice")
def lookup_addressable_device(args: Any) -> None:
    args.addressable_device = trampoline().object_of(args.client).device(args.local_hardware_id).handle


@slot("PJRT_Client_DefaultDeviceAssignment")
def default_device_assignment(args: Any) -> None:
    """Assigns device ``r * partitions + p`` to partition ``p`` of replica ``r``."""
    client: Client = trampoline().object_of(args.client)
    count = args.num_replicas * args.num_partitions
    if not 1 <= count <= min(len(client.devices), args.default_assignment_size):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"{args.num_replicas} replicas of {args.num_partitions} partitions were asked for; system "
            f"{client.target.name} has {count_of(len(client.devices))}.",
        )
    (ctypes.c_int * count).from_address(args.default_assignment)[:] = range(count)


@slot("PJRT_Device_MemoryStats")
def memory_stats(args: Any) -> None:
    """Sets the statistics of the chip's DRAM, in bytes. Fields that the caller's struct lacks are left out.

    In use are the arrays in the device's default memory and what loaded programs keep between runs. The peak is that of
    the largest program, or what is in use now.
    """
    from tt_xla.frontends.jax.pjrt.buffer import place
    from tt_xla.runtime import get_device

    device: Device = trampoline().object_of(args.device)
    report = get_device(device.target.name, device.number).memory()
    in_use = report.resident + place(device.memories[0]).account.held()
    stats = {
        "bytes_in_use": in_use,
        "peak_bytes_in_use": max(in_use, report.resident + report.program_peak),
        "bytes_limit": report.usable,
        "bytes_reserved": report.trace_region,
    }
    for name, _ in fields("PJRT_Device_MemoryStats_Args")[3:]:
        if not has_field(args, name):
            continue
        if name.endswith("_is_set"):
            setattr(args, name, name.removesuffix("_is_set") in stats)
        else:
            setattr(args, name, stats.get(name, 0))
