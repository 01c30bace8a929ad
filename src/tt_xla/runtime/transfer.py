"""Converts arguments to the types that the device holds, and results back to the types that the user declared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Argument, Function, Program, Result, Role, TensorSpec
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.containers import CONTAINERS, DECLARED, INTEGER_RANGES, fills_container, hold

Version = int | None
"""Number that stands for the contents of a tensor, unique in the process; None when nobody tracks the contents."""

Token = tuple[object, ...] | None
"""Key for the contents of a value: values with equal tokens have equal contents. None stands for unknown contents."""


def describe(dtype: torch.dtype | str, shape: Sequence[int]) -> str:
    """Returns a tensor's type as text, ``float32[2, 3]``."""
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]"


@dataclass(slots=True)
class _Slot:
    """One argument: its expected type, and its last converted tensor for reuse."""

    argument: Argument
    spec: TensorSpec
    dtype: torch.dtype
    shape: tuple[int, ...]
    persistent: bool
    """Whether the argument is a parameter or constant, or an input that came with the same contents again."""
    passes_through: bool
    """Whether the device holds the declared dtype and shape and computes on the CPU, so that nothing is converted."""
    version: Version = None
    token: Token = None
    source: torch.Tensor | None = None
    """The caller's last tensor; None when it has no version and so cannot be recognised again."""
    converted: torch.Tensor | None = None
    """On-device tensor made from ``source``: the same object as long as the contents are the same."""
    number: torch.Tensor | None = None
    """Takes the value of an int64 of one element in each run; None for other arguments."""
    may_repeat: bool = False
    """Whether the argument is an input that a kernel reads as its weights, which a caller may pass run after run."""


