"""Descriptions of executables: the answers to jaxlib's queries about them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

from tt_xla.frontends.jax.pjrt.answers import Answers
from tt_xla.frontends.jax.pjrt.buffer import PJRT_CODES, itemsize, layout_handle
from tt_xla.frontends.jax.pjrt.client import Device
from tt_xla.frontends.jax.pjrt.compiled import Compiled
from tt_xla.frontends.jax.pjrt.costs import operations
from tt_xla.frontends.jax.pjrt.structs import struct
from tt_xla.frontends.jax.pjrt.table import trampoline
from tt_xla.frontends.jax.pjrt.wire import write_assignment
from tt_xla.ir.program import Program

NAME = "tt_executable"
"""Name of every executable, as upstream's plugin has it."""


def describe(answers: Answers, compiled: Compiled, program: Program) -> None:
    """Sets the answers about an executable's name, results, memories and cost. Shapes are those of one chip."""
    _describe_results(answers, compiled, program)
    _describe_sizes(answers, compiled, program)


def _describe_results(answers: Answers, compiled: Compiled, program: Program) -> None:
    """Sets the answers about an executable's name, results and memories."""
    codes = [PJRT_CODES[result.dtype] for result in program.results]
    ranks = [len(result.shape) for result in program.results]
    dims = [size for result in program.results for size in result.shape]
    prefix = "PJRT_Executable"
    answers.set(f"{prefix}_Name", executable_name=NAME)
    answers.set(f"{prefix}_NumReplicas", num_replicas=len(compiled.assignment[0]))
    answers.set(f"{prefix}_NumPartitions", num_partitions=len(compiled.assignment))
    answers.set(f"{prefix}_NumOutputs", num_outputs=len(codes))
    answers.set(f"{prefix}_SizeOfGeneratedCodeInBytes", size_in_bytes=len(compiled.program))
    answers.set(f"{prefix}_Fingerprint", executable_fingerprint=compiled.fingerprint)
    answers.set(
        f"{prefix}_OutputElementTypes",
        output_types=answers.integers(codes, ctypes.c_int),
        num_output_types=len(codes),
    )
    answers.set(
        f"{prefix}_OutputDimensions",
        num_outputs=len(codes),
        dims=answers.integers(dims),
        dim_sizes=answers.integers(ranks, ctypes.c_size_t),
    )
    prefix = "PJRT_Layouts_PJRT_Executable"
    inputs, outputs = map(layout_handle, compiled.parameter_layouts), map(layout_handle, compiled.output_layouts)
    answers.set(
        f"{prefix}_GetParameterLayouts", num_parameters=len(program.arguments), layouts=answers.handles([*inputs])
    )
    answers.set(f"{prefix}_GetOutputLayouts", num_outputs=len(codes), layouts=answers.handles([*outputs]))
    prefix = "PJRT_Executable"
    kinds, sizes = answers.texts(compiled.output_memories)
    answers.set(f"{prefix}_OutputMemoryKinds", num_outputs=len(codes), memory_kinds=kinds, memory_kind_sizes=sizes)
    kinds, sizes = answers.texts(compiled.parameter_memories)
    answers.set(
        f"{prefix}_ParameterMemoryKinds",
        num_parameters=len(program.arguments),
        memory_kinds=kinds,
        memory_kind_sizes=sizes,
    )


def _describe_sizes(answers: Answers, compiled: Compiled, program: Program) -> None:
    """Sets the answers about an executable's memory and cost. Sizes are in bytes.

    Donated arguments and results share memory, which is counted among both, and as the size of aliases.
    """
    argument_bytes = sum(_size(argument.dtype, argument.shape) for argument in program.arguments)
    result_bytes = sum(_size(result.dtype, result.shape) for result in program.results)
    donated = [program.arguments[index] for index in compiled.donated]
    alias_bytes = min(sum(_size(argument.dtype, argument.shape) for argument in donated), result_bytes)
    peak = program.memory.dram_peak_bytes
    answers.set(
        "PJRT_Executable_GetCompiledMemoryStats",
        generated_code_size_in_bytes=0,
        argument_size_in_bytes=argument_bytes,
        output_size_in_bytes=result_bytes,
        alias_size_in_bytes=alias_bytes,
        temp_size_in_bytes=max(0, peak - argument_bytes - result_bytes + alias_bytes),
        peak_memory_in_bytes=peak,
        total_size_in_bytes=peak,
        total_allocation_bytes=peak,
    )
    costs = {
        **operations(program),
        "optimal_seconds": program.predicted_device_us / 1e6,
        "bytes accessed": float(argument_bytes + result_bytes),
        "bytes accessedout{}": float(result_bytes),
        "peak dram bytes": float(peak),
        "peak l1 bytes per core": float(program.memory.l1_peak_bytes_per_core),
        "ops": float(sum(len(function.body) for function in program.functions)),
    }
    answers.set("PJRT_Executable_GetCostAnalysis", num_properties=len(costs), properties=answers.named_values(costs))


def _size(dtype: str, shape: Sequence[int]) -> int:
    """Returns the bytes of a tensor on the host."""
    return itemsize(PJRT_CODES[dtype]) * math.prod(shape)


def describe_placement(answers: Answers, compiled: Compiled, devices: Sequence[Device]) -> None:
    """Sets the answers about the devices that an executable is loaded on.

    Args:
        answers: receives the answers.
        compiled: the serialised part of the executable.
        devices: the device of each partition, or of each replica.
    """
    library = trampoline()
    prefix = "PJRT_LoadedExecutable"
    logical_ids = (struct("PJRT_LogicalDeviceIds") * len(devices))()
    numbers = [
        (replica, partition)
        for partition, replicas in enumerate(compiled.assignment)
        for replica in range(len(replicas))
    ]
    for ids, (replica, partition) in zip(logical_ids, numbers, strict=True):
        ids.replica, ids.partition = replica, partition
    answers.set(
        f"{prefix}_GetDeviceAssignment",
        serialized_bytes=write_assignment(compiled.assignment),
        serialized_device_assignment=library.EVENT,
        serialized_device_assignment_deleter=library.NOTHING,
    )
    answers.set(
        f"{prefix}_AddressableDevices",
        addressable_devices=answers.handles([device.handle for device in devices]),
        num_addressable_devices=len(devices),
    )
    answers.set(
        f"{prefix}_AddressableDeviceLogicalIds",
        addressable_device_logical_ids=answers.pointer(logical_ids),
        num_addressable_device_logical_ids=len(devices),
    )
    answers.set(f"{prefix}_Fingerprint", executable_fingerprint=compiled.fingerprint)
