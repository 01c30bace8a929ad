"""Runs recorded ops: the contents of all live pending buffers are the results of one program.

A program is compiled once per structure of a trace: its kinds of ops and how their values are connected.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.collector import collector_paused
from tt_xla.environment import asks_for_source_lines
from tt_xla.errors import TTXLAError
from tt_xla.frontends.torch import session, settings
from tt_xla.frontends.torch.custom_ops import MARK_OP
from tt_xla.frontends.torch.device import analysis, draws, generalized, metrics
from tt_xla.frontends.torch.device.buffers import NO_BYTES, Buffer, buffer_of, pending_buffers, set_synchronize
from tt_xla.frontends.torch.device.donation import aliases, release, takes
from tt_xla.frontends.torch.device.kinds import COMPUTING
from tt_xla.frontends.torch.device.marking import is_part
from tt_xla.frontends.torch.device.placements import (
    MixedMeshesError,
    Placement,
    in_use,
    place_result,
    placement_of_value,
)
from tt_xla.frontends.torch.device.traces import Trace, collect, graph_module_of, scalar_types
from tt_xla.frontends.torch.device.values import ParameterVersions, Value
from tt_xla.frontends.torch.errors import as_torch_error
from tt_xla.frontends.torch.private.dispatcher import outside_dynamo, storage_identity
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.log import logger
from tt_xla.options import AUTO
from tt_xla.runtime.lifetimes import new_version

if TYPE_CHECKING:
    from tt_xla.frontends.torch.index_checks import IndexCheck
    from tt_xla.frontends.torch.lowering import Lowered

_MAX_STRUCTURES = 4096
"""Number of structures whose programs are kept."""
_MAX_ATTEMPTS = 24
"""Number of programs that are tried to narrow down an error."""
_MIN_CONSTANT_BYTES = 4096
"""Size from which an input that was the same in two runs becomes a constant of a new program."""

_OP_ERRORS = (TTXLAError, IndexError, RuntimeError, TypeError, ValueError)
"""Errors of a recorded op. Others, such as a lack of the host's memory, have no single op as their cause."""

Callee = Callable[[list[Any], list[int | None]], list[Any]]
"""Runs a program: takes argument tensors and their content versions, returns the results."""


@dataclass
class _Structure:
    """The programs of one structure.

    Attributes:
        inputs: indices of the scalars that were seen to change; they are 0-dim inputs.
        first: scalars of the first run.
        settings: compile options under which the programs were compiled.
        versions: content versions of the leaves in the last run, until some leaves are known to be constant.
        constant: indices of the leaves that were the same in two runs, and of parameters in inference. What depends on
            them alone is computed again only when they change.
        programs: programs by the indices of the scalars that are inputs.
        taken: donations that its programs took (:func:`~.donation.takes`), each with a sample of ``metrics.ALIASES``.
        may_be_general: whether a program for all sizes may have been made since its first run.
    """

    inputs: frozenset[int]
    first: tuple[float, ...]
    settings: settings.Settings
    versions: list[int] = field(default_factory=list)
    constant: frozenset[int] = frozenset()
    programs: dict[Any, _Program] = field(default_factory=dict)
    taken: set[tuple[bool, tuple[int, ...]]] = field(default_factory=set)
    may_be_general: bool = True


@dataclass
class _Program:
    """A compiled trace.

    Attributes:
        call: runs the program.
        takes: returns whether it takes what a card has for an argument, by position; None if its results come home.
        extras: functions that make further arguments, with the content version of those that never change.
        tensors: indices of the leaves and scalar inputs that the program takes.
        outputs: for each output of the trace, the index of the result.
        checks: checks of index arguments, called before each run.
        placements: placements of the outputs of a program for several chips; None for other programs.
    """

    call: Callee
    takes: Callable[[int, object], bool] | None
    extras: list[tuple[Callable[[], torch.Tensor], int | None]]
    tensors: list[int]
    outputs: list[int]
    checks: list[IndexCheck]
    placements: list[Placement | None] | None = None


