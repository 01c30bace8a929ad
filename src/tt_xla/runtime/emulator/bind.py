"""How an instruction is bound: to a faster way where there is one, else to the kernel of its op."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.containers import CONTAINERS, fills_container, hold
from tt_xla.runtime.emulator.context import Call, Context, Weighted
from tt_xla.runtime.emulator.fast.fence import Fence, Instead
from tt_xla.runtime.emulator.fast.ways import take
from tt_xla.runtime.emulator.registry import Kernel, find


def bind(context: Context, attributes: Mapping[str, Any], location: str = "", *, fast: bool = True) -> Call | Weighted:
    """Returns the call that executes one instruction, in two forms where its weights can be prepared.

    Args:
        fast: whether a faster way may replace the kernel; none does with ``numerics=bit_exact``.

    Raises:
        ExecutionError: the op has no kernel, or its kernel does not take these operands and attributes.
    """
    definition = find(context.op, location, bit_exact=context.bit_exact)
    # "inputs" of a concat is one operand of many tensors.
    shape = [(name, len(specs) if isinstance(specs, tuple) else None) for name, specs in context.operands.items()]
    try:
        call, parameters = _checked_call(definition, context, attributes)
        call = _in_order(call, parameters, shape)
        faster = _faster(context, attributes, call) if fast and not context.bit_exact else None
    except TypeError as error:
        raise ExecutionError(
            f"The kernel of {context.op} does not take operands {', '.join(context.operands) or 'none'} with "
            f"attributes {', '.join(attributes) or 'none'}: {error}.",
            hint=f"It takes {inspect.signature(definition.function)}.",
            location=location,
        ) from None
    except ValueError as error:
        raise ExecutionError(f"{context.op} cannot run: {error}.", location=location) from error
    return _finished(context, definition, call) if faster is None else faster


def _faster(context: Context, attributes: Mapping[str, Any], kernel: Call) -> Call | Weighted | None:
    """Returns the faster way to execute an instruction, whose kernel takes over when it fails; None if there is none.

    Raises:
        ValueError: an attribute has a value that the op does not take.
    """
    fence = Fence(context, attributes, kernel)
    try:
        faster = take(context, attributes)
    except ValueError:
        raise
    except Exception as error:
        fence.report(error)
        return None
    if not isinstance(faster, Weighted):
        return None if faster is None else _fenced(context, faster, fence.compute)
    return replace(
        faster,
        call=_fenced(context, faster.call, fence.compute),
        prepare=fence.preparing(faster.prepare),
        with_prepared=_fenced(context, faster.with_prepared, fence.with_restored(faster.restore)),
    )


def _fenced(context: Context, function: Call, instead: Instead) -> Call:
    """Rounds what ``function``, or after an error ``instead``, returns to the spec of the one result."""
    container, fills = CONTAINERS[context.dtype], fills_container(context.dtype)

    def call(*tensors: torch.Tensor) -> torch.Tensor:
        try:
            result = function(*tensors)
        except Exception as error:
            result = instead(error, tensors)
        return result if fills and result.dtype is container else hold(result, context.dtype)

    return call


def _checked_call(definition: Kernel, context: Context, attributes: Mapping[str, Any]) -> tuple[Call, list[str]]:
    """Returns the kernel as a function of the operands, and the names of its parameters.

    Raises:
        TypeError: the kernel takes other operands or attributes.
    """
    function = definition.function
    operands = dict.fromkeys(context.operands)
    if definition.prepared:
        inspect.signature(function).bind(context, **attributes)
        call = function(context, **attributes)
        inspect.signature(call).bind(**operands)
        return call, list(inspect.signature(call).parameters)
    inspect.signature(function).bind(context, **operands, **attributes)
    return functools.partial(function, context, **attributes), list(inspect.signature(function).parameters)[1:]


def _in_order(function: Call, parameters: Sequence[str], shape: Sequence[tuple[str, int | None]]) -> Call:
    """Returns the kernel as a function of the operands in the instruction's order.

    Args:
        function: the kernel as a function of its operands.
        parameters: names of the kernel's parameters.
        shape: each operand's name, and the length of its list or None for one tensor.
    """
    names = [name for name, _ in shape]
    if any(count is not None for _, count in shape):
        return _grouping(function, shape)
    return function if names == parameters[: len(names)] else _naming(function, names)


def _naming(function: Call, names: Sequence[str]) -> Call:
    """Passes operands by name, for operands that stand in another order than the kernel's parameters."""

    def call(*tensors: torch.Tensor) -> Any:
        return function(**dict(zip(names, tensors, strict=True)))

    return call


def _grouping(function: Call, shape: Sequence[tuple[str, int | None]]) -> Call:
    """Passes operands by name, for operands some of which are lists of tensors.

    Args:
        shape: each operand's name, and the length of its list or None for one tensor.
    """

    def call(*tensors: torch.Tensor) -> Any:
        operands: dict[str, Any] = {}
        start = 0
        for name, count in shape:
            operands[name] = tensors[start] if count is None else list(tensors[start : start + count])
            start += 1 if count is None else count
        return function(**operands)

    return call


def _finished(context: Context, definition: Kernel, function: Call) -> Call:
    """Rounds what ``function`` returns to the specs of the results, unless it holds them already."""
    sources = {specs.layout.dtype for specs in context.operands.values() if isinstance(specs, TensorSpec)}
    dtypes = [spec.layout.dtype for spec in context.results]
    if len(dtypes) != 1:
        return lambda *tensors: tuple(
            hold(tensor, dtype) for tensor, dtype in zip(function(*tensors), dtypes, strict=True)
        )
    if definition.keeps_values and sources == set(dtypes):
        return function
    (dtype,) = dtypes
    if not fills_container(dtype):
        return lambda *tensors: hold(function(*tensors), dtype)
    container = CONTAINERS[dtype]

    def call(*tensors: torch.Tensor) -> torch.Tensor:
        result = function(*tensors)
        return result if result.dtype is container else hold(result, dtype)

    return call
