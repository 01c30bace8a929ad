"""Weights that stay the same from run to run: kernels prepare them once, and then their own bytes can be released."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from tt_xla.ir.program import DEALLOCATE, LOAD_CACHED, TRACE, Program, Role
from tt_xla.runtime.emulator.context import Call, Weighted
from tt_xla.runtime.ownership import owns_memory, storage
from tt_xla.runtime.traces import TraceCall
from tt_xla.runtime.transfer import ArgumentReader, Version

_RUNS_TO_PREPARE = 3
"""Number of runs with the same parameters after which their weights are prepared."""


class Spare(NamedTuple):
    """A parameter whose bytes its owner may release, because prepared weights stand for it."""

    version: Version
    stand_in: torch.Tensor
    """Tensor without bytes that is passed to later runs instead of the parameter."""
    restore: Callable[[], torch.Tensor]
    """Makes the parameter's tensor again, bit by bit."""


class WeightedCall:
    """Call of one kernel that prepares its weights when the same tensor comes a second time.

    The call keeps no reference to the weights. A caller that changes the contents of its weights has to pass another
    tensor object.
    """

    __slots__ = ("_call", "_prepare", "_prepared", "_restore", "_seen", "_with_prepared")

    def __init__(self, kernel: Weighted) -> None:
        self._call = kernel.call
        self._prepare = kernel.prepare
        self._with_prepared = kernel.with_prepared
        self._restore = kernel.restore if kernel.keeps_bits else None
        self._seen: weakref.ref[torch.Tensor] | None = None
        self._prepared: torch.Tensor | None = None

    def __call__(self, input: torch.Tensor, weights: torch.Tensor, *rest: torch.Tensor) -> Any:
        seen = self._seen
        if seen is None or seen() is not weights:
            self._prepared, self._seen = None, weakref.ref(weights)
            return self._call(input, weights, *rest)
        prepared = self._prepared
        if prepared is None:
            prepared = self._prepared = self._prepare(weights)
            if prepared is None:
                return self._call(input, weights, *rest)
        return self._with_prepared(input, prepared, *rest)

    def prepared(self, weights: torch.Tensor) -> torch.Tensor:
        """Returns the prepared form of weights, which is made when they are first seen.

        Raises:
            RuntimeError: it could not be made, which was reported.
        """
        seen = self._seen
        if seen is None or seen() is not weights:
            self._prepared, self._seen = None, weakref.ref(weights)
        if self._prepared is None:
            self._prepared = self._prepare(weights)
            if self._prepared is None:
                raise RuntimeError("weights could not be prepared")
        return self._prepared

    def has_prepared(self, weights: torch.Tensor) -> bool:
        """Returns whether the call holds a prepared form of these weights and does not read the weights any more."""
        return self._prepared is not None and self._seen is not None and self._seen() is weights

    def is_view_of(self, weights: torch.Tensor) -> bool:
        """Returns whether the prepared form lies in the memory of the weights."""
        prepared = self._prepared
        return prepared is not None and prepared.layout is torch.strided and storage(prepared) == storage(weights)

    def restorer(self, weights: torch.Tensor) -> Callable[[], torch.Tensor] | None:
        """Returns a function that makes these weights again, bit by bit, from their prepared form.

        Returns None when the prepared form does not hold all bits of the weights, or lies in their memory.
        """
        prepared, restore = self._prepared, self._restore
        if prepared is None or restore is None or not self.has_prepared(weights) or self.is_view_of(weights):
            return None
        bits = torch.int16 if weights.element_size() == 2 else torch.int32
        restored = restore(prepared)
        if restored.shape != weights.shape or not torch.equal(restored.view(bits), weights.contiguous().view(bits)):
            return None
        return lambda: restore(prepared)

    def accept(self, stand_in: torch.Tensor) -> None:
        """Treats another tensor as the same weights from now on; its bytes are never read."""
        self._seen = weakref.ref(stand_in)

    def release(self) -> None:
        """Drops the prepared form of weights that no longer exist."""
        if self._seen is not None and self._seen() is None:
            self._seen = self._prepared = None