def synchronize(*, ends_step: bool = False, only: Sequence[torch.Tensor] | None = None) -> None:
    """Runs all recorded ops, or in a replica those of its chip. None of them is pending afterwards, except what depends
    on an error, and tensors of which each chip has a part of its own.

    Args:
        ends_step: whether the programs take donated tensors, and may use the memory of tensors that they write to.
        only: tensors of the device, if recorded ops on which none of them depends wait for the next run.

    Raises:
        CompileError, ExecutionError, ResourceExhaustedError: ops could not run. The error is also an instance of
            PyTorch's class. Results that do not depend on its cause have been computed; reading any other result raises
            the error again.
    """
    own = session.current
    with own.running:
        waiting, chip = pending_buffers(), own.chips.of_thread.replica
        live = waiting if only is None else [each for each in set(map(buffer_of, only)) if each.pending]
        if only is None and chip is not None:  # other replicas are still recording
            live = [each for each in live if each.chip == chip]
        live = [each for each in live if not is_part(each.value)] if own.chips.holds_parts else live
        left = {*waiting} - {*live}
        if live and not own.mode.may_run:
            raise RuntimeError(
                "Unexpected execution happens inside the compiled function, exiting. Under "
                "torch_xla.compile(full_graph=True) it is to be one program, and recorded ops would run before its "
                "end, because it reads a result. Return the tensor and read it afterwards, or leave out full_graph."
            )
        own.pending.clear()
        for buffer in left:
            own.pending[id(buffer)] = weakref.ref(buffer)
        own.pressure.nodes = 0
        own.pressure.groups.clear()
        outputs: dict[int, set[Value]] = {}
        for buffer in draws.without_draws(live) if own.pressure.draws else live:
            outputs.setdefault(buffer.chip, set()).add(buffer.value)
        failure = None
        own.donation.ends_step = ends_step
        own.donation.read.clear()
        try:
            for chip, values in sorted(outputs.items()):
                failure = _run_or_split(sorted(values, key=recorded_at), chip) or failure
        finally:
            for buffer in live:
                if not buffer.pending:
                    placement = buffer.value.placement if in_use() else None
                    buffer.claim_bytes()
                    place_result(buffer, placement)
            own.donation.ends_step = False
        if failure is not None:
            raise failure
        if ends_step or own.mode.takes_donations:
            release(own.donation.read)


def recorded_at(value: Value) -> tuple[int, int]:
    """Returns the position of a pending value in the order of recording, which is the order of a program's results."""
    assert value.node is not None
    return value.node.serial, value.index


def _synchronize_for(buffer: Buffer) -> None:
    """Runs all recorded ops, and raises an error only if the contents of ``buffer`` depend on it."""
    with session.current.running:
        try:
            synchronize()
        except _OP_ERRORS as error:
            if buffer.pending:
                raise
            logger().warning("Recorded ops failed on which the tensor being read does not depend: %s", error)
        if buffer.pending:  # an earlier run left it pending after an error, or it is another replica's
            failure = _run_or_split([buffer.value], buffer.chip)
            if failure is not None:
                raise failure


def _run_or_split(outputs: list[Value], chip: int) -> Exception | None:
    """Computes some values on a chip. After an error it computes halves of them, so that only values that fail stay
    pending.

    Each attempt is a program of its own, so there are at most :data:`_MAX_ATTEMPTS`, which find one cause among many
    values. Values that are not reached stay pending and are computed when they are read.

    Returns:
        The error, or None.
    """
    failures: list[tuple[int, Exception]] = []
    groups = [outputs]
    for _ in range(_MAX_ATTEMPTS):
        if not groups:
            break
        group = groups.pop()
        try:
            _run(group, chip)
        except MixedMeshesError as error:
            parts = _by_mesh(group)
            groups += parts if len(parts) > 1 else []
            failures += [(len(group), error)] if len(parts) == 1 else []
        except _OP_ERRORS as error:
            left = [value for value in group if not value.is_computed]  # parts of a trace may have run before the error
            failures.append((len(left), error))
            if len(left) > 1:
                middle = len(left) // 2
                groups += [left[middle:], left[:middle]]
    if not failures:
        return None
    return as_torch_error(min(failures, key=lambda failure: failure[0])[1])  # the smallest group is nearest the cause


