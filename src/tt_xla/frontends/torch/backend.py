"""The dynamo backend ``tt``: the function that ``torch.compile(model, backend="tt")`` calls."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tt_xla.codegen.export import StagedGraph
from tt_xla.environment import keeps_dynamo_defaults
from tt_xla.errors import OptionError
from tt_xla.frontends.torch import frame_settings, settings
from tt_xla.frontends.torch.aten.decompositions import decompositions
from tt_xla.frontends.torch.capacities import CapacityExecutor, has_symbols
from tt_xla.frontends.torch.compilation import clear_programs, compiled_programs
from tt_xla.frontends.torch.device import metrics, placements, register
from tt_xla.frontends.torch.dynamic import fix_marked_sizes, report_recompilation
from tt_xla.frontends.torch.errors import in_torch_classes
from tt_xla.frontends.torch.executor import Executor
from tt_xla.frontends.torch.graph import run_passes
from tt_xla.frontends.torch.graph.marks import renamed_groups
from tt_xla.frontends.torch.graph.repeats import find_repeats
from tt_xla.frontends.torch.graph.shardings import marking, take_argument_marks
from tt_xla.frontends.torch.graph_cache import caching, take_loaded
from tt_xla.frontends.torch.graph_chips import chips_of
from tt_xla.frontends.torch.graph_inputs import aot_roles, describe_attributes, describe_inputs
from tt_xla.frontends.torch.lowering import Argument, RefusedError, lower_to_stablehlo, source_line
from tt_xla.frontends.torch.private.dynamo import config, count_aot_autograd, never_trace_module
from tt_xla.frontends.torch.private.dynamo_patches import current_compilation
from tt_xla.frontends.torch.private.functorch import aot_module_simplified
from tt_xla.frontends.torch.private.guards import is_first_call_of_fakes
from tt_xla.frontends.torch.private.names import optional
from tt_xla.frontends.torch.private.patches import compiling
from tt_xla.frontends.torch.rng_state import describe_random_ops
from tt_xla.frontends.torch.saved import lay_out_saved, report_strides, take_strides
from tt_xla.frontends.torch.staged_source import Call, ExportedStages, graph_program
from tt_xla.frontends.torch.stages import DeviceStage, StagedExecutor, cut, host_nodes
from tt_xla.frontends.torch.torch_options import TORCH_OPTIONS, compile_options, mode_options
from tt_xla.frontends.torch.unwrapped import unwrapped, updated_inputs
from tt_xla.log import logger
from tt_xla.progress import show_progress
from tt_xla.stage_times import AUTOGRAD, stage

BoxedCall = Callable[[list[Any]], Sequence[Any]]
"""A compiled graph: takes a list of arguments, which it may empty, and returns the outputs."""

# Dynamo must not trace these: eager kernels run while it looks for frames to compile, and a model may call the others.
for _name in ("aten", "device", "distributed", "outputs", "private", "unwrapped"):
    never_trace_module(f"tt_xla.frontends.torch.{_name}")


def _name_generated_code() -> None:
    """Gives the ``__init__`` methods that ``dataclass`` writes the file of their class, by which dynamo skips them."""
    modules = [module for name, module in sys.modules.items() if name.startswith("tt_xla.frontends.torch.device.")]
    classes = {item for module in modules for item in vars(module).values() if dataclasses.is_dataclass(item)}
    for item in classes:
        code = item.__init__.__code__
        item.__init__.__code__ = code.replace(co_filename=str(sys.modules[item.__module__].__file__))


_name_generated_code()


def tt(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[torch.Tensor],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compiles a graph that dynamo captured, for inference or training, with inputs on ``tt`` or on the CPU.

    Args:
        graph_module: the graph, before autograd.
        example_inputs: fake or real inputs of the graph.
        mode: one of :data:`~.torch_options.MODES`. PyTorch accepts either a mode or options.
        options: compile options for this model alone, on top of the process's, and
            :data:`~.torch_options.TORCH_OPTIONS`.

    Returns:
        A function of the graph's inputs that returns its outputs.

    Raises:
        OptionError: an option is unknown or has a bad value.
        CompileError: the graph, or a use of an op in it, cannot be compiled.
    """
    register()
    _check_minifier()
    with in_torch_classes(), compiling(), stage(AUTOGRAD):
        own = mode_options(mode) if mode else compile_options(options or {})
        settings.current().with_own(own)  # raises if an option is bad
        frame_settings.apply()
        report_recompilation(example_inputs)
        arguments = describe_attributes(graph_module) + describe_inputs(graph_module, example_inputs)
        marks = take_argument_marks(graph_module)
        run_passes(graph_module, TORCH_OPTIONS | dict(options or {}))
        forward = functools.partial(_compile_graph, arguments=arguments, own=own)
        direct: list[Callable[..., Any]] = []
        direct_graph: list[Executor] = []

        def inference(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> BoxedCall:
            call = forward(graph, inputs)
            updated = updated_inputs(graph, len(example_inputs))
            if updated is not None:
                direct.append(unwrapped(call, updated))
                if isinstance(call, Executor):
                    call.updated = updated
                    direct_graph.append(call)
            return call

        def training(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> BoxedCall:
            if has_symbols(graph):
                return forward(graph, inputs)
            lay_out_saved(graph)
            call = forward(graph, inputs)
            report_strides(graph)
            return call

        @functools.partial(torch.compiler.disable, reason="the compiler of backward passes")
        def backward(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> BoxedCall:
            """Dynamo watches the frames of a compiled function that calls ``backward``. It must neither trace the
            compiler, which runs in that call, nor the compiled pass."""
            take_strides(graph, inputs)
            return _undisturbed(_compile_graph(graph, inputs, arguments=None, own=own))

        # PyTorch's own functions that contain an attention would select a fused kernel for CPU tensors.
        with (
            sdpa_kernel(SDPBackend.MATH),
            caching(graph_module, arguments, own, options or {}, is_marked=bool(marks)) as cached,
            _stamping(graph_module),
        ):
            count_aot_autograd()
            compiled = aot_module_simplified(
                graph_module,
                example_inputs,
                fw_compiler=training,
                bw_compiler=backward,
                inference_compiler=inference,
                decompositions=decompositions(),
                keep_inference_input_mutations=False,
            )
            if cached and (loaded := take_loaded()) and (updated := loaded[0].updated) is not None:
                direct.append(unwrapped(loaded[0], updated))
                direct_graph.append(loaded[0])
        fix_marked_sizes()
        is_kept = cached is not None and cached.has_key and direct_graph and not marks
        if (compilation := current_compilation()) is not None:
            compilation.add_graph(direct_graph[0] if is_kept else None)
        call = direct[0] if direct and not is_first_call_of_fakes() else compiled
        call = marking(call, marks) if marks else call
        return _as_module(call, graph_module) if config.repro_after else call


def _stamping(graph_module: torch.fx.GraphModule) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which one of several equal layers is traced, and the others become copies of it."""
    module = None if keeps_dynamo_defaults() else optional("stamping")
    if module is None:
        return contextlib.nullcontext()
    return module.stamping(graph_module, find_repeats(graph_module.graph), renamed_groups)


def _check_minifier() -> None:
    """Checks which graphs PyTorch's minifier is to reduce.

    Raises:
        OptionError: it is to reduce those after AOTAutograd. Its scripts compile these with inductor, whatever the
            backend (``torch/_dynamo/repro/after_aot.py``), so they would not show what fails on ``tt``.
    """
    if config.repro_after == "aot":
        raise OptionError(
            "TORCHDYNAMO_REPRO_AFTER is 'aot', and PyTorch's scripts for it run inductor, not backend 'tt'.",
            hint="Use TORCHDYNAMO_REPRO_AFTER=dynamo for a graph of PyTorch, or 'tt-xla reduce SCRIPT' for StableHLO.",
        )


def _as_module(call: Callable[..., Any], graph_module: torch.fx.GraphModule) -> Callable[..., Any]:
    """Gives a compiled graph what PyTorch's minifier reads: the methods of its module, and how it takes arguments.

    AOTAutograd marks its function of single arguments as one of a list, because it wraps one of a list.
    """
    vars(call).update({name: getattr(graph_module, name) for name in _MODULE_METHODS} | {"_boxed_call": False})
    return call


_MODULE_METHODS = ("zero_grad", "named_parameters", "named_buffers")


def _undisturbed(call: BoxedCall) -> BoxedCall:
    """Returns a compiled graph that dynamo does not trace, as PyTorch's own wrapper of backward compilers does."""

    def run(arguments: list[Any]) -> Sequence[Any]:
        return call(arguments)

    # What AOTAutograd reads: that the call may empty the list of arguments, and whether and how its cache stores it.
    attributes = {"_boxed_call": True, "_time_taken_ns": 0, "__wrapped__": call}
    attributes["_fx_graph_cache_key"] = getattr(call, "_fx_graph_cache_key", None)
    vars(run).update(attributes)
    return torch.compiler.disable(run, reason="a compiled backward pass")


def _compile_graph(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    arguments: list[Argument] | None,
    own: Mapping[str, Any],
) -> BoxedCall:
    """Compiles one of AOTAutograd's graphs. Uses of ops that a lowering rule refuses run on the host."""
    describe_random_ops(graph_module)
    described = aot_roles(graph_module, arguments)
    if has_symbols(graph_module) and (call := _compile_for_capacities(graph_module, described, own)) is not None:
        return call
    refused: set[str] = set()
    while True:
        try:
            return _compile_stages(graph_module, described, host_nodes(graph_module, refused), own)
        except RefusedError as error:
            refused |= error.nodes


def _compile_for_capacities(
    graph_module: torch.fx.GraphModule, arguments: list[Argument] | None, own: Mapping[str, Any]
) -> BoxedCall | None:
    """Compiles a graph with symbolic sizes for capacities; None if it has to be compiled for each size."""
    options = settings.current().with_own(own)
    is_source = options.generates_source or options.loads_source  # which has the sizes that it was made for
    if (
        is_source
        or options.capacity_steps == "off"
        or len(chips_of(graph_module.graph.nodes)) > 1
        or placements.in_use()
    ):
        return None
    try:
        return CapacityExecutor(graph_module, arguments, own)
    except Exception as error:  # what is wrong with the graph itself is raised where it is compiled for its sizes
        logger().info("A graph with sizes that change is compiled for each of them: %s", error)
        return None


def _compile_stages(
    graph_module: torch.fx.GraphModule,
    arguments: list[Argument] | None,
    host: set[torch.fx.Node],
    own: Mapping[str, Any],
) -> BoxedCall:
    """Compiles a graph as one program, or as several programs with the nodes ``host`` between them."""
    if not host and len(chips_of(graph_module.graph.nodes)) < 2:
        donating = [dataclasses.replace(argument, donated=argument.written) for argument in arguments or ()] or None
        metrics.sample(metrics.ALIASES, sum(argument.donated for argument in donating or ()))
        return Executor(lower_to_stablehlo(graph_module, donating), own)
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    described = dict(zip(placeholders, arguments, strict=True)) if arguments else {}

    stages = cut(graph_module, host)
    on_host = [node for node in stages if isinstance(node, torch.fx.Node)]
    staged_graph = StagedGraph(
        [(str(node.target), source_line(node)) for node in on_host if node.target is not operator.getitem]
    )
    calls: dict[DeviceStage, Call] = {}

    def compile_stage(stage: DeviceStage) -> BoxedCall:
        stage_arguments = [described.get(node, Argument(node.name)) for node in stage.inputs]
        lowered = lower_to_stablehlo(stage.graph, stage_arguments)
        part = graph_program(staged_graph, f"program_{len(calls)}", stage, lowered, described)
        calls[stage] = Call(lowered, part)
        return Executor(lowered, own, part)

    executor = StagedExecutor(graph_module, stages, compile_stage)
    return ExportedStages(executor, stages, calls, described, staged_graph, own)


frame_settings.install(tt)
show_progress()

__all__ = ["TORCH_OPTIONS", "clear_programs", "compiled_programs", "tt"]
