"""Arguments into the types the device has, results back into those the user declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Argument, Function, Program, Result, Role, TensorSpec
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.containers import CONTAINERS, DECLARED, INTEGER_RANGES, fills_container, hold

Version = int | None
Token = tuple[object, ...] | None
"""Stands for the contents of a value: equal tokens, equal contents. None equals nothing."""


def describe(dtype: torch.dtype | str, shape: Sequence[int]) -> str:
    """``float32[2, 3]``."""
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]"


@dataclass(slots=True)
class _Slot:
    """One argument: what is expected of it, and its last converted value where that may be reused."""

    argument: Argument
    spec: TensorSpec
    dtype: torch.dtype
    shape: tuple[int, ...]
    persistent: bool
    as_given: bool
    """Whether the device holds what is declared, dtype and shape, and computes on the CPU: nothing is converted."""
    version: Version = None
    token: Token = None
    given: torch.Tensor | None = None
    """The last tensor given, where it and its version may come again."""
    read: torch.Tensor | None = None
    """What became of it: the same object as long as the contents are the same."""


class ArgumentReader:
    """Checks the arguments of one Program and narrows them to their on-device types.

    Raises:
        ExecutionError: the Program's entry takes another number of arguments than the Program declares.
    """

    def __init__(self, program: Program, entry: Function) -> None:
        self._program = program.name
        self.tells_contents = False
        """Whether parameters and constants of other contents have to be other objects; set by who keeps what it made of
        one."""
        self.new_versions: list[int] = []
        """Of contents that something is kept of, since the list was last emptied."""
        if len(program.arguments) != len(entry.arguments):
            raise ExecutionError(
                f"Program '{program.name}' declares {len(program.arguments)} arguments, its entry '{entry.name}' takes "
                f"{len(entry.arguments)}.",
                hint="Compile it again.",
            )
        self._slots = [
            _Slot(
                argument,
                entry.values[value],
                DECLARED[argument.dtype],
                tuple(argument.shape),
                argument.role is not Role.INPUT,
                _as_given(argument, entry.values[value]),
            )
            for argument, value in zip(program.arguments, entry.arguments, strict=True)
        ]

    def read(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version]
    ) -> tuple[list[torch.Tensor], list[Token]]:
        """On-device tensors and their tokens, in order. They may require gradients, which are off during a run.

        With ``tells_contents`` the same parameter or constant comes again only while its contents are the same.

        Raises:
            ExecutionError: wrong number, shape or dtype of arguments, or a value that the on-device type cannot hold.
        """
        if not len(tensors) == len(versions) == len(self._slots):
            names = ", ".join(slot.argument.name for slot in self._slots)
            raise ExecutionError(
                f"Program '{self._program}' takes {len(self._slots)} arguments, got {len(tensors)} tensors and "
                f"{len(versions)} versions.",
                hint=f"Its arguments are, in order: {names}." if names else "",
            )
        read: list[torch.Tensor] = []
        tokens: list[Token] = []
        for slot, tensor, version in zip(self._slots, tensors, versions, strict=True):
            if tensor is slot.given and version == slot.version:
                assert slot.read is not None
                tokens.append(slot.token)
                read.append(slot.read)
                continue
            if tensor.dtype is not slot.dtype or tensor.shape != slot.shape:
                raise self._mismatch(slot, tensor)
            if not slot.persistent or (version is None and not self.tells_contents):
                tokens.append(None)
                read.append(tensor if slot.as_given else self._narrowed(slot, tensor))
            else:
                read.append(self._remembered(slot, tensor, version))
                tokens.append(slot.token)
        return read, tokens

    def kept(self, position: int) -> torch.Tensor | None:
        """What the entry is passed for an argument, where that is all of the caller's own and may come again."""
        slot = self._slots[position]
        tensor = slot.read
        if tensor is None or slot.given is None or not slot.as_given or not tensor.is_contiguous():
            return None
        return tensor if tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size() else None

    def stand(self, position: int) -> tuple[Version, torch.Tensor]:
        """Passes a tensor without bytes for an argument from here on, in the place of the caller's; and its version."""
        slot = self._slots[position]
        assert slot.read is not None
        slot.given = slot.read = stand_in = torch.empty_like(slot.read)
        stand_in.untyped_storage().resize_(0)
        return slot.version, stand_in

    def stands(self, position: int, tensor: torch.Tensor) -> bool:
        """Whether this is the tensor without bytes that is passed for an argument."""
        return self._slots[position].given is tensor

    def forget_stand_ins(self) -> None:
        """Wants the caller's tensors again."""
        for slot in self._slots:
            if slot.read is not None and not slot.read.untyped_storage().nbytes():
                slot.version = slot.token = slot.given = slot.read = None

    def forget(self, version: int) -> None:
        """Drops what was made of contents that are gone."""
        for slot in self._slots:
            if slot.version == version:
                slot.version = slot.token = slot.given = slot.read = None

    def _mismatch(self, slot: _Slot, tensor: torch.Tensor) -> ExecutionError:
        return ExecutionError(
            f"Argument '{slot.argument.name}' of program '{self._program}' is {describe(tensor.dtype, tensor.shape)}, "
            f"expected {describe(slot.dtype, slot.shape)}.",
            hint="A Program runs on the shapes and types it was compiled for; compile again for others.",
        )

    def _remembered(self, slot: _Slot, tensor: torch.Tensor, version: Version) -> torch.Tensor:
        """A parameter or constant, kept for the next run where its contents have a version."""
        token = None if version is None else (version, tensor.stride(), tensor.storage_offset())
        if token is None or token != slot.token or slot.read is None:
            slot.read = self._narrowed(slot, tensor.detach())  # an object that the last contents did not have
        if version is not None and version != slot.version:
            self.new_versions.append(version)
        slot.version, slot.token, slot.given = version, token, tensor
        read = slot.read
        if version is None:
            slot.given = slot.read = None
        return read

    def _narrowed(self, slot: _Slot, tensor: torch.Tensor) -> torch.Tensor:
        if slot.as_given:
            return tensor
        narrowed = place.brought(narrow(tensor, slot.spec.layout.dtype, slot.argument))
        return narrowed if tuple(narrowed.shape) == slot.spec.shape else narrowed.reshape(slot.spec.shape)


