"""What the kernels need to know of an op, worked out once from its schema."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.private.dispatcher import accepts_numbers_as_tensors
from tt_xla.frontends.torch.private.ops import OpOverload

_NUMBERS = frozenset((bool, int, float, complex))


class Signature:
    """An op's schema.

    Attributes:
        writes: position and name of each argument that is written to.
        is_view: whether it returns views of its arguments.
        returns: how many results it has.
        returns_written: whether it returns the tensors it wrote, as in-place and out= ops do, in their order.
        functional: the op that returns what this one writes; itself where it writes nothing.
        is_random: whether it draws random numbers.
        tensors: positions of tensors in whose place the op takes no numbers.
    """

    def __init__(self, op: OpOverload) -> None:
        schema = op._schema
        self.op = op
        self.writes = [
            (index, argument.name)
            for index, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        self.is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        self.returns_written = bool(schema.returns) and all(
            r.alias_info is not None and r.alias_info.is_write for r in schema.returns
        )
        self.returns = len(schema.returns)
        self.is_out = any(argument.is_out for argument in schema.arguments)
        self.is_random = any(argument.name == "generator" for argument in schema.arguments)
        self.functional = self._find_functional() if self.writes else op
        takes_numbers = accepts_numbers_as_tensors(schema.name.partition("::")[2])
        self.tensors = () if takes_numbers else _places(op, "Tensor")

    def written(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments that the op writes to."""
        return [args[index] if index < len(args) else kwargs.get(name) for index, name in self.writes]

    def without_out(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the functional op."""
        names = {name for _, name in self.writes} if self.is_out else set()
        return {name: value for name, value in kwargs.items() if name not in names}

    def for_numbers(self, args: Sequence[Any]) -> Signature:
        """The overload for arguments with numbers in places of tensors: torch hands those that it has made 0-dim
        tensors of itself, as for ``x % 2``, to kernels in Python as numbers again."""
        for place in self.tensors:
            if place < len(args) and type(args[place]) in _NUMBERS:
                numbers = tuple(p for p in self.tensors if p < len(args) and type(args[p]) in _NUMBERS)
                return _overload_for_numbers(self, numbers)
        return self

    def _find_functional(self) -> OpOverload | None:
        namespace, _, name = self.op._schema.name.partition("::")
        if not self.is_out:
            if not name.endswith("_") or name.endswith("__") or len(self.writes) != 1 or self.writes[0][0] != 0:
                return None
            name = name[:-1]
        packet = getattr(getattr(torch.ops, namespace), name, None)
        if packet is None:
            return None
        wanted = _arguments(self.op)
        for overload in packet.overloads():
            candidate = getattr(packet, overload)
            alias = [a for a in candidate._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
            if not alias and _arguments(candidate) == wanted:
                return candidate
        return None


def _arguments(op: OpOverload) -> list[tuple[str, str]]:
    """Names and types of the arguments that are read."""
    names = ("dtype", "layout", "device", "pin_memory")  # factories take more options than their out= form
    return [
        (argument.name, str(argument.type))
        for argument in op._schema.arguments
        if not argument.is_out and argument.name not in names
    ]


def _places(op: OpOverload, kind: str) -> tuple[int, ...]:
    """Positions of the arguments of a type that are read."""
    arguments = op._schema.arguments
    return tuple(i for i, a in enumerate(arguments) if str(a.type) == kind and not a.is_out and not a.kwarg_only)


signature_of = functools.cache(Signature)


@functools.cache
def _overload_for_numbers(signature: Signature, places: tuple[int, ...]) -> Signature:
    packet = signature.op.overloadpacket
    wanted = [(name, "number" if i in places else kind) for i, (name, kind) in enumerate(_arguments(signature.op))]
    for overload in packet.overloads():
        candidate = getattr(packet, overload)
        found = signature_of(candidate)
        if _arguments(candidate) == wanted and found.is_out == signature.is_out and found.writes == signature.writes:
            return found
    return signature


def overload_named(name: str) -> OpOverload:
    """The aten op of a name such as ``add.Tensor``."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")
