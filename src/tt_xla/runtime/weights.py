"""Weights that stay: which values of a Program they are, and kernels that work with what was made of them once."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch

from tt_xla.ir.program import DEALLOCATE, LOAD_CACHED, TRACE, Operand, Program, Role
from tt_xla.runtime.emulator.registry import Weighted
from tt_xla.runtime.transfer import owns_memory, storage


def flat(operands: Iterable[Operand]) -> Iterator[int]:
    """The values of operands, those of variadic ones in their place."""
    for operand in operands:
        if isinstance(operand, int):
            yield operand
        else:
            yield from operand


class Prepared:
    """One instruction with weights of its own; they are prepared when the same tensor comes a second time.

    The tensor itself is not kept: who passes it has to pass another object when its contents are others.
    """

    __slots__ = ("_call", "_made", "_prepare", "_restore", "_seen", "_with_prepared")

    def __init__(self, kernel: Weighted) -> None:
        self._call = kernel.call
        self._prepare = kernel.prepare
        self._with_prepared = kernel.with_prepared
        self._restore = kernel.restore
        self._seen: weakref.ref[torch.Tensor] | None = None
        self._made: torch.Tensor | None = None

    def __call__(self, input: torch.Tensor, weights: torch.Tensor, *rest: torch.Tensor) -> Any:
        seen = self._seen
        if seen is None or seen() is not weights:
            self._made, self._seen = None, weakref.ref(weights)
            return self._call(input, weights, *rest)
        made = self._made
        if made is None:
            made = self._made = self._prepare(weights)
        return self._with_prepared(input, made, *rest)

    def has_prepared(self, weights: torch.Tensor) -> bool:
        """Whether what was made of these weights stands for them, so that no call reads them."""
        return self._made is not None and self._seen is not None and self._seen() is weights

    def is_view_of(self, weights: torch.Tensor) -> bool:
        """Whether what was made of weights lies in their memory."""
        made = self._made
        return made is not None and made.layout is torch.strided and storage(made) == storage(weights)

    def restorer(self, weights: torch.Tensor) -> Callable[[], torch.Tensor] | None:
        """What makes these weights again, bit by bit, of what was made of them; None where that cannot be."""
        made, restore = self._made, self._restore
        if made is None or restore is None or not self.has_prepared(weights) or self.is_view_of(weights):
            return None
        bits = torch.int16 if weights.element_size() == 2 else torch.int32
        again = restore(made)
        if again.shape != weights.shape or not torch.equal(again.view(bits), weights.contiguous().view(bits)):
            return None
        return lambda: restore(made)

    def stand(self, stand_in: torch.Tensor) -> None:
        """Has another tensor stand for the same contents from here on; nobody reads it."""
        self._seen = weakref.ref(stand_in)

    def release(self) -> None:
        """Drops what was made of weights that are gone."""
        if self._seen is not None and self._seen() is None:
            self._seen = self._made = None


class Spent:
    """Const-eval results and parameters that prepared weights stand for everywhere. Bytes of the first go, the tensors
    stay as keys; those of the second are for their owner to give up.

    Args:
        traced: of each trace, its operands and the function behind it.
    """

    def __init__(self, program: Program, traced: Iterable[tuple[tuple[int, ...], str]]) -> None:
        entry = program.functions[0]
        functions = {function.name: function for function in program.functions}
        made = [value for step in entry.body if step.op == LOAD_CACHED for value in step.results]
        self._arguments = {
            value: position
            for position, (value, argument) in enumerate(zip(entry.arguments, program.arguments, strict=True))
            if argument.role is not Role.INPUT and not argument.written
        }
        """Positions of parameters and constants by their values in the entry."""
        made += self._arguments
        self._entry_value = {(entry.name, value): value for value in made}
        """Of each value, in the entry or behind a trace, that is a const-eval result or a lasting argument."""
        for operands, name in traced:
            inner = zip(functions[name].arguments, operands, strict=False)
            self._entry_value.update({(name, value): operand for value, operand in inner if operand in made})
        self._uses: Counter[int] = Counter()
        for name in {name for name, _ in self._entry_value}:
            steps = (step for step in functions[name].body if step.op not in (TRACE, DEALLOCATE))
            used = [value for step in steps for value in flat(step.operands.values())] + [*functions[name].results]
            self._uses.update(self._entry_value[name, value] for value in used if (name, value) in self._entry_value)
        self._prepared: dict[int, list[Prepared]] = {}

    def takes(self, function: str, value: int, prepared: Prepared) -> None:
        """Says that an instruction of a function has this value as its weights."""
        kept = self._entry_value.get((function, value))
        if kept is not None:
            self._prepared.setdefault(kept, []).append(prepared)

    def spare(self, read: Callable[[int], torch.Tensor | None]) -> dict[int, list[Prepared]]:
        """Arguments that nobody reads any more, with what stands for them.

        Args:
            read: gives the tensor that is passed to the entry for the argument at a position.
        """
        found: dict[int, list[Prepared]] = {}
        for value, instructions in self._prepared.items():
            position = self._arguments.get(value)
            if position is None or len(instructions) != self._uses[value]:
                continue
            tensor = read(position)
            if tensor is not None and all(each.has_prepared(tensor) for each in instructions):
                found[position] = instructions
        return found

    def drop(self, kept: Mapping[int, torch.Tensor]) -> bool:
        """Frees the bytes of what nobody reads any more.

        Args:
            kept: const-eval results by their values in the entry.

        Returns:
            Whether nothing is left that may be freed after the next run.
        """
        waiting = False
        for value, instructions in self._prepared.items():
            tensor = kept.get(value)
            if tensor is None or len(instructions) != self._uses[value] or not tensor.untyped_storage().nbytes():
                continue
            if not all(each.has_prepared(tensor) for each in instructions):
                waiting = True
            elif any(each.is_view_of(tensor) for each in instructions):
                continue
            elif owns_memory(tensor) and tensor.untyped_storage().resizable():
                tensor.untyped_storage().resize_(0)
        return not waiting

    def clear(self) -> None:
        """Forgets the instructions, which are bound anew."""
        self._prepared.clear()


def lasting(program: Program, traced: Iterable[tuple[tuple[int, ...], str]]) -> dict[str, set[int]]:
    """For each function, its values that are the same tensors in run after run: parameters, constants, what was
    computed of them, and the arguments that these are of functions behind a trace.

    Args:
        traced: of each trace, its operands and the function behind it.
    """
    entry = program.functions[0]
    arguments = zip(entry.arguments, program.arguments, strict=True)
    found = {value for value, argument in arguments if argument.role is not Role.INPUT and not argument.written}
    for step in entry.body:
        if step.op == LOAD_CACHED:
            found.update(step.results)
    lasting = {entry.name: found}
    functions = {function.name: function for function in program.functions}
    for operands, name in traced:
        inner = functions[name].arguments
        lasting[name] = {value for value, operand in zip(inner, operands, strict=False) if operand in found}
    return lasting
