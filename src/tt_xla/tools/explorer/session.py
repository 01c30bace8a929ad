"""A session of the explorer: the programs of one model, their compilations, and the work that is going on."""

from __future__ import annotations

import functools
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tt_xla.errors import OptionError, TTXLAError
from tt_xla.ir.op_names import UNNAMED, OpNames
from tt_xla.ir.program import FunctionKind
from tt_xla.target import Target, load_target
from tt_xla.tools.explorer.links import Links, links, reversed_links
from tt_xla.tools.explorer.namespaces import has_modules
from tt_xla.tools.explorer.nodes import FunctionNodes, Node
from tt_xla.tools.explorer.results import Accuracy, Compiled
from tt_xla.tools.explorer.subjects import STAGES, Subject, is_script
from tt_xla.tools.explorer.worker import Cancelled, Worker


@dataclass
class Version:
    """One compilation of a program, with its options and stages.

    Attributes:
        number: position among the versions of the session.
        subject: position of its program among the subjects.
        label: its level and number of overrides, or the name that the request gave it.
        options: compile options by name.
        compiled: the outcome.
        accuracy: the outcome of its run; None before it ran.
        run_error: message of the error that ended its run; empty without one.
        converted: nodes of the stages that were asked for, by stage.
    """

    number: int
    subject: int
    label: str
    options: dict[str, Any]
    compiled: Compiled
    accuracy: Accuracy | None = None
    run_error: str = ""
    converted: dict[str, list[FunctionNodes]] = field(default_factory=dict)

    @functools.cached_property
    def op_names(self) -> dict[str, str]:
        """Names of the ops by node, by which override files choose them."""
        names = OpNames()
        once = FunctionKind.CONST_EVAL.value
        nodes = [node for function in self.compiled.functions if function.kind != once for node in function.nodes]
        named = [node for node in nodes if node.op.startswith("ttnn.") and node.op not in UNNAMED]
        return {node.id: names.name(node.op, node.location) for node in named}

    @property
    def stages(self) -> list[str]:
        """The stages that have graphs, in order."""
        known = {*self.compiled.stages, *(["ttnn"] if self.compiled.functions else [])}
        return [stage for stage in STAGES if stage in known]


@dataclass
class Job:
    """Work that is going on, or went on last."""

    what: str = ""
    line: str = ""
    """The last line about its progress."""
    running: bool = False
    error: str = ""
    """Why it failed; empty if it did not."""
    number: int = 0
    """Its position among the jobs of the session, from 1; 0 before the first one."""


