"""Calls of C++ on tensors: no other module passes the address of a tensor's memory.

:class:`CppFunction` checks each tensor that it passes, and holds it until the function returns. The call of a fused
kernel, which :func:`fused_call` writes, makes the calls of its steps instead where a tensor is not as it expects it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, MappingProxyType
from typing import Any

import torch

from tt_xla.runtime.emulator.fused.cpp import Operand, contiguous

FUSED = "fused_kernel"
"""Name, in tracebacks, of the function that calls a fused kernel's steps one by one."""

_GUARDED = """\
def call({tensors}):
    if {differ}:
        return apart(one_by_one({tensors}), results)
    try:
{body}
        if function(inputs({pointers}), outputs({results}), {arena}):
            return apart(one_by_one({tensors}), results)
{marks}
    except Exception as error:
        failed(error)
        return apart(one_by_one({tensors}), results)
    return {returned}
"""


@dataclass(frozen=True)
class Memory:
    """A parameter of C++ that points to a tensor's memory; None is passed as a null pointer."""

    dtypes: tuple[torch.dtype, ...]
    """Dtypes that the tensor may have."""
    is_dense: bool = True
    """Whether the elements lie side by side in order."""

    c_type = ctypes.c_void_p

    def read(self, tensor: Any) -> int | None:
        """Returns the address of a tensor.

        Raises:
            TypeError: C++ would read or write other memory than the tensor's elements.
        """
        if tensor is None:
            return None
        if tensor.dtype not in self.dtypes or not tensor.is_cpu or (self.is_dense and not tensor.is_contiguous()):
            expected = " or ".join(map(str, self.dtypes)) + (", contiguous" if self.is_dense else "")
            raise TypeError(
                f"a function of C++ takes {expected} on the CPU, got {tensor.dtype} {list(tensor.shape)} with strides "
                f"{tensor.stride()} on {tensor.device}"
            )
        return tensor.data_ptr()


FLOATS = Memory((torch.float32,))
BFLOATS = Memory((torch.bfloat16,))
LONGS = Memory((torch.int64,))


class Number:
    """A parameter of C++ that is a number."""

    c_type = ctypes.c_long

    def read(self, number: Any) -> int:
        """Returns the number."""
        return number


NUMBER = Number()

Parameter = Memory | Number


class CppFunction:
    """A function of C++ that takes tensors and numbers and returns nothing.

    Args:
        symbol: the function of the library.
        parameters: its parameters.
    """

    def __init__(self, symbol: Any, parameters: Sequence[Parameter]) -> None:
        symbol.argtypes, symbol.restype = [parameter.c_type for parameter in parameters], None
        self._symbol = symbol
        self._reads = [parameter.read for parameter in parameters]

    def __call__(self, *arguments: torch.Tensor | int | None) -> None:
        """Calls the function.

        Raises:
            TypeError: a tensor has another dtype, lies in another way or in other memory than the function expects.
        """
        self._symbol(*[read(argument) for read, argument in zip(self._reads, arguments, strict=True)])


def fused_call(
    function: Callable[..., int],
    inputs: Sequence[Operand],
    results: Sequence[Operand],
    arena: Callable[[], torch.Tensor] | torch.Tensor,
    one_by_one: Callable[..., Any],
    failed: Callable[[Exception], None],
    prepared: Mapping[int, Any] = MappingProxyType({}),
    marks: Mapping[int, Callable[[torch.Tensor], None]] = MappingProxyType({}),
) -> Callable[..., Any]:
    """Returns the call of a fused kernel, which makes the calls of its steps where it cannot compute them.

    Args:
        function: the compiled function of pointers to inputs, to results and to the arena.
        inputs: how its inputs lie.
        results: how its results are to lie.
        arena: the memory that the function computes in, or what returns it. It serves all calls: programs run one at a
            time.
        one_by_one: makes the calls of its steps, for inputs that lie otherwise, after an error, and where an index is
            outside of its tensor, which is an error there.
        failed: takes an error of the call.
        prepared: calls whose prepared weights stand for inputs, by position.
        marks: functions that take results once they are computed, by position.
    """
    tensors, outputs = [f"a{n}" for n in range(len(inputs))], [f"o{n}" for n in range(len(results))]
    names: dict[str, Any] = {f"d{position}": operand.dtype for position, operand in enumerate(results)}
    names |= {f"i{position}": operand.dtype for position, operand in enumerate(inputs)}
    names |= {f"w{position}": call.prepared for position, call in prepared.items()}
    body = [
        f"{name} = empty({operand.shape}, {operand.stride}, dtype=d{position}, device='cpu')"
        for position, (name, operand) in enumerate(zip(outputs, results, strict=True))
    ]
    body += [f"p{position} = w{position}(a{position})" for position in prepared]
    read = [f"p{n}" if n in prepared else name for n, name in enumerate(tensors)]
    text = _GUARDED.format(
        tensors=", ".join(tensors),
        differ=" or ".join(
            f"{name}.stride() != {operand.stride} or {name}.dtype is not i{position}"
            for position, (name, operand) in enumerate(zip(tensors, inputs, strict=True))
            if position not in prepared  # what is read of these lies as it was prepared
        )
        or "False",
        body="\n".join(f"        {line}" for line in body),
        pointers=", ".join(f"{name}.data_ptr()" for name in read),
        results=", ".join(f"{name}.data_ptr()" for name in outputs),
        returned=", ".join(outputs) or "()",
        marks="\n".join(f"        m{position}({outputs[position]})" for position in marks),
        arena="address" if isinstance(arena, torch.Tensor) else "arena().data_ptr()",
    )
    if isinstance(arena, torch.Tensor):
        names["address"] = arena.data_ptr()
    names |= {"function": function, "one_by_one": one_by_one, "failed": failed, "arena": arena}
    names |= {f"m{position}": mark for position, mark in marks.items()}
    names |= {"apart": _apart, "results": results, "empty": torch.empty_strided}
    names |= {"inputs": ctypes.c_void_p * len(inputs), "outputs": ctypes.c_void_p * len(results)}
    exec(_python(text), names)
    return names.pop("call")


@functools.lru_cache(maxsize=256)
def _python(text: str) -> CodeType:
    """Compiles Python around a function of a library; the layers of a model have the same."""
    return compile(text, f"<{FUSED}>", "exec")


def _apart(outcome: Any, results: Sequence[Operand]) -> Any:
    """Copies what the steps returned into memory of its own, as a fused kernel returns it."""
    several = isinstance(outcome, tuple)
    copies = tuple(
        tensor.clone(memory_format=torch.contiguous_format if operand.stride == contiguous(operand.shape) else None)
        for tensor, operand in zip(outcome if several else (outcome,), results, strict=True)
    )
    return copies if several else copies[0]


__all__ = [
    "BFLOATS",
    "FLOATS",
    "FUSED",
    "LONGS",
    "NUMBER",
    "CppFunction",
    "Memory",
    "Parameter",
    "fused_call",
]
