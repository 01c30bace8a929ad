"""The dynamo backend ``tt``: what ``torch.compile(model, backend="tt")`` calls."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch._dynamo import trace_rules
from torch._dynamo.eval_frame import skip_code
from torch._dynamo.exc import ShortenTraceback
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.nn.attention import SDPBackend, sdpa_kernel

from tt_xla.codegen.export import Part, Whole
from tt_xla.errors import OptionError, ResourceExhaustedError, TTXLAError
from tt_xla.frontends.torch import program_cache, settings
from tt_xla.frontends.torch.aten.decompositions import decompositions
from tt_xla.frontends.torch.bytecode import write_less
from tt_xla.frontends.torch.device import DEVICE_TYPE, Mold, buffer_of, new_version, register
from tt_xla.frontends.torch.device.buffers import MEMORY, Seen, find, find_again
from tt_xla.frontends.torch.device.geometry import contiguous_strides
from tt_xla.frontends.torch.dynamic import allow_recompiles, fix_marked_sizes
from tt_xla.frontends.torch.graph import run_passes
from tt_xla.frontends.torch.lowering import Argument, Lowered, RefusedError, lower_to_stablehlo, source_line
from tt_xla.frontends.torch.rng_state import describe_random_ops
from tt_xla.frontends.torch.saved import lay_out_saved, report_strides, take_strides
from tt_xla.frontends.torch.staged_source import Call, ExportedStages, part_of
from tt_xla.frontends.torch.stages import DeviceStage, StagedExecutor, cut, host_nodes
from tt_xla.frontends.torch.unwrapped import needs_no_wrapper, unwrapped
from tt_xla.ir.program import Program, Role
from tt_xla.options import COMPILE_OPTIONS, CompileOptions, selected_system

if TYPE_CHECKING:
    from tt_xla.runtime.executable import Executable
    from tt_xla.runtime.weights import Spare

Callee = Callable[..., list[torch.Tensor]]
"""Tensors, their versions, and perhaps the positions of those that may be written to, to results."""


class Loaded(NamedTuple):
    """A program that can be run."""

    run: Callee
    written: frozenset[int] = frozenset()
    """The arguments that it writes to."""
    executable: Executable | None = None
    """What runs it, where that may keep parameters in a form of its own."""


TORCH_OPTIONS = {
    "tt_enable_composite_ops": True,
    "tt_enable_torch_fx_fusion_pass": True,
    "tt_lazy_execution": False,
    "tt_legacy_compile": False,
    "tt_use_aot_autograd": True,
}
"""Options of upstream's torch backend, with their defaults. The first two switch passes off; there is one way of
compiling here, which meets the others."""

MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"enable_trace": True},
    "max-autotune-no-cudagraphs": {"optimization_level": 2},
    "max-autotune": {"optimization_level": 2, "enable_trace": True},
}
"""What torch.compile's modes mean here: a captured trace is what a CUDA graph is to others."""

# Eager kernels may run while dynamo looks for frames to compile; a user's model may call the rest.
for _part in ("aten", "device", "outputs", "unwrapped"):
    trace_rules.add(f"tt_xla.frontends.torch.{_part}")


def _skip_generated_code() -> None:
    """The same for what ``dataclass`` writes, which belongs to no file that dynamo could know."""
    modules = [module for name, module in sys.modules.items() if name.startswith("tt_xla.frontends.torch.device.")]
    for kind in {kind for module in modules for kind in vars(module).values() if dataclasses.is_dataclass(kind)}:
        skip_code(kind.__init__.__code__)


_skip_generated_code()

_PROGRAMS: dict[tuple[str, CompileOptions, str], Program] = {}
_SOURCE_PART = re.compile(r"\._(?:modules|parameters|buffers)\[['\"]([^'\"]*)['\"]\]|\.(\w+)|\[['\"]?(\w+)['\"]?\]")


