"""Results of const-eval functions, kept between runs until an argument that they were computed from changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from tt_xla.ir.program import Function, Program
from tt_xla.runtime.binding import Step
from tt_xla.runtime.ownership import as_base, storage
from tt_xla.runtime.transfer import Token

Tensors = tuple[torch.Tensor, ...]


@dataclass(slots=True)
class _Entry:
    """Cached results of one const-eval function."""

    inputs: tuple[Token, ...]
    """Tokens of the inputs that the results were computed from."""
    results: Tensors
    tokens: list[Token]
    """Tokens of the results."""
    versions: frozenset[int]
    """Versions of the arguments that the results depend on, directly or through other const-eval functions."""
    device_bytes: int
    """DRAM bytes that the results take, tile padding included."""


class ConstEvalCache:
    """Cached results of a Program's const-eval functions, keyed by function name.

    Args:
        program: the Program.
        origins: for each function, the function whose results are accounted for in its place; None for the functions
            themselves.
    """

    def __init__(self, program: Program, origins: Mapping[str, Function] | None = None) -> None:
        self._accounted = origins or {function.name: function for function in program.functions}
        self._entry = program.functions[0]
        arguments = zip(self._entry.arguments, program.arguments, strict=True)
        self._written = {value for value, argument in arguments if argument.written}
        """Values of the entry that the program writes to."""
        self._entries: dict[str, _Entry] = {}
        self._tokens: dict[int, Token] = {}
        """Tokens of the entry's arguments and const-eval results in this run, by value number."""
        self._argument_tokens: list[Token] = []
        self.current: dict[int, Tensors] = {}
        """Results that are known to be those of this run's arguments, by ``id`` of the step that loads them."""
        self.ids: set[int] = set()
        """``id`` of each cached tensor."""
        self.generation = 0
        """Number of const-eval functions that were evaluated so far."""

    @property
    def results(self) -> dict[str, Tensors]:
        """Cached tensors by function name."""
        return {name: entry.results for name, entry in [*self._entries.items()]}

    @property
    def device_bytes(self) -> int:
        """DRAM bytes that the cached results take. Each run of any program asks all programs for theirs."""
        return sum(entry.device_bytes for entry in [*self._entries.values()])

    def begin_run(self, tokens: list[Token]) -> None:
        """Starts a run whose arguments have these tokens, one for each argument of the entry."""
        if tokens == self._argument_tokens:
            return  # as after the last run
        self._argument_tokens = tokens
        self._tokens = dict(zip(self._entry.arguments, tokens, strict=True))
        self.current.clear()

    def get(self, step: Step) -> Tensors | None:
        """Returns the cached results of a ``load_cached`` instruction, or None when they have to be computed."""
        entry = self._entries.get(_callee(step))
        tokens = self._input_tokens(step)
        if entry is None or None in tokens or entry.inputs != tokens:
            return None
        self._tokens.update(zip(step.instruction.results, entry.tokens, strict=True))
        self.current[id(step)] = entry.results
        return entry.results

    def put(self, step: Step, inputs: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> Tensors:
        """Caches what a const-eval function returned for these inputs, and returns the tensors to use.

        A result that is a view of an input stays a view when the program never writes to the input and the input has a
        token: any other writer changes the input's version, which drops the result. Otherwise the result is copied.
        """
        callee, tokens = _callee(step), self._input_tokens(step)
        may_view = self._written.isdisjoint(step.inputs) and None not in tokens
        input_storages = set[int]() if may_view else {storage(tensor) for tensor in inputs}
        # A result must not be a view of an intermediate tensor: its base would keep that tensor's memory alive.
        cached_results = tuple(
            tensor.clone() if storage(tensor) in input_storages else as_base(tensor) for tensor in results
        )
        self.generation += 1
        result_tokens: list[Token] = [(callee, self.generation, index) for index in range(len(cached_results))]
        size = _device_bytes(self._accounted[callee])
        self._entries[callee] = _Entry(tokens, cached_results, result_tokens, self._versions(tokens), size)
        self._tokens.update(zip(step.instruction.results, result_tokens, strict=True))
        self.ids = {id(tensor) for entry in self._entries.values() for tensor in entry.results}
        return cached_results

    def forget(self, version: int) -> None:
        """Drops results that were computed from an argument with this version."""
        for name in [name for name, entry in [*self._entries.items()] if version in entry.versions]:
            self._entries.pop(name, None)
            self.current.clear()

    def clear(self) -> None:
        """Drops all results."""
        self._entries.clear()
        self.current.clear()
        self.ids.clear()

    def _input_tokens(self, step: Step) -> tuple[Token, ...]:
        tokens = self._tokens
        return tuple([tokens[value] for value in step.inputs])

    def _versions(self, tokens: Iterable[Token]) -> frozenset[int]:
        """Returns the versions of the arguments behind tokens of arguments and of const-eval results."""
        versions: set[int] = set()
        for token in tokens:
            if token is not None and isinstance(token[0], int):
                versions.add(token[0])
            elif token is not None:  # the result of another const-eval function
                versions |= self._entries[str(token[0])].versions
        return frozenset(versions)


def _callee(step: Step) -> str:
    return str(step.instruction.attributes["callee"])


def _device_bytes(function: Function) -> int:
    layouts = (function.values[value].layout for value in function.results)
    return sum(layout.bytes for layout in layouts if layout.on_device)
