"""Runs instructions of TTNN in float32 beside what the emulated card computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import torch
from torch.utils.weak import WeakTensorKeyDictionary

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import HOST_OPS, Instruction, TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Call, Context, Specs, Weighted
from tt_xla.testing.divergence.parts import Error
from tt_xla.testing.divergence.runs import Array, to_array

_WITHOUT_FLOAT32 = ("ttnn.constant", "ttnn.bitcast_convert", *HOST_OPS)
"""Instructions that depend on the bits or types of their operands, so that they have no meaning in float32."""


class Float32Copies:
    """The float32 counterparts of tensors on the card."""

    def __init__(self) -> None:
        self._copies = WeakTensorKeyDictionary()

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the float32 counterpart of a tensor on the card; a copy of it if there is none yet."""
        counterpart = self._copies.get(tensor)
        if counterpart is None:
            counterpart = self._copies[tensor] = _float32(tensor)
        return counterpart

    def called(self, call: Call | None, tensors: Sequence[torch.Tensor]) -> tuple[Any, Any]:
        """Returns the results of an instruction in float32, on the operands that the card computed, and on their
        counterparts; None where the instruction has no meaning in float32."""
        counterparts = [self.of(tensor) for tensor in tensors]
        return _try_call(call, [_float32(tensor) for tensor in tensors]), _try_call(call, counterparts)

    def keep(self, results: Sequence[torch.Tensor], running: Any) -> Sequence[torch.Tensor]:
        """Keeps the counterparts of results: what was computed in float32, or copies. Returns them."""
        counterparts = [_float32(tensor) for tensor in results] if running is None else as_sequence(running)
        for tensor, counterpart in zip(results, counterparts, strict=True):
            self._copies[tensor] = counterpart
        return counterparts


def float32_call_of(context: Context, instruction: Instruction) -> Call | None:
    """Returns the kernel of an instruction with float32 operands and results; None if it has no meaning in float32."""
    if instruction.op in _WITHOUT_FLOAT32:
        return None
    operands = {name: _float32_specs(specs) for name, specs in context.operands.items()}
    results = tuple(map(_float32_spec, context.results))
    kernel = bind(Context(context.op, "exact", operands, results), instruction.attributes, instruction.location)
    return kernel.call if isinstance(kernel, Weighted) else kernel


def _float32_specs(specs: Specs) -> Specs:
    return tuple(map(_float32_spec, specs)) if isinstance(specs, tuple) else _float32_spec(specs)


def _float32_spec(spec: TensorSpec) -> TensorSpec:
    """Returns the spec with type float32 if its type is a float, and unchanged otherwise."""
    if not spec.layout.dtype.is_float:
        return spec
    return msgspec.structs.replace(spec, layout=spec.layout.retyped(DataType.F32))


def _float32(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy, in float32 if the tensor is a float. Instructions that write to their operands need a copy."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.clone()


def as_sequence(returned: Any) -> Sequence[torch.Tensor]:
    """Returns the results of a call as a sequence."""
    return returned if isinstance(returned, tuple) else (returned,)


def _try_call(call: Call | None, tensors: Sequence[torch.Tensor]) -> Any:
    """Returns results in float32; None without a call.

    Kernels and torch refuse float32 with errors of several types; None is returned for those as well.
    """
    if call is None:
        return None
    try:
        return call(*tensors)
    except (RuntimeError, TypeError, ValueError):
        return None


def worse(known: Error | None, actual: Sequence[Array], exact: Any) -> Error | None:
    """Returns the larger of a known error and the error of further results; the known one without exact results."""
    if exact is None:
        return known
    error = Error.of(actual, [to_array(tensor) for tensor in as_sequence(exact)])
    return error if known is None or error.weight > known.weight else known


def type_text(spec: TensorSpec) -> str:
    """Returns shape and format of a value."""
    return "x".join(map(str, (*spec.shape, spec.layout.dtype.value)))
