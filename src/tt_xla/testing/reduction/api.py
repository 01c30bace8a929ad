"""The functions that tests and generators of programs call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tt_xla.errors import ExecutionError
from tt_xla.options import CompileOptions
from tt_xla.testing.child_processes import default_memory
from tt_xla.testing.divergence.modules import Source
from tt_xla.testing.divergence.runs import Array, declared, load_inputs, random_inputs
from tt_xla.testing.reduction.failures import ANY, Failure, Outcome
from tt_xla.testing.reduction.graphs import count_ops
from tt_xla.testing.reduction.processes import Processes
from tt_xla.testing.reduction.reducer import FIRST_LIMIT_S, Reducer, Reduction, TrialRunner
from tt_xla.testing.reduction.trials import Program


def reduce(
    module: str,
    inputs: Sequence[Array] | None = None,
    options: Mapping[str, Any] | None = None,
    fails: str = ANY,
    *,
    limit: float | None = None,
    budget: float = 300.0,
    imports: Sequence[Path] = (),
    progress: Callable[[Reduction], None] = lambda reduction: None,
) -> Reduction:
    """Makes a failing StableHLO module small: drops ops, results, sizes and values as long as the rest fails.

    Each try is a child process with limits of time and memory. The process starts with imports of some seconds.

    Args:
        module: text of the module.
        inputs: its arguments in order, of the declared shapes; None for random numbers.
        options: compile options.
        fails: the failure to keep; see :data:`~tt_xla.testing.reduction.failures.FORMS`.
        limit: seconds of one try; None to derive it from the first one.
        budget: seconds after which the smallest program so far is returned.
        imports: Python files that the process of the tries runs first.
        progress: called with the reduction before each try.

    Returns:
        The reduction, whose ``program`` has the text and the inputs of the smallest program.

    Raises:
        ExecutionError: the module does not fail in this way; the message says how it ended.
        MalformedModuleError: the module does not parse.
        OptionError: ``fails`` or an option is unknown.
    """
    failure, parsed = Failure.parse(fails), CompileOptions.parse(dict(options or {}))
    program = program_of(module, inputs)
    with Processes(default_memory(1), imports) as processes:
        runner = TrialRunner(processes, parsed, limit or FIRST_LIMIT_S, own_limit=limit is not None)
        first = runner.outcome(program, failure)
        if not failure.shown_by(first):
            raise ExecutionError(
                f"The program does not fail by {fails!r}: {first.text}.",
                hint="Check options, inputs and the environment, or name another failure.",
            )
        reduction = begin(program, first, runner, failure)
        Reducer(reduction, runner, time.monotonic() + budget, progress).run()
    return reduction


def program_of(module: str, inputs: Sequence[Array] | None = None) -> Program:
    """Returns a program of a module's text and its arguments; random ones for None."""
    source = Source(module)
    arrays = random_inputs([argument.type for argument in source.arguments]) if inputs is None else inputs
    return Program(module, tuple(np.asarray(array) for array in arrays))


def begin(program: Program, first: Outcome, runner: TrialRunner, failure: Failure) -> Reduction:
    """Returns the beginning of the reduction of a program that fails, and sets the limits of later trials.

    Args:
        program: the program.
        first: how it ended.
        runner: has run it, and will run smaller ones.
        failure: the failure that ``first`` shows.
    """
    runner.adapt(first)
    return Reduction(program, first, first, failure.narrowed(first), runner.options, count_ops(program.text))


def check(
    module: str,
    inputs: Path | Sequence[Array] | None = None,
    options: Mapping[str, Any] | None = None,
    fails: str = ANY,
    *,
    limit: float = FIRST_LIMIT_S,
    imports: Sequence[Path] = (),
) -> None:
    """Runs a StableHLO module in a child process, and raises an error if it fails.

    Arguments that are not named here are those of :func:`reduce`.

    Args:
        inputs: its arguments in order, or a ``.npz`` file with them; None for random numbers.
        limit: seconds after which the process is killed.

    Raises:
        AssertionError: the module fails.
    """
    failure, parsed = Failure.parse(fails), CompileOptions.parse(dict(options or {}))
    if isinstance(inputs, Path):
        inputs = load_inputs(inputs, declared([argument.type for argument in Source(module).arguments]))
    with Processes(default_memory(1), imports) as processes:
        outcome = TrialRunner(processes, parsed, limit, own_limit=True).outcome(program_of(module, inputs), failure)
    if failure.shown_by(outcome):
        raise AssertionError(f"The program fails: {outcome.text}.\n{outcome.details}")
