"""The table of kernels, and how an instruction is bound to one.

A kernel is a plain function of torch tensors. It is called with a :class:`Context`, the operands by their TTNN names
and the attributes by theirs; what it returns is rounded to the dtype of the instruction's result.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.registry import Registry
from tt_xla.runtime.emulator.containers import CONTAINERS, fills_container, hold
from tt_xla.runtime.emulator.small import are_small

FAMILIES = (
    "attention",
    "caches",
    "convolution",
    "creation",
    "data_movement",
    "elementwise",
    "host",
    "indexing",
    "layout",
    "matrix",
    "normalization",
    "pooling",
    "reduction",
)

Specs = TensorSpec | tuple[TensorSpec, ...]
Call = Callable[..., Any]
"""The tensors of an instruction's operands, flat and in order, to its result, or to a tuple of several."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Weighted:
    """A kernel whose second operand, the weights, is often the same tensor in call after call."""

    call: Call
    """Takes the operands as they are."""
    prepare: Callable[[torch.Tensor], torch.Tensor]
    """What is made of weights once for many calls: what the matrix unit keeps of them, in the order it is read in."""
    with_prepared: Call
    """Takes prepared weights instead, and gives the same bits."""
    restore: Callable[[torch.Tensor], torch.Tensor] | None = None
    """Makes weights of what was prepared of them; None where a part of them is lost, or may be."""
    stay: bool = False
    """Whether the weights are read further, by the second engine."""


@dataclass(frozen=True)
class Context:
    """What a kernel knows besides its tensors and attributes."""

    op: str
    numerics: str
    """``silicon`` or ``exact``."""
    operands: Mapping[str, Specs]
    results: tuple[TensorSpec, ...]

    @property
    def silicon(self) -> bool:
        return self.numerics == "silicon"

    @property
    def result(self) -> TensorSpec:
        return self.results[0]

    @property
    def dtype(self) -> DataType:
        """Of the first result."""
        return self.results[0].layout.dtype

    @property
    def container(self) -> torch.dtype:
        return CONTAINERS[self.dtype]


@dataclass(frozen=True)
class Kernel:
    op: str
    function: Callable[..., Any]
    keeps_values: bool
    """Each element of the result is in place in the operand, so a format they share needs no second packing."""
    prepared: bool = False
    """``function`` takes context and attributes alone and returns what takes the operands, or a :class:`Weighted`."""
    widens: bool = False
    """Where all operands and results are small floats, ``function`` is given float64 (:mod:`small`)."""


_TABLE: Registry[str, Kernel] = Registry("kernel")


def kernel(
    *ops: str, keeps_values: bool = False, prepared: bool = False, widens: bool = False
) -> Callable[[_Function], _Function]:
    """Registers a function as the kernel of ``ops``, or with ``prepared`` as what makes it of context and attributes.

    Raises:
        ValueError: one of them has a kernel already.
    """

    def register(function: _Function) -> _Function:
        for op in ops:
            _TABLE[op] = Kernel(op, function, keeps_values, prepared, widens)
        return function

    return register


@functools.cache
def kernels() -> Mapping[str, Kernel]:
    """Every kernel by the name of its op."""
    for family in FAMILIES:
        importlib.import_module(f"tt_xla.runtime.emulator.kernels.{family}")
    return _TABLE


def find(op: str, location: str = "") -> Kernel:
    """The kernel of ``op``.

    Raises:
        ExecutionError: there is none; the message has names near to it.
    """
    table = kernels()
    if op in table:
        return table[op]
    near = difflib.get_close_matches(op, sorted(table), n=3)
    hint = f"Near names are {', '.join(near)}. " if near else ""
    raise ExecutionError(
        f"The emulated card has no kernel for {op}.",
        hint=f"{hint}Kernels are registered in tt_xla/runtime/emulator/kernels.",
        location=location,
    )


def bind(context: Context, attributes: Mapping[str, Any], location: str = "") -> Call | Weighted:
    """The call that executes one instruction; where the kernel can prepare its weights, in both forms.

    Raises:
        ExecutionError: the op has no kernel, or its kernel does not take these operands and attributes.
    """
    found = find(context.op, location)
    function = found.function
    # "inputs" of a concat is one operand of many tensors.
    shape = [(name, len(specs) if isinstance(specs, tuple) else None) for name, specs in context.operands.items()]
    names = [name for name, _ in shape]
    try:
        if found.prepared:
            inspect.signature(function).bind(context, **attributes)
            made = function(context, **attributes)
            call = made.call if isinstance(made, Weighted) else made
            inspect.signature(call).bind(**dict.fromkeys(names))
            taken = list(inspect.signature(call).parameters)
            if isinstance(made, Weighted) and names == taken[: len(names)]:
                finished = (_finished(context, found, form) for form in (made.call, made.with_prepared))
                call, with_prepared = finished
                return Weighted(call, made.prepare, with_prepared, made.restore, made.stay)
        else:
            inspect.signature(function).bind(context, **dict.fromkeys(names), **attributes)
            call = functools.partial(function, context, **attributes)
            taken = list(inspect.signature(function).parameters)[1:]
    except TypeError as error:
        raise ExecutionError(
            f"The kernel of {context.op} does not take operands {', '.join(context.operands) or 'none'} with "
            f"attributes {', '.join(attributes) or 'none'}: {error}.",
            hint=f"It takes {inspect.signature(function)}.",
            location=location,
        ) from None
    except ValueError as error:
        raise ExecutionError(f"{context.op} cannot run: {error}.", location=location) from error
    if any(count is not None for _, count in shape):
        call = _grouping(call, shape)
    elif names != taken[: len(names)]:
        call = _naming(call, names)
    return _finished(context, found, call)


def _naming(function: Call, names: Sequence[str]) -> Call:
    """For operands that stand in another order than the kernel's parameters."""

    def call(*tensors: torch.Tensor) -> Any:
        return function(**dict(zip(names, tensors, strict=True)))

    return call


def _grouping(function: Call, shape: Sequence[tuple[str, int | None]]) -> Call:
    """For operands some of which are lists of so many tensors."""

    def call(*tensors: torch.Tensor) -> Any:
        operands: dict[str, Any] = {}
        start = 0
        for name, count in shape:
            operands[name] = tensors[start] if count is None else list(tensors[start : start + count])
            start += 1 if count is None else count
        return function(**operands)

    return call


def _widening(function: Call) -> Call:
    """Gives a kernel its operands in float64."""
    return lambda *tensors: function(*[tensor.to(torch.float64) for tensor in tensors])


def _finished(context: Context, found: Kernel, function: Call) -> Call:
    """Rounds what a kernel returns to its result specs, with nothing to do where containers agree."""
    sources = {specs.layout.dtype for specs in context.operands.values() if isinstance(specs, TensorSpec)}
    dtypes = [spec.layout.dtype for spec in context.results]
    if found.widens and are_small([*context.operands.values(), *context.results]):
        function = _widening(function)
    if len(dtypes) != 1:
        return lambda *tensors: tuple(
            hold(tensor, dtype) for tensor, dtype in zip(function(*tensors), dtypes, strict=True)
        )
    if found.keeps_values and sources == set(dtypes):
        return function
    (dtype,) = dtypes
    if not fills_container(dtype):
        return lambda *tensors: hold(function(*tensors), dtype)
    container = CONTAINERS[dtype]

    def call(*tensors: torch.Tensor) -> torch.Tensor:
        made = function(*tensors)
        return made if made.dtype is container else hold(made, dtype)

    return call
