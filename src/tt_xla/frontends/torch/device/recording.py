"""Records ops without computing them: the arguments become values, and the results are values of a new node.

:func:`read` and :func:`write` make views functional. Reading a view records the steps from its base to the view;
writing one records a new base in which the view's elements are replaced.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import chips, metrics
from tt_xla.frontends.torch.device.buffers import Buffer, buffer_of
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.geometry import View, contiguous_strides, find_view, memory_order
from tt_xla.frontends.torch.device.kinds import (
    COMPUTING,
    fake,
    has_few_integers,
    is_computing_shapes,
    make_kind,
    plain_kind,
)
from tt_xla.frontends.torch.device.placements import follow, in_use, remember
from tt_xla.frontends.torch.device.signatures import Signature, signature_of
from tt_xla.frontends.torch.device.tensor_factory import factory_for
from tt_xla.frontends.torch.device.values import Kind, Node, Number, Operand, Output, Value
from tt_xla.frontends.torch.private.ops import OpOverload

aten = torch.ops.aten

_OWN_FILES: dict[str, bool] = {}
"""Whether a file is PyTorch's or this package's, by name."""
_TAKE_CPU_INDICES = {
    aten.index.Tensor,
    aten.index_put.default,
    aten._unsafe_index.Tensor,
    aten._unsafe_index_put.default,
}
_MAX_KINDS = 1 << 16
_OWN_FOLDERS = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]), "<frozen")


def _user_frame() -> tuple[CodeType, int] | None:
    """Returns code object and line of the innermost frame that belongs neither to PyTorch nor to this package."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        name = code.co_filename  # not the code object: dynamo puts slices into its constants, which have no hash
        own = _OWN_FILES.get(name)
        if own is None:
            own = _OWN_FILES[name] = name.startswith(_OWN_FOLDERS)
        if not own:
            return code, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def user_line() -> str:
    """Returns ``file:line`` of the innermost frame that belongs neither to PyTorch nor to this package."""
    where = _user_frame()
    return f"{where[0].co_filename}:{where[1]}" if where else ""


# Arguments -----------------------------------------------------------------------------------------------------------


def record(
    signature: Signature, args: Sequence[Any], kwargs: dict[str, Any], chip: int | None = None
) -> tuple[Kind, list[Value]]:
    """Records an op that writes to no argument.

    Args:
        signature: the op.
        args: positional arguments.
        kwargs: keyword arguments. A device among them is the first chip's, so that all chips share kinds.
        chip: number of the chip that computes the results; None for that of the tensors among the arguments.

    Returns:
        The kind and the results. When the op has to run on the host, the kind has a reason and there are no results.

    Raises:
        RuntimeError: an argument is a tensor of another device.
    """
    key: list[Any] = [signature, torch.get_default_dtype()]  # what PyTorch computes results' dtypes from
    values: list[Value] = []
    numbers: list[float] = []
    op, varying = signature.op, signature.varying
    for position, arg in enumerate(args):
        if position in varying and _varies(arg):
            key.append(type(arg))
            numbers.append(arg)
        else:
            _encode(op, arg, key, values)
    for name, arg in kwargs.items():
        key.append(name)
        if name in varying and _varies(arg):
            key.append(type(arg))
            numbers.append(arg)
        else:
            _encode(op, arg, key, values)
    if chip is None:
        chip = _chip_of(signature.op, values)
    own = session.current
    kind_key = tuple(key)
    kind = own.kinds.get(kind_key)
    if kind is None:
        kind = _new_kind(kind_key, signature, args, kwargs, numbers)
    if kind.reason:
        return kind, []
    own.pressure.nodes += 1
    own.counters[signature.counter] += 1
    node = Node(kind, tuple(values), tuple(numbers), _user_frame())
    return kind, [Value(output.shape, output.dtype, node, index, chip) for index, output in enumerate(kind.outputs)]


def _chip_of(op: OpOverload, values: Sequence[Value]) -> int | None:
    """Returns the chip that has some values; None where they are all of the host.

    Raises:
        RuntimeError: they are on several chips.
    """
    chip = None
    for value in values:
        if value.chip != chip and value.chip is not None:
            if chip is not None:
                raise _mixed(chips.device(chip), chips.device(value.chip), op)
            chip = value.chip
    return chip


