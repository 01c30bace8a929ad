"""Compiles StableHLO that JAX passes with a ``CompileOptionsProto`` to the serialisable part of an executable."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tt_xla import __version__
from tt_xla.errors import OptionError
from tt_xla.frontends.jax import inspections
from tt_xla.frontends.jax.model_libraries import recognise_models
from tt_xla.frontends.jax.pjrt.buffer import Order
from tt_xla.frontends.jax.pjrt.client import MEMORY_KINDS, Client, Topology, check_device, count_of
from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.structs import bytes_at, struct, text_at
from tt_xla.frontends.jax.pjrt.wire import CompileRequest, OptionValue, read_compile_options
from tt_xla.frontends.jax.trust import is_own
from tt_xla.ir.program import Program
from tt_xla.log import logger
from tt_xla.options import CompileOptions
from tt_xla.target import Target

FROM_JAX = "the program from JAX"
"""How error messages call the module that JAX passes."""


class Compiled(msgspec.Struct, frozen=True):
    """The serialised part of an executable.

    Attributes:
        version: the version of tt-xla that compiled it.
        program: a serialised :class:`~tt_xla.ir.program.Program`.
        module: StableHLO that describes the program to JAX, of
            :func:`~tt_xla.frontends.jax.pjrt.optimized.optimized_module`.
        options: the ``CompileOptionsProto`` as JAX passed it.
        assignment: for each partition, the id of the device of each replica.
        donated: indices of the arguments whose memory the program may reuse.
        parameter_memories: kind of memory of each argument.
        output_memories: kind of memory of each result.
        parameter_layouts: layout of each argument.
        output_layouts: layout of each result.
    """

    version: str
    program: bytes
    module: bytes
    options: bytes
    assignment: tuple[tuple[int, ...], ...]
    donated: tuple[int, ...]
    parameter_memories: tuple[str, ...]
    output_memories: tuple[str, ...]
    parameter_layouts: tuple[Order, ...]
    output_layouts: tuple[Order, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the program, in hexadecimal."""
        return hashlib.sha256(self.program).hexdigest()


def read_request(args: Any) -> tuple[bytes, bytes]:
    """Returns the bytes of the program and of the compile options.

    Raises:
        PluginError: the program is not MLIR.
    """
    passed_program = struct("PJRT_Program").from_address(args.program)
    program_format = text_at(passed_program.format, passed_program.format_size)
    if program_format != "mlir":
        raise PluginError("INVALID_ARGUMENT", f"The program has format '{program_format}'; expected 'mlir'.")
    recognise_models()  # the user may have imported a model library after the plugin was registered
    return (
        bytes_at(passed_program.code, passed_program.code_size),
        bytes_at(args.compile_options, args.compile_options_size),
    )


def compile_bytes(
    client: Client | Topology, code: bytes, options: bytes, modules: dict[str, str] | None = None
) -> tuple[Compiled, Program]:
    """Compiles a program that JAX passes.

    Args:
        client: the client or topology to compile for.
        code: portable StableHLO artifact.
        options: ``CompileOptionsProto``.
        modules: receives the module's text after each stage if the options ask for generated source.

    Returns:
        The serialised part of the executable, and the program in it.

    Raises:
        PluginError: the program or its options are damaged, or the system has too few chips.
        CompileError: the program cannot be compiled.
        OptionError: an option is unknown or has a bad value.
    """
    from tt_xla.compiler import compile_module
    from tt_xla.compiler.pipeline import split_arguments
    from tt_xla.compiler.sharding import localise
    from tt_xla.compiler.stablehlo import DONATION, parse_module
    from tt_xla.compiler.stablehlo.signature import entry_function
    from tt_xla.compiler.stablehlo.untrusted import checked
    from tt_xla.frontends.jax.pjrt.layouts import entry_layouts
    from tt_xla.frontends.jax.pjrt.optimized import optimized_module
    from tt_xla.frontends.jax.pjrt.prepare import replace_tokens
    from tt_xla.ir.hlo_sharding import hlo_sharding

    request = read_compile_options(options)
    assignment = assign(request, client.target)
    module = parse_module(code if is_own() else checked(code, FROM_JAX), FROM_JAX)
    replace_tokens(module)
    function = entry_function(module)
    parameter_layouts, output_layouts = entry_layouts(function)
    arguments, results = _attributes_of(function, "arg_attrs"), _attributes_of(function, "res_attrs")
    parsed = _checked_auto_sharding(CompileOptions.parse(_own(request.options)), request, client.target)
    name = _text(module.operation, "sym_name") or "main"
    devices = [number for replicas in assignment for number in replicas]
    if parsed.auto_sharding:
        module = split_arguments(module, parsed, client.target, name, devices)
    localised = localise(module, client.target.chips)
    if localised is not None:
        for key, sharding in localised.inspected.items():
            inspections.report(key, hlo_sharding(sharding, localised.mesh))
    chosen = module if localised is None else localised
    program = compile_module(
        chosen,
        parsed,
        client.target,
        name=name,
        dumps=modules if parsed.generates_source else None,
        devices=devices,
    )
    if request.chips != (1 if program.mesh is None else program.mesh.size):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"The program is for {request.chips} devices, and its module for "
            f"{1 if program.mesh is None else program.mesh.size}.",
        )
    compiled = Compiled(
        version=__version__,
        program=program.to_bytes(),
        # Replicas have no shardings.
        module=optimized_module(module if request.replicas > 1 else chosen, parameter_layouts, output_layouts),
        options=options,
        assignment=assignment,
        donated=tuple(index for index, attrs in enumerate(arguments) if any(name in attrs for name in DONATION)),
        parameter_memories=_memory_kinds(arguments, len(program.arguments)),
        output_memories=_memory_kinds(results, len(program.results)),
        parameter_layouts=parameter_layouts,
        output_layouts=output_layouts,
    )
    return compiled, program