def _by_mesh(outputs: list[Value]) -> list[list[Value]]:
    """Separates values whose operands or marks are on different chips. Values without a mesh stay together."""
    groups: dict[Any, list[Value]] = {}
    for value in outputs:
        trace = collect([value])
        chips = {placement.chips for leaf in trace.leaves if (placement := placement_of_value(leaf)) is not None}
        chips |= {tuple(node.kind.template[0][1]) for node in trace.nodes if node.kind.op is MARK_OP}
        groups.setdefault(frozenset(chips), []).append(value)
    return list(groups.values())


def _run(outputs: list[Value], chip: int) -> None:
    """Compiles, or finds, the program that computes some values, and runs it on a chip."""
    own = session.current
    trace = collect(outputs, chip)
    for leaf in trace.leaves:
        if leaf.host is None and leaf.kept is None:
            raise RuntimeError(f"A recorded op reads a tensor without bytes ({trace.nodes[0].location}). {NO_BYTES}")
        if leaf.donated:
            own.donation.read.add(leaf)
    if own.mode.structures is not None:
        own.mode.structures.add(trace.key)
    known = own.structures.get((trace.key, trace.placements, trace.chip))
    if (known is None or known.may_be_general) and not in_use():
        general = generalized.general_program(trace, is_known=known is not None)
        if general is not None:
            return _run_general(general, trace)
        if known is not None:
            known.may_be_general = False
    structure, program = program_of(trace)
    tensors: list[Any] = [leaf.host if leaf.kept is None else leaf for leaf in trace.leaves]
    versions: list[int | None] = [leaf.version for leaf in trace.leaves]
    if program.takes is not None:
        versions = [leaf.lasting_version(number in structure.constant) for number, leaf in enumerate(trace.leaves)]
    types = scalar_types(trace, structure.inputs)
    for number in sorted(structure.inputs):
        tensors.append(torch.tensor(trace.scalars[number], dtype=types[number], device="cpu"))
        versions.append(None)
    arguments = [tensors[position] for position in program.tensors]
    for position, argument in enumerate(arguments):
        if argument.__class__ is Value:
            arguments[position] = argument.passed(program.takes, position, checks=bool(program.checks))
    argument_versions = [versions[position] for position in program.tensors]
    for make, version in program.extras:
        arguments.append(make())
        argument_versions.append(version)
    timed = metrics.timed(metrics.EAGER_EXECUTE_TIME if own.mode.eager else metrics.EXECUTE_TIME)
    is_replicated = trace.placements or own.chips.acts_as_one
    analysis.report_run(trace.graph)
    with _counted_as_replicated(timed) if is_replicated else timed, outside_dynamo():
        for check in program.checks:
            check(arguments, argument_versions)
        results = program.call(arguments, argument_versions)
    count, storages = len(outputs), set()
    own.counters[metrics.HANDLES] += count
    for value, position in zip(outputs, program.outputs, strict=True):
        result = results[position]
        if program.takes is not None:
            value.set_kept(result)
            continue
        if result.shape != value.shape:  # dimensions of size 1 are elsewhere; the elements are in the same order
            result = result.reshape(value.shape)
        if count > 1:  # two of them may be one tensor, but values are written separately
            storage = storage_identity(result)
            result = result.clone() if storage in storages else result
            storages.add(storage)
        value.set_computed(result)
    for value, placement in zip(outputs, program.placements or (), strict=False):
        if placement is not None and placement.shape == tuple(value.shape):
            value.placement = placement