class ArgumentReader:
    """Checks the arguments of one Program and narrows them to their on-device types.

    Raises:
        ExecutionError: the Program declares a number of arguments that differs from its entry's.
    """

    def __init__(self, program: Program, entry: Function) -> None:
        self._program = program.name
        self.distinguishes_contents = False
        """Whether a parameter or constant becomes a new tensor object when its contents change. Set by executables that
        cache something computed from one."""
        self.remembers_inputs = False
        """Whether inputs whose contents have a version get tokens too, as parameters and constants do."""
        self.new_versions: list[int] = []
        """Versions cached since this list was last cleared."""
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
                _passes_through(argument, entry.values[value]),
                number=_number(argument, entry.values[value]),
            )
            for argument, value in zip(program.arguments, entry.arguments, strict=True)
        ]

    def read(self, tensors: Sequence[Any], versions: Sequence[Version]) -> tuple[list[Any], list[Token]]:
        """Converts arguments to on-device tensors.

        With ``distinguishes_contents`` a parameter or constant is the same tensor object as in the last run only if
        its contents are the same.

        Args:
            tensors: the caller's tensors, in order. They may require gradients, which are off during a run.
            versions: the version of each tensor.

        Returns:
            On-device tensors and their tokens, in order.

        Raises:
            ExecutionError: wrong number, shape or dtype of arguments, or a value that the on-device type cannot hold.
        """
        self.check_count(tensors, versions)
        arguments: list[Any] = []
        tokens: list[Token] = []
        for slot, tensor, version in zip(self._slots, tensors, versions, strict=True):
            if tensor is slot.source and version == slot.version:
                assert slot.converted is not None
                tokens.append(slot.token)
                arguments.append(slot.converted)
                continue
            argument, token = self._read(slot, tensor, version)
            arguments.append(argument)
            tokens.append(token)
        return arguments, tokens

    def check_count(self, tensors: Sequence[Any], versions: Sequence[Version]) -> None:
        """Raises an error unless there is one tensor and one version for each argument."""
        if len(tensors) == len(versions) == len(self._slots):
            return
        names = ", ".join(slot.argument.name for slot in self._slots)
        raise ExecutionError(
            f"Program '{self._program}' takes {len(self._slots)} arguments, got {len(tensors)} tensors and "
            f"{len(versions)} versions.",
            hint=f"Its arguments are, in order: {names}." if names else "",
        )

    def read_one(self, position: int, tensor: torch.Tensor, version: Version) -> tuple[torch.Tensor, Token]:
        """Converts one argument, as :meth:`read` does, and returns its token too."""
        slot = self._slots[position]
        if tensor is slot.source and version == slot.version:
            assert slot.converted is not None
            return slot.converted, slot.token
        return self._read(slot, tensor, version)

    def _read(self, slot: _Slot, tensor: torch.Tensor, version: Version) -> tuple[torch.Tensor, Token]:
        """Converts a tensor that is not the slot's last one."""
        if tensor.dtype is not slot.dtype or tensor.shape != slot.shape:
            raise self._mismatch(slot, tensor)
        if slot.may_repeat:
            tensor = self._recognized(slot, tensor, version)
        is_remembered = slot.persistent or (self.remembers_inputs and version is not None)
        if not is_remembered or (version is None and not self.distinguishes_contents):
            if slot.number is not None:
                return _checked_number(tensor, slot.number, slot.spec.layout.dtype, slot.argument), None
            return (tensor if slot.passes_through else self._narrowed(slot, tensor)), None
        return self._remembered(slot, tensor, version), slot.token

    def watch(self, position: int) -> None:
        """Makes an input that comes with the same contents again the same tensor object, as parameters are."""
        self._slots[position].may_repeat = self._slots[position].passes_through

    def _recognized(self, slot: _Slot, tensor: torch.Tensor, version: Version) -> torch.Tensor:
        """Decides whether an input lasts. Returns the tensor to read: a new object where its contents are new."""
        if version is not None and version == slot.version:
            if not slot.persistent:
                slot.persistent, slot.version = True, None  # new to :meth:`_remembered`
            return tensor
        slot.persistent, slot.version, slot.token, slot.source, slot.converted = False, version, None, None, None
        return tensor.detach()

    def replaceable(self, position: int) -> torch.Tensor | None:
        """Returns the tensor that the entry reads for an argument, if a stand-in may replace it.

        That is the case when the tensor is the caller's own, covers all of its memory and may come again.
        """
        slot = self._slots[position]
        tensor = slot.converted
        if tensor is None or slot.source is None or not slot.passes_through or not tensor.is_contiguous():
            return None
        return tensor if tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size() else None

    def make_stand_in(self, position: int) -> tuple[Version, torch.Tensor]:
        """Makes a tensor without bytes that stands for an argument from now on.

        Returns:
            The version of the argument's contents, and the stand-in.
        """
        slot = self._slots[position]
        assert slot.converted is not None
        slot.source = slot.converted = stand_in = torch.empty_like(slot.converted)
        stand_in.untyped_storage().resize_(0)
        return slot.version, stand_in

    def is_stand_in(self, position: int, tensor: torch.Tensor) -> bool:
        """Returns whether this tensor without bytes stands for an argument."""
        return self._slots[position].source is tensor

    def forget_stand_ins(self) -> None:
        """Drops all stand-ins, so that the next run needs the caller's own tensors."""
        for slot in self._slots:
            if slot.converted is not None and not slot.converted.untyped_storage().nbytes():
                slot.version = slot.token = slot.source = slot.converted = None

    def forget(self, version: int) -> None:
        """Drops tensors converted from contents that no longer exist."""
        for slot in self._slots:
            if slot.version == version:
                slot.version = slot.token = slot.source = slot.converted = None

    def _mismatch(self, slot: _Slot, tensor: torch.Tensor) -> ExecutionError:
        return ExecutionError(
            f"Argument '{slot.argument.name}' of program '{self._program}' is {describe(tensor.dtype, tensor.shape)}, "
            f"expected {describe(slot.dtype, slot.shape)}.",
            hint="A Program runs on the shapes and types it was compiled for; compile again for others.",
        )

    def _remembered(self, slot: _Slot, tensor: torch.Tensor, version: Version) -> torch.Tensor:
        """Converts a parameter or constant, and caches the tensor for the next run when its contents have a version."""
        token = None if version is None else (version, tensor.stride(), tensor.storage_offset())
        if token is None or token != slot.token or slot.converted is None:
            slot.converted = self._narrowed(slot, tensor.detach())  # a new object, because the contents are new
        if version is not None and version != slot.version:
            self.new_versions.append(version)
        slot.version, slot.token, slot.source = version, token, tensor
        converted = slot.converted
        if version is None:
            slot.source = slot.converted = None
        return converted

    def _narrowed(self, slot: _Slot, tensor: torch.Tensor) -> torch.Tensor:
        if slot.passes_through:
            return tensor
        narrowed = place.brought(narrow(tensor, slot.spec.layout.dtype, slot.argument))
        return narrowed if tuple(narrowed.shape) == slot.spec.shape else narrowed.reshape(slot.spec.shape)