def _own(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Returns the options without XLA's flags. Programs set those for every backend; ``tt`` ignores them."""
    for name in options:
        if name.startswith("xla_"):
            logger().info("compile option %s is a flag of XLA, which 'tt' ignores", name)
    return {name: value for name, value in options.items() if not name.startswith("xla_")}


def _checked_auto_sharding(options: CompileOptions, request: CompileRequest, target: Target) -> CompileOptions:
    """Returns the options; without ``auto_sharding`` for a program of one device, if only the environment asks for it.

    Raises:
        OptionError: the program's own options ask for it, and JAX compiles the program for one device of several.
    """
    if not options.auto_sharding or request.partitions > 1:
        return options
    if "auto_sharding" in request.options and target.chips > 1:
        raise OptionError(
            f"auto_sharding={options.auto_sharding} splits arguments over the devices of a mesh; JAX compiles this "
            f"program for one of the {target.chips} devices of {target.name}.",
            hint="Call and lower the function under `with jax.set_mesh(mesh)`, whose axes have the type Auto.",
        )
    return dataclasses.replace(options, auto_sharding="")


def assign(request: CompileRequest, target: Target) -> tuple[tuple[int, ...], ...]:
    """Returns for each partition of a program the ids of its replicas' devices: those requested, else the first ones.

    Raises:
        PluginError: the program has several replicas of several partitions, or the system lacks a chip that it needs.
    """
    if request.replicas > 1 and request.partitions > 1:
        raise PluginError(
            "UNIMPLEMENTED",
            f"The program has {request.replicas} replicas of {request.partitions} partitions; 'tt' runs programs with "
            "several replicas or several partitions.",
            hint="Use jax.jit with shardings, or jax.shard_map, over a mesh of all devices.",
        )
    if request.chips > target.chips:
        raise PluginError(
            "INVALID_ARGUMENT",
            f"The program is for {request.chips} devices; system {target.name} has {count_of(target.chips)}.",
            hint="Make the mesh smaller, or set TTXLA_SYSTEM to a larger system (tt-xla info lists them).",
        )
    first = range(request.chips)
    assignment = request.assignment or ((tuple(first),) if request.replicas > 1 else tuple((chip,) for chip in first))
    devices = [number for replicas in assignment for number in replicas]
    if len(assignment) != request.partitions or len(devices) != request.chips or len(set(devices)) < len(devices):
        kind = "replicas" if request.replicas > 1 else "partitions"
        raise PluginError(
            "INVALID_ARGUMENT",
            f"The program has {request.chips} {kind}, and is assigned to devices {devices}; "
            "expected as many different devices.",
        )
    for number in devices:
        check_device(target, number)
    return assignment


def _text(op: Any, name: str) -> str:
    return op.attributes[name].value if name in op.attributes else ""


def _attributes_of(function: Any, name: str) -> list[Any]:
    return list(function.attributes[name]) if name in function.attributes else []


def _memory_kinds(attributes: Sequence[Any], count: int) -> tuple[str, ...]:
    """Returns the kind of memory of each argument or result; ``device`` where none is given or the kind is unknown."""
    kinds = [attrs["mhlo.memory_kind"].value if "mhlo.memory_kind" in attrs else "device" for attrs in attributes]
    kinds = [kind if kind in MEMORY_KINDS else "device" for kind in kinds]
    return tuple(kinds) if len(kinds) == count else ("device",) * count