def _run_general(general: generalized.General, trace: Trace) -> None:
    """Runs a trace by the program of all its sizes."""
    own = session.current
    if general.compiles(trace):
        with _counted_compilation(trace):
            general.compile(trace)
        analysis.report_program(trace.chip)
    else:
        metrics.count(metrics.REUSED)
    analysis.report_run(trace.graph)
    with metrics.timed(metrics.EAGER_EXECUTE_TIME if own.mode.eager else metrics.EXECUTE_TIME), outside_dynamo():
        general.run(trace)
    own.counters[metrics.HANDLES] += len(trace.outputs)


def _counted_compilation(trace: Trace) -> contextlib.AbstractContextManager[None]:
    """Counts and reports the compilation of a trace, and returns a context manager that times it."""
    for name in (metrics.COMPILED, metrics.COMPILE_CALLS, metrics.STABLEHLO):
        metrics.count(name)
    analysis.report_compilation(trace.graph)
    return metrics.timed(metrics.EAGER_COMPILE_TIME if session.current.mode.eager else metrics.COMPILE_TIME)


@contextlib.contextmanager
def _counted_as_replicated(timed: contextlib.AbstractContextManager[None]) -> Iterator[None]:
    """Counts and times a run for several chips, or in SPMD mode, beside the time that each run takes."""
    metrics.count(metrics.SEVERAL_CHIPS)
    with metrics.timed(metrics.SEVERAL_CHIPS_TIME), timed:
        yield


def program_of(trace: Trace) -> tuple[_Structure, _Program]:
    """Returns the program of a trace, from the cache if its structure ran before with the same embedded scalars.

    Scalars that differ from those of the first run become inputs of a second program. If other scalars differ later,
    all become inputs, so a structure compiles three times at most.
    """
    own, current = session.current, settings.current()
    structure_key = (trace.key, trace.placements, trace.chip)
    structure: _Structure | None = own.structures.get(structure_key)
    if structure is None or structure.settings is not current:
        if len(own.structures) >= _MAX_STRUCTURES:
            own.structures.clear()
        structure = own.structures[structure_key] = _Structure(frozenset(), trace.scalars, current)
    elif trace.scalars != structure.first:
        changed = {
            index
            for index, (scalar, first) in enumerate(zip(trace.scalars, structure.first, strict=True))
            if scalar != first and index not in structure.inputs
        }
        if changed:
            all_scalars = frozenset(range(len(trace.scalars)))
            structure.inputs = all_scalars if structure.inputs else frozenset(changed)
    taken = takes(trace.leaves) if own.donation.ends_step or own.mode.takes_donations else (False, ())
    if taken not in structure.taken:
        structure.taken.add(taken)
        metrics.sample(metrics.ALIASES, aliases(trace.leaves, trace.outputs))
    _find_constants(structure, trace.leaves)
    key = structure.inputs
    if key not in structure.programs:
        with _counted_compilation(trace):
            structure.programs[key] = _compile(trace, structure.inputs, structure.constant)
        analysis.report_program(trace.chip)
    else:
        metrics.count(metrics.REUSED)
    return structure, structure.programs[key]


def _find_constants(structure: _Structure, leaves: Sequence[Value]) -> None:
    """Finds leaves that become constants of a new program: those of the last run, and parameters in inference."""
    if structure.constant:
        return
    last_versions = structure.versions
    structure.versions = versions = [leaf.version for leaf in leaves]
    if last_versions:
        same = [version == last for version, last in zip(versions, last_versions, strict=True)]
    else:  # in training, parameters are about to change
        known: Container[Any] = () if torch.is_grad_enabled() else session.current.part(ParameterVersions)
        same = [version in known for version in versions]
    constant = [
        index
        for index, leaf in enumerate(leaves)
        if same[index] and math.prod(leaf.shape) * leaf.dtype.itemsize >= _MIN_CONSTANT_BYTES
    ]
    if constant:
        structure.constant = frozenset(constant)
        structure.programs.clear()