def _mixed(first: torch.device, second: torch.device, op: OpOverload) -> RuntimeError:
    """Returns PyTorch's error about tensors on two devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first} and {second}! (when checking the arguments of {op})"
    )


def _varies(arg: Any) -> bool:
    """Returns whether an argument is a number that may become an input of the program.

    -0.0, which equals 0.0, and NaN, which equals nothing, stay part of the key, as do integers beyond 32 bits.
    """
    kind = type(arg)
    return (kind is int and -(2**31) <= arg < 2**31) or (
        kind is float and arg == arg and (arg != 0.0 or math.copysign(1.0, arg) > 0)
    )


def _encode(op: OpOverload, arg: Any, key: list[Any], values: list[Value]) -> None:
    """Appends what identifies an argument to the key of the kind, and the values of its tensors to ``values``."""
    if isinstance(arg, torch.Tensor):
        key += (arg.dtype, arg.shape, arg.stride())
        if arg.device.type == DEVICE_TYPE:
            values.append(read(arg))
        else:
            values.append(_value_of_host(op, arg))
            key.append("cpu")
    elif isinstance(arg, list | tuple):
        key.append(len(arg))
        for item in arg:
            _encode(op, item, key, values)
    elif type(arg) is float:
        key += (float, arg if arg and arg == arg else repr(arg))  # -0.0 equals 0.0, and NaN equals nothing
    else:
        key += (type(arg), arg)


def _value_of_host(op: OpOverload, tensor: torch.Tensor) -> Value:
    """Returns the value of a CPU tensor: 0-dim tensors mix with any device, and index ops take CPU indices.

    Once a script has imported torch_xla, so do elementwise ops on two tensors take one of the CPU.

    Raises:
        RuntimeError: the op takes no tensor of this device.
    """
    mixes = tensor.dim() == 0 or op in _TAKE_CPU_INDICES
    copies = not mixes and session.current.mode.copies_operands and signature_of(op).is_binary
    if tensor.device.type != "cpu" or not (mixes or copies):
        raise _mixed(chips.device(), tensor.device, op)
    with metrics.transferring(tensor.nbytes, to_device=True) if copies else contextlib.nullcontext():
        return Value.of(tensor.detach().clone(memory_format=torch.contiguous_format))


def _new_kind(
    key: tuple[Any, ...],
    signature: Signature,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    numbers: list[float],
) -> Kind:
    """Works out the kind of an op and enters it into the table under ``key``."""
    with COMPUTING:
        kind = session.current.kinds.get(key)
        return _work_out_kind(key, signature, args, kwargs, numbers) if kind is None else kind


def _work_out_kind(
    key: tuple[Any, ...],
    signature: Signature,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    numbers: list[float],
) -> Kind:
    operands: list[Any] = []
    number_indices = itertools.count()

    def entry_of(arg: Any, position: int | str | None = None) -> Any:
        if isinstance(arg, torch.Tensor):
            operands.append(fake(arg.shape, arg.dtype, arg.stride()))
            return Operand(len(operands) - 1)
        if isinstance(arg, list | tuple):
            return [entry_of(item) for item in arg]
        if position in signature.varying and _varies(arg):
            return Number(next(number_indices))
        return arg

    template = (
        [entry_of(arg, position) for position, arg in enumerate(args)],
        {name: entry_of(arg, name) for name, arg in kwargs.items()},
    )
    kind = make_kind(signature.op, template, operands, numbers)
    if not is_computing_shapes():  # a rule of PyTorch for fake tensors may call the op, with other results
        known = session.current.kinds
        if len(known) >= _MAX_KINDS:
            known.clear()
        known[key] = kind
    return kind


def emit(op: OpOverload, operands: Sequence[Value], rest: Sequence[Any], shape: Sequence[int]) -> Value:
    """Records an op that the frontend itself inserts, and returns its one result.

    Args:
        op: an op that has a lowering rule.
        operands: tensor arguments, which come first.
        rest: plain arguments. A dtype at the end is the result's dtype; otherwise that is the first operand's.
        shape: shape of the result.
    """
    dtype = rest[-1] if rest and isinstance(rest[-1], torch.dtype) else operands[0].dtype
    shape = tuple(shape)
    key = (op, shape, *((value.dtype, value.shape) for value in operands), *map(_frozen, rest))
    own = session.current
    kind = own.kinds.get(key)
    if kind is None:
        arguments = [Operand(number) for number in range(len(operands))]
        if op is aten.index_put.default:
            template = [arguments[0], [arguments[1]], arguments[2]]
        elif op is aten.index.Tensor:
            template = [arguments[0], [arguments[1]]]
        else:
            template = [*arguments, *rest]
        with COMPUTING:
            fakes = [fake(value.shape, value.dtype) for value in operands]
            kind = own.kinds[key] = plain_kind(op, template, fakes, fake(shape, dtype))
    own.pressure.nodes += 1
    node = Node(kind, tuple(operands), (), _user_frame())
    return Value(shape, dtype, node, chip=_chip_of(op, operands))


def _frozen(arg: Any) -> Any:
    return tuple(arg) if isinstance(arg, list) else arg


def full(shape: Sequence[int], number: float, dtype: torch.dtype, chip: int) -> Value:
    """Returns a value on a chip whose elements all equal ``number``."""
    if isinstance(number, float) and not dtype.is_floating_point and not dtype.is_complex:
        number = bool(number) if dtype is torch.bool else int(number)
    arguments = [int(n) for n in shape], number
    if (has_few_integers(dtype, shape) or not math.prod(shape)) and not is_computing_shapes():
        value = Value.of(torch.full(*arguments, dtype=dtype, device="cpu"))
        value.chip = chip
        return value
    options = {"dtype": dtype, "device": chips.device()}
    kind, values = record(signature_of(aten.full.default), arguments, options, chip)
    assert values, kind.reason
    return values[0]


# Views ---------------------------------------------------------------------------------------------------------------


def read(tensor: torch.Tensor) -> Value:
    """Returns the contents of a tensor of the device, in the tensor's own shape."""
    buffer = buffer_of(tensor)
    value = buffer.value
    if session.current.chips.splits_tensors:  # `in_use` without a call, for each operand of each op
        remember(buffer, value)
    if not _is_whole(tensor, value):
        value = _part(tensor)
    return _resolved(tensor, value) if tensor.is_conj() or tensor.is_neg() else value