class Session:
    """The state that the server shows. All methods may be called from several threads.

    Args:
        subjects: the programs; they may be added later by :meth:`open`.
        arch: system to compile for.
        options: compile options of the first compilations.
        runs: whether programs and scripts may be run.
    """

    def __init__(
        self,
        subjects: Sequence[Subject],
        arch: str,
        options: Mapping[str, Any] | None = None,
        *,
        runs: bool = True,
    ) -> None:
        self.arch = arch
        self.runs = runs
        self.options = dict(options or {})
        self.subjects = list(subjects)
        self.versions: list[Version] = []
        self.job = Job()
        self.worker = Worker()
        self._lock = threading.RLock()
        self._has_run_script = False
        self._links: dict[tuple[int, str, str], Links] = {}

    def target(self, version: Version) -> Target:
        """Returns the system of a version."""
        program = version.compiled.program
        return load_target(program.target if program is not None else self.arch)

    def close(self) -> None:
        """Ends the work that is going on."""
        self.worker.cancel()

    def check_runs(self) -> None:
        """Checks that programs and scripts may be run.

        Raises:
            OptionError: they may not.
        """
        if not self.runs:
            raise OptionError(
                "This explorer runs neither models nor scripts.", hint="Start it without --no-model-execution (-x)."
            )

    # Work

    def start(self, what: str, work: Any, *arguments: Any) -> None:
        """Starts work in a thread; its progress is in :attr:`job`.

        Raises:
            OptionError: other work is going on.
        """
        with self._lock:
            if self.job.running:
                raise OptionError(f"The explorer is busy: {self.job.what}.", hint="Wait for it, or cancel it.")
            self.job = Job(what, running=True, number=self.job.number + 1)
        threading.Thread(target=self._run, args=(self.job, work, arguments), daemon=True).start()

    def _run(self, job: Job, work: Any, arguments: tuple[Any, ...]) -> None:
        try:
            work(*arguments)
        except Cancelled:
            job.error = f"Cancelled: {job.what}."
        except OSError as error:
            job.error = f"'{error.filename}' cannot be read: {error.strerror}." if error.filename else str(error)
        except (TTXLAError, RuntimeError) as error:
            job.error = " ".join(str(error).split())
        except Exception as error:
            traceback.print_exception(error)
            job.error = f"{type(error).__name__}: {error}. This is a fault of tt-xla; please report it."
        finally:
            job.running = False

    def cancel(self) -> None:
        """Ends the work that is going on."""
        if self.job.running:
            self.worker.cancel()

    def _ask(self, function: str, *arguments: Any) -> Any:
        def progress(line: str) -> None:
            self.job.line = line

        return self.worker.run(function, *arguments, progress=progress)

    def open(self, path: str, arguments: Sequence[str] = ()) -> None:
        """Adds the programs of a file, a folder or a script, and compiles them.

        The arguments and errors are those of :func:`.subjects_of`.

        Raises:
            OptionError: the path is a script, and no scripts may be run.
        """
        opens_script = is_script(Path(path))
        if opens_script:
            self.check_runs()
        if opens_script and self._has_run_script:  # torch and JAX would not compile again what the process has compiled
            self.worker.restart()
        found: list[Subject] = self._ask("load", Path(path), list(arguments))
        self._has_run_script |= opens_script
        first = len(self.subjects)
        self.subjects += found
        for index in range(first, len(self.subjects)):
            self.add_known(index)

    def add_known(self, index: int) -> None:
        """Adds the first version of a program: from its dumps or compiled program, or by compiling it."""
        subject = self.subjects[index]
        compiled: Compiled | None = self._ask("known", subject, self.arch)
        if compiled is None:
            self.compile(index, self.options)
            return
        self.add(index, compiled)

    def add(self, index: int, compiled: Compiled) -> None:
        """Adds a version of a program that was not compiled here."""
        subject = self.subjects[index]
        label = f"level {subject.program.options['optimization_level']}" if subject.program is not None else "dumps"
        self._add(index, label, subject.options, compiled)

    def compile(self, index: int, options: Mapping[str, Any], label: str = "") -> None:
        """Compiles a program, and adds the outcome as a version.

        Raises:
            OptionError: the program has no source.
        """
        subject = self.subjects[index]
        if subject.source is None:
            raise OptionError(
                f"{subject.name} is a compiled program, which has no source to compile again.",
                hint="Explore the module that it was compiled from.",
            )
        compiled: Compiled = self._ask("compile", subject, dict(options), self.arch)
        self._add(index, label or _label(options), options, compiled)

    def _add(self, index: int, label: str, options: Mapping[str, Any], compiled: Compiled) -> None:
        version = Version(len(self.versions), index, label, dict(options), compiled)
        if compiled.functions:
            version.converted["ttnn"] = compiled.functions
        with self._lock:
            version.number = len(self.versions)
            self.versions.append(version)

    def execute(self, number: int, runtime: str = "emulated") -> None:
        """Runs a version on the emulated card, beside float32, or on another runtime (``TTXLA_RUNTIME``)."""
        self.check_runs()
        version = self.versions[number]
        if version.compiled.program is None:
            raise OptionError("The version was not compiled, so it cannot run.")
        try:
            subject = self.subjects[version.subject]
            version.accuracy = self._ask("execute", subject, version.compiled.program, runtime)
            version.run_error = ""
        except TTXLAError as error:
            version.run_error = " ".join(str(error).split())
            raise

    # Stages

    def functions(self, number: int, stage: str) -> list[FunctionNodes]:
        """Returns the nodes of a stage of a version, the entry function first.

        Raises:
            KeyError: the version has no such stage.
        """
        version = self.versions[number]
        if stage not in version.converted:
            text = version.compiled.stages[stage]
            name = self.subjects[version.subject].name
            version.converted[stage] = self.worker.run("convert", stage, text, name, progress=lambda line: None)
        return version.converted[stage]

    def linked(self, number: int, stage: str, other: str) -> Links:
        """Returns for the nodes of a stage those of another stage of the same version."""
        key = (number, stage, other)
        if key not in self._links:
            forward = STAGES.index(stage) < STAGES.index(other)
            if forward:
                self._links[key] = links(self.functions(number, stage), self.functions(number, other))
            else:
                self._links[key] = reversed_links(self.linked(number, other, stage))
        return self._links[key]

    def node(self, number: int, stage: str, node_id: str) -> Node:
        """Returns a node.

        Raises:
            KeyError: there is none of this name.
        """
        for function in self.functions(number, stage):
            for node in function.nodes:
                if node.id == node_id:
                    return node
        raise KeyError(node_id)

    def errors(self, number: int, stage: str) -> dict[str, str]:
        """Returns the error of a failed compilation by the nodes where it happened: those at its source line."""
        compiled = self.versions[number].compiled
        if not compiled.error or not compiled.error_location:
            return {}
        place = compiled.error_location.partition(" ")[0]
        nodes = [node for function in self.functions(number, stage) for node in function.nodes if node.location]
        exact = [node for node in nodes if node.location == place]
        at_line = exact or [node for node in nodes if _line(node.location) == _line(place)]
        return {node.id: compiled.error for node in at_line}

    def main_functions(self, number: int, stage: str) -> list[FunctionNodes]:
        """Returns the functions that have graphs: first those that every call runs, then const-eval functions."""
        once = FunctionKind.CONST_EVAL.value
        functions = sorted(self.functions(number, stage), key=lambda function: function.kind == once)
        if stage != STAGES[0] and not any(has_modules(function.nodes) for function in functions):
            self._keep_named_scopes(number, stage, functions)
        return functions

    def _keep_named_scopes(self, number: int, stage: str, functions: Sequence[FunctionNodes]) -> None:
        """Gives the ops of a later stage the scopes that the user named around the ops which they came from."""
        if STAGES[0] not in self.versions[number].stages:
            return
        origins = self.linked(number, stage, STAGES[0])
        scopes = {node.id: node.named_scope for first in self.functions(number, STAGES[0]) for node in first.nodes}
        for function in functions:
            for node in function.nodes:
                node.named_scope = scopes[origins[node.id][0]] if node.id in origins else ()


def _line(location: str) -> tuple[str, ...]:
    return tuple(location.split(":")[:2])


def _label(options: Mapping[str, Any]) -> str:
    """Returns the level of a compilation, and how many ops have overrides."""
    level = f"level {options.get('optimization_level', 0)}"
    overrides = options.get("overrides")
    count = len(overrides.get("ops", ())) if isinstance(overrides, Mapping) else 0
    return f"{level}, {count} override{'s' if count > 1 else ''}" if count else level
