"""The client: one process's view of one card, with its device, the device's memories, and the topology."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import tt_xla
from tt_xla.frontends.jax.pjrt.answers import Answers, Packed
from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.structs import fields, has_field, text_at
from tt_xla.frontends.jax.pjrt.table import slot, trampoline
from tt_xla.options import selected_system
from tt_xla.target import Target, load_target

PLATFORM = "tt"
MEMORY_KINDS = ("device", "pinned_host")
"""JAX's names of the device's memories; the first is the default."""


@dataclass
class Memory:
    """The object behind the handle of a memory.

    Attributes:
        device: handle of the device that the memory belongs to; 0 until the device is created.
    """

    kind: str
    device: int = 0


class Client:
    """One card as JAX sees it. Handles are numbers; the C part answers jaxlib's queries about them."""

    def __init__(self, target: Target) -> None:
        library = trampoline()
        self.target = target
        answers = {name: Answers() for name in ("client", "device", "description", "topology", *MEMORY_KINDS)}
        # A memory answers with its device, and the device with its memories. Memories are created first, each with an
        # empty list of devices, which is filled in when the device has a handle.
        device_lists = [answers[kind].handles([0]) for kind in MEMORY_KINDS]
        self.memories = [
            _memory(library, answers[kind], kind, number, device_lists[number])
            for number, kind in enumerate(MEMORY_KINDS)
        ]
        self.description = _description(library, answers["description"], target)
        self.device = library.new_cell(self, _device(answers["device"], self.description, self.memories, target), 0)
        topology = _topology(answers["topology"], self.description, platform_version())
        self.topology = library.new_cell(self, topology, 0)
        self.handle = library.new_cell(self, _client(answers["client"], self.device, self.memories, self.topology), 0)
        for memory, devices in zip(self.memories, device_lists, strict=True):
            ctypes.c_void_p.from_address(devices).value = self.device
            library.object_of(memory).device = self.device


class Topology:
    """A system that programs can be compiled for without a client."""

    def __init__(self, target: Target) -> None:
        library = trampoline()
        self.target = target
        self.description = _description(library, Answers(), target)
        # The version differs from every client's. JAX compiles for a topology of a client's version with that client,
        # and waits for it while it holds Python's lock.
        version = f"{platform_version()} for {target.name}"
        self.handle = library.new_cell(self, _topology(Answers(), self.description, version), 0)


def _arch(target: Target) -> str:
    """Returns the name of the architecture as JAX shows it, such as ``Wormhole_b0``."""
    return target.arch.capitalize()


def _attributes(target: Target) -> dict[str, int | float | str | bool]:
    """Returns the attributes of JAX's device objects, by name."""
    return {
        "arch": _arch(target),
        "device_arch": _arch(target),
        "system": target.name,
        "dram_size": target.dram_banks * target.dram_bank_bytes,
        "l1_size": target.l1_size,
        "grid": f"{target.grid[0]}x{target.grid[1]}",
    }


def _memory(library: Any, answers: Answers, kind: str, number: int, devices: int) -> int:
    """Returns the handle of a memory. ``devices`` is the address of its list of one device."""
    answers.set("PJRT_Memory_Id", id=number)
    answers.set("PJRT_Memory_Kind", kind=kind)
    answers.set("PJRT_Memory_Kind_Id", kind_id=number)
    answers.set("PJRT_Memory_DebugString", debug_string=f"TTMemory(id={number}, kind={kind}, device=0)")
    answers.set("PJRT_Memory_ToString", to_string=f"TT_{number}({kind})")
    answers.set("PJRT_Memory_AddressableByDevices", devices=devices, num_devices=1)
    handle: int = library.new_cell(Memory(kind), answers.pack(), 0)
    return handle


def _description(library: Any, answers: Answers, target: Target) -> int:
    arch, attributes = _arch(target), _attributes(target)
    text = f"TTDevice(id=0, arch={arch})"
    answers.set("PJRT_DeviceDescription_Id", id=0)
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


def _device(answers: Answers, description: int, memories: list[int], target: Target) -> Packed:
    answers.set("PJRT_Device_GetDescription", device_description=description)
    answers.set("PJRT_Device_IsAddressable", is_addressable=True)
    answers.set("PJRT_Device_LocalHardwareId", local_hardware_id=0)
    answers.set("PJRT_Device_AddressableMemories", memories=answers.handles(memories), num_memories=len(memories))
    answers.set("PJRT_Device_DefaultMemory", memory=memories[0])
    answers.set(
        "PJRT_Device_GetAttributes",
        attributes=answers.named_values(_attributes(target)),
        num_attributes=len(_attributes(target)),
        device_attributes=trampoline().EVENT,
        attributes_deleter=trampoline().NOTHING,
    )
    return answers.pack()


def _topology(answers: Answers, description: int, version: str) -> Packed:
    prefix = "PJRT_TopologyDescription"
    answers.set(f"{prefix}_PlatformName", platform_name=PLATFORM)
    answers.set(f"{prefix}_PlatformVersion", platform_version=version)
    answers.set(f"{prefix}_GetDeviceDescriptions", descriptions=answers.handles([description]), num_descriptions=1)
    answers.set(f"{prefix}_Attributes", attributes=answers.named_values({}), num_attributes=0)
    return answers.pack()


def _client(answers: Answers, device: int, memories: list[int], topology: int) -> Packed:
    devices = answers.handles([device])
    answers.set("PJRT_Client_PlatformName", platform_name=PLATFORM)
    answers.set("PJRT_Client_PlatformVersion", platform_version=platform_version())
    answers.set("PJRT_Client_ProcessIndex", process_index=0)
    answers.set("PJRT_Client_Devices", devices=devices, num_devices=1)
    answers.set("PJRT_Client_AddressableDevices", addressable_devices=devices, num_addressable_devices=1)
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
    args.device = _only_device(args.client, args.id)


@slot("PJRT_Client_LookupAddressableDevice")
def lookup_addressable_device(args: Any) -> None:
    args.addressable_device = _only_device(args.client, args.local_hardware_id)


def _only_device(client: int, number: int) -> int:
    """Returns the handle of a client's device.

    Raises:
        PluginError: ``number`` is not 0.
    """
    if number != 0:
        raise PluginError("INVALID_ARGUMENT", f"There is no device {number}; the only device is 0.")
    device: int = trampoline().object_of(client).device
    return device


@slot("PJRT_Client_DefaultDeviceAssignment")
def default_device_assignment(args: Any) -> None:
    """Assigns device 0 to a program for one device; refuses programs for several."""
    count = args.num_replicas * args.num_partitions
    if count != 1 or args.default_assignment_size < 1:
        raise PluginError(
            "INVALID_ARGUMENT",
            f"{args.num_replicas} replicas of {args.num_partitions} partitions were asked for; 'tt' has one device.",
        )
    ctypes.c_int.from_address(args.default_assignment).value = 0


@slot("PJRT_Device_MemoryStats")
def memory_stats(args: Any) -> None:
    """Sets the statistics of the device's DRAM, in bytes. Fields that the caller's struct lacks are left out."""
    from tt_xla.runtime import get_device

    report = get_device(trampoline().object_of(args.device).target.name).memory()
    stats = {
        "bytes_in_use": report.resident,
        "peak_bytes_in_use": report.resident + report.program_peak,
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