def tt(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[torch.Tensor],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compiles a graph that dynamo captured; inference and training, inputs on ``tt`` or on the CPU.

    Args:
        mode: one of :data:`MODES`, a name for some options. Torch takes either a mode or options.
        options: compile options for this model only, on top of the process's, and :data:`TORCH_OPTIONS`.

    Raises:
        OptionError: an option is unknown or has a bad value.
        CompileError: the graph, or a use of an op in it, cannot be compiled.
    """
    register()
    with _surfacing():
        allow_recompiles(example_inputs)
        own = _mode_options(mode) if mode else own_options(options or {})
        settings.current().with_own(own)
        write_less(graph_module)
        arguments = _describe_own(graph_module) + _describe_inputs(graph_module, example_inputs)
        run_passes(graph_module, TORCH_OPTIONS | dict(options or {}))
        forward = functools.partial(_compile_graph, arguments=arguments, own=own)
        direct: list[Callable[..., Any]] = []

        def inference(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[[list[Any]], Sequence[Any]]:
            call = forward(graph, inputs)
            if needs_no_wrapper(graph, len(example_inputs)):
                direct.append(unwrapped(call))
            return call

        def training(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[[list[Any]], Sequence[Any]]:
            lay_out_saved(graph)
            call = forward(graph, inputs)
            report_strides(graph)
            return call

        def backward(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[[list[Any]], Sequence[Any]]:
            take_strides(graph, inputs)
            return _compile_graph(graph, inputs, arguments=None, own=own)

        # Torch's own functions that contain an attention would pick a fused kernel for CPU tensors.
        with sdpa_kernel(SDPBackend.MATH):
            compiled = aot_module_simplified(
                graph_module,
                example_inputs,
                fw_compiler=training,
                bw_compiler=backward,
                inference_compiler=inference,
                decompositions=decompositions(),
                keep_inference_input_mutations=False,
            )
        fix_marked_sizes()
        return direct[0] if direct else compiled


class _surfacing:
    """Lets our errors reach the user as they are, where dynamo would wrap them in ``BackendCompilerFailed``."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, TTXLAError) and not isinstance(error, ShortenTraceback):
            error.__class__ = _surfacing_type(type(error))
            error.first_useful_frame = None  # type: ignore[attr-defined]
        _as_torch_error(error)


@functools.cache
def _surfacing_type(kind: type[TTXLAError]) -> type[TTXLAError]:
    """The same error, which dynamo passes on as one of its own."""
    return type(kind.__name__, (kind, ShortenTraceback), {"__module__": kind.__module__})


def _as_torch_error(error: BaseException | None) -> None:
    """Makes an error about memory one that ``except torch.OutOfMemoryError`` catches."""
    if isinstance(error, ResourceExhaustedError) and not isinstance(error, torch.OutOfMemoryError):
        error.__class__ = _out_of_memory_type(type(error))


@functools.cache
def _out_of_memory_type(kind: type[TTXLAError]) -> type[TTXLAError]:
    return type(kind.__name__, (kind, torch.OutOfMemoryError), {"__module__": kind.__module__})


def _mode_options(mode: str) -> dict[str, Any]:
    if mode not in MODES:
        raise OptionError(f"torch.compile mode '{mode}' is unknown.", hint=f"Known are: {', '.join(MODES)}.")
    return MODES[mode]


def own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The compile options among the options of one ``torch.compile`` call."""
    own = {}
    for name, value in options.items():
        if name in TORCH_OPTIONS:
            if not isinstance(value, bool):
                raise OptionError(f"torch.compile option '{name}' was given {value!r}; it takes True or False.")
        elif name.startswith("tt_") and name not in COMPILE_OPTIONS:
            raise OptionError(
                f"torch.compile option '{name}' is unknown.", hint=f"Known are: {', '.join(sorted(TORCH_OPTIONS))}."
            )
        else:
            own[name] = value
    return own


def _describe_own(graph_module: torch.fx.GraphModule) -> list[Argument]:
    """What the graph module holds itself, which AOT puts before the inputs."""
    parameters = [Argument(name, Role.PARAMETER) for name, _ in graph_module.named_parameters(remove_duplicate=False)]
    buffers = [Argument(name, Role.CONSTANT) for name, _ in graph_module.named_buffers(remove_duplicate=False)]
    return parameters + buffers


def _describe_inputs(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> list[Argument]:
    """Names and roles by dynamo's sources: ``L['self']._modules['fc']._parameters['weight']`` is ``fc.weight``."""
    described: list[Argument] = []
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    users = 0
    for node, example in zip(placeholders, example_inputs, strict=True):
        source = getattr(node, "_dynamo_source", None)
        text = "" if source is None else source.name
        is_parameter = isinstance(example, torch.nn.Parameter)
        if is_parameter or "_buffers[" in text or "_parameters[" in text:
            parts = ["".join(part) for part in _SOURCE_PART.findall(text.partition("]")[2])]
            name = ".".join(part for part in parts if part) or node.name
            described.append(Argument(name, Role.PARAMETER if is_parameter else Role.CONSTANT))
        else:
            described.append(Argument(f"args_{users}"))
            users += isinstance(example, torch.Tensor)
    return described


def _roles(graph_module: torch.fx.GraphModule, arguments: list[Argument] | None) -> list[Argument] | None:
    """Roles of the AOT graph's inputs, which stand in dynamo's order; a buffer that is written is an input."""
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    if arguments is None or len(arguments) != len(placeholders):
        return None
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    mutated = set(metadata.mutated_inp_runtime_indices) if metadata else set()
    return [
        Argument(argument.name, written=True) if position in mutated else argument
        for position, argument in enumerate(arguments)
    ]


def _compile_graph(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    arguments: list[Argument] | None,
    own: Mapping[str, Any],
) -> Callable[[list[Any]], Sequence[Any]]:
    describe_random_ops(graph_module)
    described = _roles(graph_module, arguments)
    refused: set[str] = set()
    while True:
        try:
            return _compile_stages(graph_module, described, host_nodes(graph_module, refused), own)
        except RefusedError as error:  # this one use of an op runs on the host
            refused.add(error.node)


def _compile_stages(
    graph_module: torch.fx.GraphModule,
    arguments: list[Argument] | None,
    host: set[torch.fx.Node],
    own: Mapping[str, Any],
) -> Callable[[list[Any]], Sequence[Any]]:
    if not host:
        given = [dataclasses.replace(argument, given=argument.written) for argument in arguments or ()] or None
        return Executor(lower_to_stablehlo(graph_module, given), own)
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    described = dict(zip(placeholders, arguments, strict=True)) if arguments else {}

    stages = cut(graph_module, host)
    on_host = [node for node in stages if isinstance(node, torch.fx.Node)]
    whole = Whole([(str(node.target), source_line(node)) for node in on_host if node.target is not operator.getitem])
    calls: dict[DeviceStage, Call] = {}

    def compile_stage(stage: DeviceStage) -> Callable[[list[Any]], Sequence[Any]]:
        given = [described.get(node, Argument(node.name)) for node in stage.inputs]
        lowered = lower_to_stablehlo(stage.graph, given)
        part = part_of(whole, f"program_{len(calls)}", stage, lowered, described)
        calls[stage] = Call(lowered, part)
        return Executor(lowered, own, part)

    executor = StagedExecutor(graph_module, stages, compile_stage)
    return ExportedStages(executor, stages, calls, described, whole, own)


class Executor:
    """One compiled graph: gathers host tensors, runs the executable, wraps the results."""

    _boxed_call = True  # the list of arguments is ours to empty

    def __init__(self, lowered: Lowered, own: Mapping[str, Any], part: Part | None = None) -> None:
        self._own, self._part = own, part
        self._module = lowered.module
        self._tensors = lowered.tensors
        self._checks = lowered.checks
        self._views = lowered.views
        self._numbers = lowered.numbers
        self._permuted = [(index, order) for index, order in enumerate(lowered.given) if order is not None]
        self._extras = [
            (make, new_version() if constant else None)
            for make, constant in zip(lowered.extras, lowered.constant, strict=True)
        ]
        self._outputs = lowered.outputs
        self._wrap = [_wrapper(*pair) for pair in zip(lowered.results, lowered.orders, strict=True)]
        self._as_they_are = not any(self._wrap)
        self._in_order = [order is None for order in lowered.orders]
        self._straight = lowered.outputs == [("result", i) for i in range(len(lowered.results))]
        self._settings: settings.Settings | None = None
        self._call: Callee | None = None
        self._written: frozenset[int] = frozenset()
        self._executable: Executable | None = None
        self._last: list[Seen | None] = [None] * len(self._tensors)
        self._let_go: set[int] = set()
        """Of whose bytes it did once."""
        if lowered.results:
            self._prepare()

    def _prepare(self) -> None:
        current = settings.current()
        options = current.with_own(self._own)
        with unset_fake_temporarily():  # compile callbacks run where every new tensor is a fake one
            self._call, self._written, self._executable = compile_and_load(self._module, options, self._part)
        self._settings, self._last = current, [None] * len(self._tensors)

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        results = self._run(args) if self._wrap else []
        if self._straight:
            args.clear()
            return results
        outputs: list[Any] = []
        for kind, value in self._outputs:
            if kind == "result":
                outputs.append(results[value])
            elif kind == "input":
                outputs.append(args[value])
            elif kind == "number":
                outputs.append(value(args))
            elif kind == "view":
                outputs.append(value.of(args[value.index] if value.of_input else results[value.index]))
            else:
                outputs.append(value)
        args.clear()
        return outputs

    def _run(self, args: list[Any]) -> list[torch.Tensor]:
        if self._settings is not settings.current():
            self._prepare()
        tensors: list[torch.Tensor] = [args[position] for position in self._tensors]
        versions: list[int | None] = [None] * len(tensors)
        given: dict[int, torch.Tensor] = {}
        for index in find_again(self._last, tensors, versions):
            tensor = tensors[index]
            if tensor.is_cpu:
                continue
            if index in self._written and tensor.is_contiguous():
                given[index] = tensor
                buffer = buffer_of(tensor)
                tensors[index] = buffer.writable_alias(tensor)
            elif index in self._let_go and (stand_in := self._stand_in(index, tensor)) is not None:
                buffer = buffer_of(tensor)
                tensors[index] = stand_in
            else:
                buffer, tensors[index], self._last[index] = find(tensor)
            versions[index] = buffer.version
        for check in self._checks:
            check(tensors, versions)
        for index in self._views:
            tensors[index] = tensors[index].resolve_conj().resolve_neg()
        for index, order in self._permuted:
            tensors[index] = tensors[index].permute(order)
        for make, version in self._extras:
            tensors.append(make())
            versions.append(version)
        for read in self._numbers:
            tensors.append(torch.tensor(read(args), device="cpu"))
            versions.append(None)
        assert self._call is not None
        try:
            results = self._call(tensors, versions, given)
        except ResourceExhaustedError as error:
            _as_torch_error(error)
            raise
        finally:
            for tensor in given.values():
                buffer_of(tensor).written()
        if self._executable is not None and (spare := self._executable.spare()):
            self._leave(self._executable, spare, args)
        if self._as_they_are:
            return results
        if given:
            inputs = {tensors[index].data_ptr(): tensor for index, tensor in given.items()}
            triples = zip(results, self._wrap, self._in_order, strict=True)
            return [_placed(result, wrap, inputs, in_order=in_order) for result, wrap, in_order in triples]
        pairs = zip(results, self._wrap, strict=True)
        return [result if wrap is None else wrap(result) for result, wrap in pairs]

    def _leave(self, executable: Executable, spare: Mapping[int, Spare], args: list[Any]) -> None:
        """Lets go of the bytes of parameters that the program keeps in a form of its own."""
        permuted = {index for index, _ in self._permuted}
        for index, (version, stand_in, restore) in spare.items():
            tensor = args[self._tensors[index]] if index < len(self._tensors) and index not in permuted else None
            if tensor is not None and not tensor.is_cpu and buffer_of(tensor).version == version:
                buffer_of(tensor).leave(executable, stand_in, restore)
                self._let_go.add(index)

    def _stand_in(self, index: int, tensor: torch.Tensor) -> torch.Tensor | None:
        """What may be passed for bytes that are away, where it is this program that keeps them."""
        executable, away = self._executable, buffer_of(tensor).away
        if executable is None or away is None or away.program is not executable:
            return None
        return away.stand_in if executable.stands(index, away.stand_in) else None


def _placed(
    result: torch.Tensor,
    wrap: Callable[[torch.Tensor], torch.Tensor] | None,
    inputs: Mapping[int, torch.Tensor],
    *,
    in_order: bool,
) -> torch.Tensor:
    """A result wrapped; the input whose memory it is, so that whoever copies it there has nothing to do."""
    written = inputs.get(result.data_ptr())
    if written is not None and wrap is not None and in_order and result.shape == written.shape:
        return written
    return result if wrap is None else wrap(result if written is None else result.clone())


def _wrapper(fake: torch.Tensor, order: Sequence[int] | None) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """What makes the graph's result of a contiguous one of the program; None where they are the same.

    Args:
        fake: the result that is wanted.
        order: how the program permuted its dimensions.
    """
    inverse = None if order is None else [order.index(axis) for axis in range(len(order))]
    if fake.device.type != DEVICE_TYPE:
        return None if inverse is None else lambda result: result.permute(inverse)
    size = [int(fake.shape[axis]) for axis in order] if order is not None else [int(n) for n in fake.shape]
    stride = contiguous_strides(size)
    return Mold(fake.dtype, fake.shape, stride if inverse is None else [stride[axis] for axis in inverse]).lift


def compile_and_load(module: Any, options: CompileOptions, part: Part | None = None) -> Loaded:
    """StableHLO to something that can be called. The one place where the frontend meets compiler and runtime."""
    from tt_xla.codegen.export import exporting
    from tt_xla.compiler import compile_module
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    system = selected_system()
    key = (hashlib.sha256(str(module).encode()).hexdigest(), options, system)
    modules: dict[str, str] = {}
    cache = None if options.export_path else program_cache.current()  # modules are exported when they are compiled
    program = None if options.generates_source else _PROGRAMS.pop(key, None)
    if program is None and cache is not None:
        program = cache.load(key)
    if program is None:
        wanted = modules if options.generates_source or cache is not None else None
        program = compile_module(module, options, load_target(system), dumps=wanted)
        if cache is not None:
            cache.store(key, program, modules)
    _PROGRAMS[key] = program
    device = get_device()
    device.resident = MEMORY.current
    written = frozenset(at for at, argument in enumerate(program.arguments) if argument.written)
    executable = device.load(program)
    return Loaded(exporting(program, modules, executable.run, part), written, executable)


def compiled_programs() -> list[Program]:
    """The programs compiled in this process, the one that was asked for last at the end."""
    return list(_PROGRAMS.values())


def clear_programs() -> None:
    """Forgets every compiled program; models compile again at their next call."""
    _PROGRAMS.clear()
    settings.renew()


__all__ = ["TORCH_OPTIONS", "Executor", "clear_programs", "compiled_programs", "tt"]