class ProgramWeights:
    """The lasting values of one Program: parameters, constants and const-eval results, and the calls that prepare them.

    Once every reader of a lasting value holds a prepared form of it, its bytes are no longer needed. Bytes of
    const-eval results are released here, while their tensors stay as keys of the prepared forms. Bytes of parameters
    belong to the frontend, which asks for :meth:`spare_parameters`.

    Args:
        program: the Program.
        traces: its traces as the entry calls them.
    """

    def __init__(self, program: Program, traces: Iterable[TraceCall]) -> None:
        entry = program.functions[0]
        self._functions = {function.name: function for function in program.functions}
        cached = [value for step in entry.body if step.op == LOAD_CACHED for value in step.results]
        self._positions = {
            value: position
            for position, (value, argument) in enumerate(zip(entry.arguments, program.arguments, strict=True))
            if argument.role is not Role.INPUT and not argument.written
        }
        """Positions of parameters and constants, by their values in the entry."""
        self._inputs = {
            value: position
            for position, (value, argument) in enumerate(zip(entry.arguments, program.arguments, strict=True))
            if argument.role is Role.INPUT and not argument.written
        }
        """Positions of inputs, by their values in the entry. JAX programs have weights among them."""
        lasting = {*cached, *self._positions, *self._inputs}
        self._entry_values = {(entry.name, value): value for value in lasting}
        """Value in the entry of each lasting value, by function name and value there."""
        for operands, name in traces:
            passed = zip(self._functions[name].arguments, operands, strict=False)
            self._entry_values |= {(name, value): operand for value, operand in passed if operand in lasting}
        self._readers = Counter(self._reads())
        """Number of instructions that read each lasting value."""
        self._calls: list[WeightedCall] = []
        """All calls that prepare weights."""
        self._releasing: dict[int, list[WeightedCall]] = {}
        """Calls by the lasting value, in the entry, whose bytes they can do without."""
        self.spare_run = 0
        """Number of runs after which :meth:`spare_parameters` is to be asked next."""
        self.settled_generation = 0
        """Generation of const-eval results for which no more bytes can be released."""

    def _reads(self) -> Iterator[int]:
        """Yields the entry's number of a lasting value once for each time that an instruction reads it."""
        for name in {name for name, _ in self._entry_values}:
            function = self._functions[name]
            steps = (step for step in function.body if step.op not in (TRACE, DEALLOCATE))
            for value in (*(value for step in steps for value in step.operand_values()), *function.results):
                if (name, value) in self._entry_values:
                    yield self._entry_values[name, value]

    def bind(self, function: str, value: int, kernel: Weighted, *, may_release: bool) -> Call | None:
        """Returns a call that prepares the weights of an instruction, or None when its weights do not last.

        Args:
            function: name of the function that the instruction is in.
            value: the weights' value number there.
            kernel: the instruction's kernel.
            may_release: whether the bytes of these weights may be released once they are prepared.
        """
        entry_value = self._entry_values.get((function, value))
        if entry_value is None:
            return None
        call = WeightedCall(kernel)
        self._calls.append(call)
        if may_release and entry_value not in self._inputs:
            self._releasing.setdefault(entry_value, []).append(call)
        return call

    def input_position(self, function: str, value: int) -> int | None:
        """Returns the position of the input that a value is; None for another value."""
        return self._inputs.get(self._entry_values.get((function, value), -1))

    def parameters_changed(self, runs: int) -> None:
        """Records that a run received new parameters.

        Args:
            runs: number of runs before that one.
        """
        self.spare_run = runs + _RUNS_TO_PREPARE

    def spare_parameters(self, reader: ArgumentReader) -> dict[int, Spare]:
        """Returns the parameters that no call reads any more, by argument position, and makes calls accept stand-ins.

        Args:
            reader: holds the tensors that the last run received.
        """
        spares: dict[int, Spare] = {}
        for value, calls in self._releasing.items():
            position = self._positions.get(value)
            if position is None or len(calls) != self._readers[value]:
                continue
            weights = reader.replaceable(position)
            if weights is None or not all(call.has_prepared(weights) for call in calls):
                continue
            restore = calls[0].restorer(weights)
            if restore is None:
                continue
            version, stand_in = reader.make_stand_in(position)
            for call in calls:
                call.accept(stand_in)
            spares[position] = Spare(version, stand_in, restore)
        return spares

    def release_results(self, generation: int, results: Mapping[int, torch.Tensor]) -> None:
        """Releases the bytes of const-eval results that no call reads any more.

        Args:
            generation: generation of the results.
            results: const-eval results by their values in the entry.
        """
        all_released = True
        for value, calls in self._releasing.items():
            tensor = results.get(value)
            if tensor is None or len(calls) != self._readers[value] or not tensor.untyped_storage().nbytes():
                continue
            if not all(call.has_prepared(tensor) for call in calls):
                all_released = False
            elif any(call.is_view_of(tensor) for call in calls):
                continue
            elif owns_memory(tensor) and tensor.untyped_storage().resizable():
                tensor.untyped_storage().resize_(0)
        if all_released:
            self.settled_generation = generation

    def forget_ended(self) -> None:
        """Drops prepared forms of weights that no longer exist."""
        for call in self._calls:
            call.release()

    def clear(self) -> None:
        """Forgets all calls, because their instructions are bound anew."""
        self._calls.clear()
        self._releasing.clear()
