"""Computes ops on few integers when they are called, where the host has their operands.

Ids, positions and masks decide what a program reads, not how long it computes: PyTorch's kernels compute them on the
CPU with the same bits, in less time than it takes to record them. An op on an integer that a recorded op is yet to
compute is recorded. The position of a largest element of what the host has, such as the next token, is computed too
(:func:`position`); where elements are moved before, it is recorded and its program run at once (:func:`is_awaited`), so
that the ops on it compute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import on_host
from tt_xla.frontends.torch.device.buffers import buffer_of
from tt_xla.frontends.torch.device.kinds import MAX_INTEGERS
from tt_xla.frontends.torch.device.native import MAX_PAIRS, NATIVE
from tt_xla.frontends.torch.device.signatures import Signature
from tt_xla.frontends.torch.device.tensor_factory import factory_for
from tt_xla.frontends.torch.device.values import Value

aten = torch.ops.aten
Tensor = torch.Tensor

_INTEGERS = frozenset((torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64))
"""Dtypes of integers with which PyTorch computes on the CPU."""

POSITIONS = frozenset((aten.argmax.default, aten.argmin.default))
"""Ops that find positions of elements."""
_EXACT = (torch.bfloat16, torch.float32)
"""Dtypes of floats that a program compares as they are."""
_MOVES = {
    *(aten._to_copy.default, aten.expand.default, aten.permute.default, aten.reshape.default, aten.slice.Tensor),
    torch.ops.prims.convert_element_type.default,
}
_FACTORIES = {aten.arange.start_step, aten.full.default, aten.ones.default, aten.zeros.default}
_MAX_FORMS = 4096


def run(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any], chip: int | None) -> Any:
    """Computes an op that draws nothing and returns no view.

    Args:
        signature: the op.
        args: its positional arguments.
        kwargs: its keyword arguments.
        chip: number of the chip that gets the results; None for that of the operands.

    Returns:
        What the op returns; NotImplemented if it is to be recorded, also because PyTorch refuses the arguments.
    """
    own = session.current
    op = signature.op
    form: list[Any] = [op]
    tensors: list[Tensor] = []
    try:
        hosts = [_host(arg, form, tensors) for arg in args]
        options = {name: _host(value, form, tensors) for name, value in kwargs.items()} if kwargs else kwargs
    except NotImplementedError:
        return NotImplemented
    key = tuple(form)
    takes = own.integer_forms.get(key)
    if takes is None:
        takes = op.namespace == "aten" and (bool(tensors) or op in _FACTORIES)
    if not takes or own.chips.splits_tensors or not _is_small(args, tensors):
        return NotImplemented
    if chip is None:
        chip = buffer_of(tensors[0]).chip
    try:
        if signature.writes:
            return on_host.run_uncounted(signature, args, kwargs, chip)
        result = op(*hosts, **options)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return NotImplemented  # recording it raises what the user is to see
    if len(own.integer_forms) >= _MAX_FORMS:
        own.integer_forms.clear()
    own.integer_forms[key] = is_taken = isinstance(result, Tensor) and result.dtype in _INTEGERS
    if NATIVE.waits:
        NATIVE.ran()
    return _lifted(result, hosts, chip) if is_taken else NotImplemented


def position(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Computes an op of :data:`POSITIONS`.

    Args:
        signature: the op.
        args: its positional arguments, a tensor of the device first.
        kwargs: its keyword arguments.

    Returns:
        What the op returns; NotImplemented if it is to be recorded: the host lacks the elements, a program would round
        them before it compares, or many positions are asked for.
    """
    tensor, dim = args[0], args[1] if len(args) > 1 else None
    if tensor.is_cpu or tensor.dtype not in _EXACT or not tensor.numel() or not _may_compute():
        return NotImplemented
    buffer = buffer_of(tensor)
    if not buffer.is_on_host or tensor.is_neg():
        return NotImplemented
    try:
        if dim is not None and tensor.dim() and tensor.numel() // tensor.shape[dim] > MAX_INTEGERS:
            return NotImplemented
        result = signature.op(buffer.present(tensor), *args[1:], **kwargs)
    except (RuntimeError, TypeError, IndexError):
        return NotImplemented  # recording it raises what the user is to see
    return factory_for(result.dtype, result.shape, result.stride(), buffer.chip).lift(result)


def _may_compute() -> bool:
    """Whether ops may run now, in a thread whose tensors lie on one chip each."""
    own = session.current
    return own.mode.may_run and not own.chips.splits_tensors and own.chips.of_thread.replica is None


def is_awaited(values: Sequence[Value]) -> bool:
    """Returns whether a recorded op finds positions in elements that the host has, which may be moved before."""
    value = values[0]
    node = value.node
    if node is None or node.kind.op not in POSITIONS or math.prod(value.shape) > MAX_INTEGERS:
        return False
    if not _may_compute():
        return False
    (value,) = node.inputs
    while (node := value.node) is not None and node.kind.op in _MOVES:
        (value,) = node.inputs
    return value.host is not None


def _host(argument: Any, form: list[Any], tensors: list[Tensor]) -> Any:
    """Returns an argument with the host's aliases in place of the device's tensors.

    Args:
        argument: the argument.
        form: what decides the dtype of the result; is extended.
        tensors: tensors of the device; is extended.

    Raises:
        NotImplementedError: the argument has tensors of another kind, as :func:`buffer_of` raises for those without
            contents.
    """
    kind = type(argument)
    if kind is int or kind is bool or argument is None:
        form.append(kind)
        return argument
    if isinstance(argument, Tensor):
        dtype = argument.dtype
        if dtype not in _INTEGERS or argument.numel() > MAX_INTEGERS:
            raise NotImplementedError
        form.append(dtype)
        if argument.is_cpu and not argument.dim():  # mixes with tensors of any device
            return argument
        buffer = buffer_of(argument)
        if not buffer.is_on_host:
            raise NotImplementedError
        tensors.append(argument)
        return buffer.alias(argument)
    if kind is list or kind is tuple:
        form.append(len(argument))
        return [_host(item, form, tensors) for item in argument]
    form.append(argument if kind is torch.dtype else kind)
    return torch.device("cpu") if kind is torch.device else argument


def _is_small(args: Sequence[Any], tensors: Sequence[Tensor]) -> bool:
    """Whether operands of one chip have a result of few elements, as far as their sizes and the arguments tell."""
    if not tensors and type(args[0]) not in (list, tuple):
        start, end, step = args[:3]
        return step != 0 and abs((end - start) / step) <= MAX_INTEGERS
    if len(tensors) > 1:
        if math.prod([tensor.numel() for tensor in tensors]) > MAX_PAIRS:
            return False
        if len({tensor.get_device() for tensor in tensors}) > 1:
            return False  # recording raises the error
    for arg in args:
        if type(arg) in (list, tuple) and abs(math.prod([n for n in arg if type(n) is int])) > MAX_INTEGERS:
            return False
    return True


def _lifted(result: Tensor, hosts: Sequence[Any], chip: int) -> Tensor:
    """Returns a tensor of the device with the memory of a result, or a copy of memory that an operand has."""
    address = result.data_ptr()
    shares = address in [host.data_ptr() for host in hosts if type(host) is Tensor]
    if (shares and address) or result.untyped_storage().nbytes() != result.nbytes:
        result = result.clone(memory_format=torch.contiguous_format)
    return factory_for(result.dtype, result.shape, result.stride(), chip).lift(result)


__all__ = ["POSITIONS", "is_awaited", "position", "run"]