def _resolved(tensor: torch.Tensor, value: Value) -> Value:
    """Converts between the contents of memory and what a conjugate or negative view shows; either way is the same."""
    if tensor.is_conj():
        value = emit(aten._conj_physical.default, [value], [], value.shape)
    return emit(aten.neg.default, [value], [], value.shape) if tensor.is_neg() else value


def _part(tensor: torch.Tensor) -> Value:
    """Returns the elements of a tensor that is a view of its storage, or reads it as another dtype."""
    if not tensor.numel():
        return full(tensor.shape, 0, tensor.dtype, buffer_of(tensor).chip)
    value = _typed(buffer_of(tensor), tensor.dtype)
    size, stride, offset = tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())
    if _is_whole(tensor, value):
        return value
    if value.host is not None and has_few_integers(value.dtype, value.shape) and not is_computing_shapes():
        # Which of some ids a program reads does not change the program.
        part = torch.as_strided(value.host, size, stride, value.host.storage_offset() + offset)
        part = Value.of(part.clone(memory_format=torch.contiguous_format))
        part.chip = value.chip
        return part
    view = find_view(value.shape, size, stride, offset)
    return _read_view(value, view) if view is not None else _gathered(value, size, stride, offset)


def _is_whole(tensor: torch.Tensor, value: Value) -> bool:
    return (
        tensor.shape == value.shape
        and tensor.dtype is value.dtype
        and tensor.storage_offset() == 0
        and tensor.is_contiguous()
    )