def _passes_through(argument: Argument, spec: TensorSpec) -> bool:
    dtype = spec.layout.dtype
    same_type = DECLARED[argument.dtype] is CONTAINERS[dtype] and fills_container(dtype)
    return same_type and tuple(argument.shape) == spec.shape and place.device().type == "cpu"


def _number(argument: Argument, spec: TensorSpec) -> torch.Tensor | None:
    """Returns a tensor that can take an argument's value in each run; None where it is not a single int64, or the
    program writes to it, so that it may be a result."""
    dtype = spec.layout.dtype
    is_one = math.prod(argument.shape) == 1 and DECLARED[argument.dtype] is torch.int64 and not argument.written
    if not is_one or dtype not in INTEGER_RANGES or place.device().type != "cpu":
        return None
    return torch.zeros(spec.shape, dtype=CONTAINERS[dtype], device="cpu")


def _checked_number(tensor: torch.Tensor, into: torch.Tensor, dtype: DataType, argument: Argument) -> torch.Tensor:
    """Writes an integer of one element into a tensor that the device holds, as :func:`narrow` converts it: a position
    comes in each step of a decoder, and its conversion by torch takes ten times as long."""
    number, (low, high) = int(tensor), INTEGER_RANGES[dtype]
    if not low <= number <= high:
        raise _does_not_fit(argument, number, dtype)
    return into.fill_(number)


def narrow(tensor: torch.Tensor, dtype: DataType, argument: Argument) -> torch.Tensor:
    """Converts a tensor to the values that the device holds; a tensor that needs no change is returned as it is.

    Args:
        tensor: an argument in its declared dtype.
        dtype: element type on the device.
        argument: the argument's declaration, for error messages.

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
        f"Argument '{argument.name}' holds the value {value!r}, which does not fit {dtype}, the on-device "
        f"type of {argument.dtype}.",
        hint="The chip computes in 32 bits; scale the argument or keep this part of the computation on the host.",
    )


Declared = tuple[torch.dtype, tuple[int, ...]]
"""Dtype and shape of a result as its caller receives it."""


def declared(result: Result) -> Declared:
    """Returns the dtype and shape in which a caller receives a result."""
    return DECLARED[result.dtype], tuple(result.shape)


def widen(tensor: torch.Tensor, declared: Declared) -> torch.Tensor:
    """Returns ``tensor`` on the CPU in the declared dtype and shape, contiguous; copies only if something changes."""
    dtype, shape = declared
    if not tensor.is_cpu:
        tensor = tensor.cpu()
    if tensor.dtype is not dtype:
        tensor = tensor.ne(0) if dtype is torch.bool else tensor.to(dtype)
    if tensor.shape != shape:
        tensor = tensor.reshape(shape)
    return tensor if tensor.is_contiguous() else tensor.contiguous()