def _compile(trace: Trace, inputs: frozenset[int], constant: frozenset[int]) -> _Program:
    """Compiles a trace.

    Args:
        trace: the trace.
        inputs: indices of the scalars that become inputs.
        constant: indices of the leaves that become constants.
    """
    from tt_xla.frontends.torch import compilation
    from tt_xla.frontends.torch.lowering import Argument, lower_to_stablehlo
    from tt_xla.ir.program import Role

    with collector_paused(), outside_dynamo(), without_dispatch_modes():
        roles = [Role.CONSTANT if number in constant else Role.INPUT for number in range(len(trace.leaves))]
        arguments = [Argument(f"input_{number}", role) for number, role in enumerate(roles)]
        arguments += [Argument(f"scalar_{number}") for number in sorted(inputs)]
        with COMPUTING:
            lowered = lower_to_stablehlo(graph_module_of(trace, inputs), arguments)
        splits = AUTO if session.current.chips.chooses_shardings else ""  # else of models, not of single ops
        if splits:
            metrics.count("CompileWithAutoSharding")
        options = replace(settings.current().with_own({}), auto_sharding=splits)
        all_placed = [*trace.placements, *(None for _ in inputs)] if trace.placements else []
        placed = [all_placed[position] for position in lowered.tensors] if all_placed else []
        loaded = compilation.compile_and_load(lowered.module, options, placements=placed, chip=trace.chip)
    assert all(kind == "result" for kind, _ in lowered.outputs)
    versions = (new_version() if is_constant else None for is_constant in lowered.constant)
    extras = list(zip(lowered.extras, versions, strict=True))
    positions = [position for _, position in lowered.outputs]
    placements = loaded.placements
    placed_outputs = None if placements is None else [_unpermuted(lowered, placements, index) for index in positions]
    takes = None if loaded.keeping is None else loaded.keeping.takes
    return _Program(loaded.call, takes, extras, lowered.tensors, positions, lowered.checks, placed_outputs)


def stablehlo_of(tensors: Sequence[torch.Tensor], *, bytecode: bool = False) -> Any:
    """Returns the StableHLO of the recorded ops on which tensors depend, without running them.

    Args:
        tensors: tensors of one chip; all that wait for recorded ops if there are none.
        bytecode: whether to return portable bytecode instead of text, which has source lines under ``XLA_HLO_DEBUG=1``.

    Raises:
        CompileError: an op cannot be lowered.
    """
    from tt_xla.frontends.torch.lowering import Argument, lower_to_stablehlo
    from tt_xla.frontends.torch.saved_module import saved

    with session.current.running:
        buffers = [buffer_of(tensor) for tensor in tensors] or pending_buffers()
        values = {buffer.value for buffer in buffers if buffer.pending}
        trace = collect(sorted(values, key=recorded_at))
        with outside_dynamo(), without_dispatch_modes():
            arguments = [Argument(f"input_{number}") for number in range(len(trace.leaves))]
            module = lower_to_stablehlo(graph_module_of(trace, frozenset()), arguments).module
    return saved(module).bytecode if bytecode else module.operation.get_asm(enable_debug_info=asks_for_source_lines())


def _unpermuted(lowered: Lowered, placements: Sequence[Placement | None], index: int) -> Placement | None:
    """Returns the placement of a program's result in the order of dimensions that the trace has."""
    placement, order = placements[index], lowered.orders[index]
    if placement is None or order is None:
        return placement
    return placement.permuted([order.index(axis) for axis in range(len(order))])


def forget() -> None:
    """Drops all programs of recorded ops."""
    session.current.structures.clear()


set_synchronize(_synchronize_for)