def write(tensor: torch.Tensor, value: Value) -> None:
    """Writes a value of the tensor's shape and dtype to a tensor of the device. Other views of the storage see it.

    Raises:
        RuntimeError: several elements of the tensor share an address, or the value is on another chip.
    """
    size, stride, offset = tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())
    if not tensor.numel():
        return
    buffer, value = buffer_of(tensor), _resolved(tensor, value)
    if value.chip is not None and value.chip != buffer.chip:
        raise _mixed(chips.device(buffer.chip), chips.device(value.chip), aten.copy_.default)
    nbytes = tensor.numel() * tensor.element_size()
    if nbytes == tensor.untyped_storage().nbytes():
        if tensor.is_contiguous():
            if in_use():
                follow(buffer, value)
            buffer.set_value(value)
            return
        order = memory_order(size, stride)
        if order is not None:
            buffer.set_value(permuted(value, order))
            return
    if any(s == 0 and n > 1 for n, s in zip(size, stride, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    base = _typed(buffer, tensor.dtype)
    view = find_view(base.shape, size, stride, offset)
    buffer.set_value(
        _write_view(base, view, value) if view is not None else _scattered(base, value, size, stride, offset)
    )


def permuted(value: Value, order: Sequence[int]) -> Value:
    """Returns the value with its dimensions in another order, as ``permute`` does."""
    if tuple(order) == tuple(range(len(order))):
        return value
    return emit(aten.permute.default, [value], [list(order)], [value.shape[dim] for dim in order])


def reshaped(value: Value, shape: Sequence[int]) -> Value:
    """Returns the same elements in another shape."""
    if value.shape == tuple(shape):
        return value
    return emit(aten.reshape.default, [value], [list(shape)], shape)


def expanded(value: Value, shape: Sequence[int]) -> Value:
    """Returns the value broadcast to a shape."""
    if value.shape == tuple(shape):
        return value
    return emit(aten.expand.default, [value], [list(shape)], shape)


def converted(value: Value, dtype: torch.dtype) -> Value:
    """Returns the same numbers in another dtype."""
    if value.dtype is dtype:
        return value
    return emit(torch.ops.prims.convert_element_type.default, [value], [dtype], value.shape)


def _typed(buffer: Buffer, dtype: torch.dtype) -> Value:
    """Returns the base of a buffer with its bytes read as another dtype."""
    value = buffer.value
    if value.dtype is dtype:
        return value
    is_elsewhere = value.node is not None or value.kept is not None
    if is_elsewhere and value.dtype.itemsize == dtype.itemsize and torch.bool not in (value.dtype, dtype):
        return emit(aten.view.dtype, [value], [dtype], value.shape)
    return buffer.value_as(dtype)


def _read_view(value: Value, view: View) -> Value:
    """Returns the elements of a view, given the base."""
    value = reshaped(value, view.lengths)
    for cut in view.slices:
        value = _sliced(value, cut.dim, cut.start, cut.stop, cut.step)
    value = permuted(reshaped(value, view.large_sizes), view.order)
    return expanded(reshaped(value, view.unexpanded), view.size)


def _sliced(value: Value, dim: int, start: int, stop: int, step: int) -> Value:
    shape = list(value.shape)
    shape[dim] = -(-(stop - start) // step)
    return emit(aten.slice.Tensor, [value], [dim, start, stop, step], shape)


def _write_view(base: Value, view: View, value: Value) -> Value:
    """Returns the base with the elements of a view replaced."""
    value = reshaped(value, [view.large_sizes[position] for position in view.order])
    inverse = sorted(range(len(view.order)), key=view.order.__getitem__)
    value = reshaped(permuted(value, inverse), view.counts)
    outer = [reshaped(base, view.lengths)]  # the base, then the base after each slice but the last
    for cut in view.slices[:-1]:
        outer.append(_sliced(outer[-1], cut.dim, cut.start, cut.stop, cut.step))
    for cut, surrounding in zip(reversed(view.slices), reversed(outer), strict=False):
        arguments = [cut.dim, cut.start, cut.stop, cut.step]
        value = emit(aten.slice_scatter.default, [surrounding, value], arguments, surrounding.shape)
    return reshaped(value, base.shape)


def _positions(size: Sequence[int], stride: Sequence[int], offset: int) -> Value:
    """Returns the position in the flat base of each element of a view."""
    key = (tuple(size), tuple(stride), offset)
    known = session.current.positions
    value = known.get(key)
    if value is None:
        count = math.prod(size) and offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        positions = torch.arange(count, device="cpu").as_strided(size, stride, offset)
        if len(known) >= 64:
            known.clear()
        value = known[key] = Value.of(positions.reshape(-1))
    return value


def _gathered(value: Value, size: Sequence[int], stride: Sequence[int], offset: int) -> Value:
    """Returns the elements of a view that no slices describe, by a gather."""
    flat = reshaped(value, [math.prod(value.shape)])
    gathered = emit(aten.index.Tensor, [flat, _positions(size, stride, offset)], [], [math.prod(size)])
    return reshaped(gathered, size)


def _scattered(base: Value, value: Value, size: Sequence[int], stride: Sequence[int], offset: int) -> Value:
    """Returns the base with the elements of a view that no slices describe replaced, by a scatter."""
    flat = reshaped(base, [math.prod(base.shape)])
    operands = [flat, _positions(size, stride, offset), reshaped(value, [math.prod(size)])]
    return reshaped(emit(aten.index_put.default, operands, [], flat.shape), base.shape)


# Results -------------------------------------------------------------------------------------------------------------


def new_tensor(value: Value) -> torch.Tensor:
    """Returns a new contiguous tensor of the device."""
    return factory_for(value.dtype, value.shape, contiguous_strides(value.shape), 0).make(Buffer(value=value))


def sharing_copy(tensor: torch.Tensor) -> torch.Tensor | None:
    """Returns a copy that shares the value with the tensor until somebody writes to one of them.

    None where the tensor is not all of its storage in order, is yet to be computed, or lies on several chips.
    """
    buffer = buffer_of(tensor)
    is_changed_view = tensor.is_conj() or tensor.is_neg()
    if is_changed_view or buffer.is_donated or session.current.chips.splits_tensors or not buffer.is_on_host:
        return None
    value = buffer.value
    return new_tensor(value) if value.is_computed and _is_whole(tensor, value) else None


def _result(value: Value, output: Output) -> torch.Tensor:
    """Returns a new tensor of the device with the strides that PyTorch gives such a result."""
    if output.order is not None:
        value = permuted(value, output.order)
    return output.factory.make(Buffer(value=value))


def new_tensors(kind: Kind, values: Sequence[Value]) -> Any:
    """Returns the results of an op in the structure that the op has: a tensor, a list or a tuple."""
    if type(kind.structure) is int:
        return _result(values[0], kind.outputs[0])
    tensors = [_result(value, output) for value, output in zip(values, kind.outputs, strict=True)]
    return type(kind.structure)([None if index is None else tensors[index] for index in kind.structure])