def _as_given(argument: Argument, spec: TensorSpec) -> bool:
    dtype = spec.layout.dtype
    same_type = DECLARED[argument.dtype] is CONTAINERS[dtype] and fills_container(dtype)
    return same_type and tuple(argument.shape) == spec.shape and place.device().type == "cpu"


def narrow(tensor: torch.Tensor, dtype: DataType, argument: Argument) -> torch.Tensor:
    """``tensor`` as the device holds it, itself where it needs no change.

    Raises:
        ExecutionError: an integer is outside the range of ``dtype``, or a finite float64 outside that of float32.
    """
    if dtype.is_host_only or tensor.dtype is torch.bool or not tensor.numel():
        return hold(tensor, dtype)
    if tensor.dtype is torch.float64:
        held = hold(tensor.to(torch.float32), dtype)
        lost = torch.isfinite(tensor) & ~torch.isfinite(held)
        if bool(lost.any()):
            raise _does_not_fit(argument, tensor[lost][0].item(), dtype)
        return held
    if tensor.is_floating_point() or dtype not in INTEGER_RANGES:
        return hold(tensor, dtype)
    low, high = INTEGER_RANGES[dtype]
    info = torch.iinfo(tensor.dtype)
    if info.min < low or info.max > high:
        tensor = _checked_integers(tensor, low, high, dtype, argument)
    return hold(tensor, dtype)


def _checked_integers(tensor: torch.Tensor, low: int, high: int, dtype: DataType, argument: Argument) -> torch.Tensor:
    wide = tensor.to(torch.int64)
    least, most = (int(bound) for bound in torch.aminmax(wide))
    if least < low:
        # Beyond 2**63 an unsigned value reads as a negative one.
        raise _does_not_fit(argument, least % 2**64 if tensor.dtype is torch.uint64 else least, dtype)
    if most > high:
        raise _does_not_fit(argument, most, dtype)
    return wide


def _does_not_fit(argument: Argument, value: float, dtype: DataType) -> ExecutionError:
    return ExecutionError(
        f"Argument '{argument.name}' holds the value {value!r}, which does not fit {dtype}, the type that "
        f"{argument.dtype} has on the device.",
        hint="The chip computes in 32 bits; scale the argument or keep this part of the computation on the host.",
    )


Declared = tuple[torch.dtype, tuple[int, ...]]


def declared(result: Result) -> Declared:
    """What a caller gets as ``result``."""
    return DECLARED[result.dtype], tuple(result.shape)


def widen(tensor: torch.Tensor, declared: Declared) -> torch.Tensor:
    """``tensor`` on the CPU in this dtype and shape, contiguous; in the same memory where nothing changes."""
    dtype, shape = declared
    if not tensor.is_cpu:
        tensor = tensor.cpu()
    if tensor.dtype is not dtype:
        tensor = tensor.ne(0) if dtype is torch.bool else tensor.to(dtype)
    if tensor.shape != shape:
        tensor = tensor.reshape(shape)
    return tensor if tensor.is_contiguous() else tensor.contiguous()
