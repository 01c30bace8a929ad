"""Facts about an op that the kernels of the device need, derived once from the op's schema."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.device.scalars import SCALARS
from tt_xla.frontends.torch.private.ops import OpOverload

_NUMBERS = frozenset((bool, int, float, complex))

_TAKE_NUMBERS = frozenset(
    {
        *("_conj", "_to_copy", "add", "copy", "div", "divide", "floor_divide", "mul", "multiply", "sub", "subtract"),
        *("to", "true_divide"),
    }
)
"""Ops, also in place, to which the dispatcher passes Python numbers where their schemas say ``Tensor``."""


class Signature:
    """Facts about an op.

    Attributes:
        op: the op.
        counter: name of the counter of its uses, such as ``xla::add``.
        writes: position and name of each argument that the op writes to.
        is_view: whether the op returns views of its arguments.
        returns: number of results.
        returns_written: whether the results are the tensors that the op wrote, in their order, as for in-place and out=
            ops.
        is_out: whether the op has out= arguments.
        functional: the op that returns what this one writes; the op itself when it writes nothing; None when unknown.
        is_random: whether the op draws random numbers.
        is_pure: whether the op only computes new tensors from its arguments.
        is_binary: whether the op is elementwise on two tensors.
        varying: positions, and names of keyword arguments, that may be numbers which vary (:mod:`.scalars`).
        tensors: positions of tensor arguments for which the op accepts no numbers.
    """

    def __init__(self, op: OpOverload) -> None:
        schema = op._schema
        self.op = op
        self.counter = f"xla::{schema.name.partition('::')[2]}"
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
        self.is_pure = not (self.writes or self.is_view or self.is_random)
        self.is_binary = torch.Tag.pointwise in op.tags and len(_positions(op, "Tensor")) == 2
        self.varying = SCALARS[op].positions if op in SCALARS else frozenset[int | str]()
        self.functional = self._find_functional() if self.writes else op
        name = schema.name.partition("::")[2]
        self.tensors = () if name.removesuffix("_") in _TAKE_NUMBERS else _positions(op, "Tensor")

    def written(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Returns the arguments that the op writes to."""
        return [args[index] if index < len(args) else kwargs.get(name) for index, name in self.writes]

    def without_out(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Returns the keyword arguments without the out= arguments, as the functional op takes them."""
        names = {name for _, name in self.writes} if self.is_out else set()
        return {name: value for name, value in kwargs.items() if name not in names}

    def for_numbers(self, args: Sequence[Any]) -> Signature:
        """Returns the signature of the overload that takes numbers where ``args`` has numbers.

        For ``x % 2`` PyTorch makes a 0-dim tensor of the number, selects the overload for tensors, and passes the
        number itself to kernels written in Python.
        """
        for position in self.tensors:
            if position < len(args) and type(args[position]) in _NUMBERS:
                numbers = tuple(p for p in self.tensors if p < len(args) and type(args[p]) in _NUMBERS)
                return _overload_for_numbers(self, numbers)
        return self

    def _find_functional(self) -> OpOverload | None:
        """Returns the overload that takes the same arguments and writes to none of them, or None."""
        namespace, _, name = self.op._schema.name.partition("::")
        if not self.is_out:
            if not name.endswith("_") or name.endswith("__") or len(self.writes) != 1 or self.writes[0][0] != 0:
                return None
            name = name[:-1]
        packet = getattr(getattr(torch.ops, namespace), name, None)
        if packet is None:
            return None
        read_arguments = _arguments(self.op)
        for overload in packet.overloads():
            candidate = getattr(packet, overload)
            alias = [a for a in candidate._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
            if not alias and _arguments(candidate) == read_arguments:
                return candidate
        return None


def _arguments(op: OpOverload) -> list[tuple[str, str]]:
    """Returns names and types of the arguments that an op reads."""
    names = ("dtype", "layout", "device", "pin_memory")  # factories take more options than their out= form
    return [
        (argument.name, str(argument.type))
        for argument in op._schema.arguments
        if not argument.is_out and argument.name not in names
    ]


def _positions(op: OpOverload, kind: str) -> tuple[int, ...]:
    """Returns the positions of the positional arguments of a type that an op reads."""
    arguments = op._schema.arguments
    return tuple(i for i, a in enumerate(arguments) if str(a.type) == kind and not a.is_out and not a.kwarg_only)


signature_of = functools.cache(Signature)


@functools.cache
def _overload_for_numbers(signature: Signature, positions: tuple[int, ...]) -> Signature:
    """Returns the overload with numbers at these positions, or ``signature`` itself when there is none."""
    packet = signature.op.overloadpacket
    arguments = [
        (name, "number" if i in positions else kind) for i, (name, kind) in enumerate(_arguments(signature.op))
    ]
    for overload in packet.overloads():
        candidate = getattr(packet, overload)
        other = signature_of(candidate)
        if _arguments(candidate) == arguments and other.is_out == signature.is_out and other.writes == signature.writes:
            return other
    return signature


def overload_named(name: str) -> OpOverload:
    """Returns the aten op with a name such as ``add.Tensor``."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")
