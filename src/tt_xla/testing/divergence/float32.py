"""Runs instructions of TTNN in float32 beside what the emulated card computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.emulator.float32 import as_float32, try_call
from tt_xla.testing.divergence.parts import Error
from tt_xla.testing.divergence.runs import Array, to_array


class Float32Copies:
    """The float32 counterparts of tensors on the card."""

    def __init__(self) -> None:
        self._copies = WeakTensorKeyDictionary()

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the float32 counterpart of a tensor on the card; a copy of it if there is none yet."""
        counterpart = self._copies.get(tensor)
        if counterpart is None:
            counterpart = self._copies[tensor] = as_float32(tensor)
        return counterpart

    def called(self, call: Call | None, tensors: Sequence[torch.Tensor]) -> tuple[Any, Any]:
        """Returns the results of an instruction in float32, on the operands that the card computed, and on their
        counterparts; None where the instruction has no meaning in float32."""
        counterparts = [self.of(tensor) for tensor in tensors]
        return try_call(call, [as_float32(tensor) for tensor in tensors]), try_call(call, counterparts)

    def keep(self, results: Sequence[torch.Tensor], running: Any) -> Sequence[torch.Tensor]:
        """Keeps the counterparts of results: what was computed in float32, or copies. Returns them."""
        counterparts = [as_float32(tensor) for tensor in results] if running is None else as_sequence(running)
        for tensor, counterpart in zip(results, counterparts, strict=True):
            self._copies[tensor] = counterpart
        return counterparts


def as_sequence(returned: Any) -> Sequence[torch.Tensor]:
    """Returns the results of a call as a sequence."""
    return returned if isinstance(returned, tuple) else (returned,)


def worse(known: Error | None, actual: Sequence[Array], exact: Any) -> Error | None:
    """Returns the larger of a known error and the error of further results; the known one without exact results."""
    if exact is None:
        return known
    error = Error.of(actual, [to_array(tensor) for tensor in as_sequence(exact)])
    return error if known is None or error.weight > known.weight else known


def type_text(spec: TensorSpec) -> str:
    """Returns shape and format of a value."""
    return "x".join(map(str, (*spec.shape, spec.layout.dtype.value)))
