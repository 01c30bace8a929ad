"""Cuts a StableHLO program smaller: keeps some of its ops and results, and passes the other values as arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from tt_xla.compiler import parse_module
from tt_xla.compiler.stablehlo.outline import is_constant, used_values
from tt_xla.testing.divergence.modules import Source, location_of
from tt_xla.testing.divergence.runs import Array, random_inputs, rounded
from tt_xla.testing.reduction.trials import Program

T = TypeVar("T")

VALUE_BYTES = 2 << 30
"""Bytes of the values that are computed for use as arguments. Further values, the largest ones, become random."""

_OP = re.compile(r'^\s*(?:%[^=\n]*=\s*)?"?([a-z_]\w*\.\w+)', re.MULTILINE)
_NO_OPS = ("func.func", "func.return", "stablehlo.return", "builtin.module")


def count_ops(text: str) -> int:
    """Returns the number of ops of a module: in all functions and regions, constants too, returns not."""
    return sum(match[1] not in _NO_OPS for match in _OP.finditer(text))


class Graph:
    """A program as ops with their operands and results.

    Args:
        program: the program.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.source = Source(program.text)
        self.ops: list[Any] = self.source.ops
        self._known: dict[Any, Array] = dict(zip(self.source.arguments, program.inputs, strict=True))
        self._used = {op: used_values(op.operation) for op in self.ops}

    @cached_property
    def returned(self) -> list[Any]:
        """The values that the program returns, each once, without constants and arguments."""
        made = {value for op in self.ops for value in op.results}
        return [value for value in dict.fromkeys(self.source.returned) if value in made]

    def learn(self, compute: Callable[[Program], Sequence[Array] | None]) -> None:
        """Computes the values of the program, so that each can become an argument.

        Args:
            compute: returns the results of a program, or None if it cannot compute them.
        """
        values = sorted((value for op in self.ops for value in op.results), key=lambda value: _bytes(value.type))
        total, chosen = 0, list[Any]()
        for value in values:
            total += _bytes(value.type)
            if total <= VALUE_BYTES and _is_tensor(value.type):
                chosen.append(value)
        if not chosen:
            return
        module, arguments = self.source.module_returning(chosen)
        arrays = compute(Program(_text(module), tuple(self._array(value) for value in arguments)))
        if arrays is not None:
            self._known |= {value: rounded(array, value.type) for value, array in zip(chosen, arrays, strict=True)}

    @property
    def lines(self) -> list[str]:
        """The user's source lines of the ops, each once."""
        return list(dict.fromkeys(line for op in self.ops if (line := location_of(op)) and not line.startswith("-:")))

    def keeping(self, ops: Sequence[Any], results: Sequence[Any] | None = None) -> Program | None:
        """Returns the program of some ops.

        Args:
            ops: ops of this graph, in order.
            results: the values that it returns; None for the results of the program that the ops compute, and the
                values that none of them uses.

        Returns:
            The program; None if it would return nothing, or take an argument that is no tensor.
        """
        results = self.results_of(ops) if results is None else results
        if not ops or not results:
            return None
        module, arguments = self.source.module_of(ops, results)
        if not all(_is_tensor(value.type) for value in arguments):
            return None
        return Program(_text(module), tuple(self._array(value) for value in arguments))

    def results_of(self, ops: Sequence[Any]) -> list[Any]:
        """Returns the values that a program of some ops returns, see :meth:`keeping`."""
        used = {value for op in ops for value in self._used[op]}
        returned = set(self.returned)
        made = (value for op in ops for value in op.results if not is_constant(value))
        return [value for value in made if value in returned or value not in used]

    def needed(self, ops: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Returns those of some ops on which some of their results depend, in order."""
        wanted, kept = set(results), list[Any]()
        for op in reversed(ops):
            if not len(op.results) or any(value in wanted for value in op.results):
                kept.append(op)
                wanted.update(self._used[op])
        return kept[::-1]

    def _array(self, value: Any) -> Array:
        """Returns the array of a value; random numbers if it is not known."""
        if value not in self._known:
            self._known[value] = random_inputs([value.type])[0]
        return self._known[value]


def smallest(items: Sequence[T], test: Callable[[list[T]], bool]) -> list[T]:
    """Returns a part of a list for which a test still holds, and of which no chunk can be left out (delta debugging).

    Args:
        items: the list, for which the test holds.
        test: returns whether a part of the list will do.
    """
    kept = list(items)
    size = len(kept) // 2
    while size >= 1:
        chunks = (kept[start : start + size] for start in range(0, len(kept), size))
        chunk = next((part for part in chunks if len(part) < len(kept) and test(part)), None)
        if chunk is not None:
            kept, size = chunk, len(chunk) // 2
            continue
        kept, changed = _without_chunks(kept, size, test)
        size = 1 if size == 1 and changed else min(size, len(kept)) // 2
    return kept


def _without_chunks(items: list[T], size: int, test: Callable[[list[T]], bool]) -> tuple[list[T], bool]:
    """Returns a list without the chunks that the test does without, and whether there were any."""
    kept, start, changed = list(items), max(len(items) - size, 0), False
    while len(kept) > 1 and start > -size:
        rest = kept[: max(start, 0)] + kept[start + size :]
        if rest and len(rest) < len(kept) and test(rest):
            kept, changed = rest, True
        start -= size
    return kept, changed


def plain(text: str) -> str:
    """Returns the text of a module without locations, so that every number in it is one of the program's."""
    return str(parse_module(text).operation.get_asm(enable_debug_info=False))


def _text(module: Any) -> str:
    return module.operation.get_asm(enable_debug_info=True)


def _is_tensor(type_: Any) -> bool:
    return str(type_).startswith("tensor<") and "?" not in str(type_)


def _bytes(type_: Any) -> int:
    """Returns the bytes of a value in the types of the CPU; 0 for a token."""
    if not _is_tensor(type_):
        return 0
    size = 8 if re.search(r"64|complex", str(type_.element_type)) else 4
    for extent in type_.shape:
        size *= extent
    return size


__all__ = ["Graph", "count_ops", "plain", "smallest"]
