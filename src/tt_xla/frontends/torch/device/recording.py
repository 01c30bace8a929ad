"""Records ops: arguments become values, results are values of a node; nothing is computed.

:func:`read` and :func:`write` are where views are made functional: reading a view takes steps from its base, writing
one makes a new base with the view's elements replaced.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from tt_xla.frontends.torch.device.buffers import DEVICE_TYPE, Buffer, buffer_of, device, tensor_of
from tt_xla.frontends.torch.device.geometry import View, contiguous_strides, find_view, memory_order
from tt_xla.frontends.torch.device.kinds import fake, make_kind, plain_kind
from tt_xla.frontends.torch.device.scalars import SCALARS
from tt_xla.frontends.torch.device.values import Kind, Node, Number, Operand, Output, Value
from tt_xla.frontends.torch.private.ops import OpOverload

aten = torch.ops.aten

_KINDS: dict[Any, Kind] = {}
_GATHERS: dict[Any, Value] = {}
_OWN_FILES: dict[str, bool] = {}
_TAKE_CPU_INDICES = {
    aten.index.Tensor,
    aten.index_put.default,
    aten._unsafe_index.Tensor,
    aten._unsafe_index_put.default,
}
_MAX_KINDS = 1 << 16
_OWN_FOLDERS = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]), "<frozen")


class Pressure:
    """How many nodes were recorded since the last run."""

    nodes = 0


def _user_frame() -> tuple[CodeType, int] | None:
    """The innermost frame that is neither torch's nor ours."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        name = code.co_filename  # the code itself may have no hash: constants that dynamo puts in it are slices
        own = _OWN_FILES.get(name)
        if own is None:
            own = _OWN_FILES[name] = name.startswith(_OWN_FOLDERS)
        if not own:
            return code, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def user_line() -> str:
    """``file:line`` of the innermost frame that is neither torch's nor ours."""
    where = _user_frame()
    return f"{where[0].co_filename}:{where[1]}" if where else ""


# Arguments -----------------------------------------------------------------------------------------------------------


def record(op: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Kind, list[Value]]:
    """Records a functional op; gives its kind and its results, none when it has to run on the host.

    Raises:
        RuntimeError: tensors of other devices are among the arguments.
    """
    key: list[Any] = [op]
    values: list[Value] = []
    numbers: list[float] = []
    slots = SCALARS.get(op)
    for position, arg in enumerate(args):
        if slots is not None and position in slots.places and _varies(arg):
            key.append(type(arg))
            numbers.append(arg)
        else:
            _encode(op, arg, key, values)
    for name, arg in kwargs.items():
        key.append(name)
        if slots is not None and name in slots.places and _varies(arg):
            key.append(type(arg))
            numbers.append(arg)
        else:
            _encode(op, arg, key, values)
    entry = tuple(key)
    kind = _KINDS.get(entry)
    if kind is None:
        kind = _new_kind(entry, op, args, kwargs, numbers)
    if kind.graph is None:
        return kind, []
    Pressure.nodes += 1
    node = Node(kind, tuple(values), tuple(numbers), _user_frame())
    return kind, [Value(output.shape, output.dtype, node, index) for index, output in enumerate(kind.outputs)]


def _varies(arg: Any) -> bool:
    """Whether it is a number that may become an input: not one that equals another number, or nothing at all, nor an
    integer that no input of a program holds."""
    kind = type(arg)
    return (kind is int and -(2**31) <= arg < 2**31) or (
        kind is float and arg == arg and (arg != 0.0 or math.copysign(1.0, arg) > 0)
    )


def _encode(op: OpOverload, arg: Any, key: list[Any], values: list[Value]) -> None:
    if isinstance(arg, torch.Tensor):
        key += (arg.dtype, arg.shape, arg.stride())
        if arg.device.type == DEVICE_TYPE:
            values.append(read(arg))
        else:
            values.append(_of_host(op, arg))
            key.append("cpu")
    elif isinstance(arg, list | tuple):
        key.append(len(arg))
        for item in arg:
            _encode(op, item, key, values)
    elif type(arg) is float:
        key += (float, arg if arg and arg == arg else repr(arg))  # -0.0 equals 0.0, and NaN nothing
    else:
        key += (type(arg), arg)


def _of_host(op: OpOverload, tensor: torch.Tensor) -> Value:
    if tensor.device.type != "cpu" or (tensor.dim() > 0 and op not in _TAKE_CPU_INDICES):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{DEVICE_TYPE}:0 and {tensor.device}! (when checking the arguments of {op})"
        )
    return Value.of(tensor.detach().clone(memory_format=torch.contiguous_format))


def _new_kind(
    entry: tuple[Any, ...],
    op: OpOverload,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    numbers: list[float],
) -> Kind:
    operands: list[Any] = []
    counted = itertools.count()
    slots = SCALARS.get(op)

    def entry_of(arg: Any, place: int | str | None = None) -> Any:
        if isinstance(arg, torch.Tensor):
            operands.append(fake(arg.shape, arg.dtype, arg.stride()))
            return Operand(len(operands) - 1)
        if isinstance(arg, list | tuple):
            return [entry_of(item) for item in arg]
        if slots is not None and place in slots.places and _varies(arg):
            return Number(next(counted))
        return arg

    template = (
        [entry_of(arg, position) for position, arg in enumerate(args)],
        {name: entry_of(arg, name) for name, arg in kwargs.items()},
    )
    if len(_KINDS) >= _MAX_KINDS:
        _KINDS.clear()
    kind = _KINDS[entry] = make_kind(op, template, operands, numbers)
    return kind


def emit(op: OpOverload, operands: Sequence[Value], rest: Sequence[Any], shape: Sequence[int]) -> Value:
    """Records an op of ours: operands first, then plain arguments; one result of this shape and the first's dtype."""
    dtype = rest[-1] if rest and isinstance(rest[-1], torch.dtype) else operands[0].dtype
    shape = tuple(shape)
    key = (op, shape, *((value.dtype, value.shape) for value in operands), *map(_frozen, rest))
    kind = _KINDS.get(key)
    if kind is None:
        fakes = [fake(value.shape, value.dtype) for value in operands]
        arguments = [Operand(number) for number in range(len(operands))]
        if op is aten.index_put.default:
            template = [arguments[0], [arguments[1]], arguments[2]]
        elif op is aten.index.Tensor:
            template = [arguments[0], [arguments[1]]]
        else:
            template = [*arguments, *rest]
        kind = _KINDS[key] = plain_kind(op, template, fakes, fake(shape, dtype))
    Pressure.nodes += 1
    return Value(shape, dtype, Node(kind, tuple(operands), (), _user_frame()))


def _frozen(arg: Any) -> Any:
    return tuple(arg) if isinstance(arg, list) else arg


def full(shape: Sequence[int], number: float, dtype: torch.dtype) -> Value:
    """A value that is the same everywhere."""
    if isinstance(number, float) and not dtype.is_floating_point and not dtype.is_complex:
        number = bool(number) if dtype is torch.bool else int(number)
    kind, values = record(aten.full.default, ([int(n) for n in shape], number), {"dtype": dtype, "device": device()})
    assert values, kind.reason
    return values[0]


# Views ---------------------------------------------------------------------------------------------------------------


def read(tensor: torch.Tensor) -> Value:
    """What a tensor of the device holds, in its own shape."""
    value = _stored(tensor)
    return _resolved(tensor, value) if tensor.is_conj() or tensor.is_neg() else value


def _resolved(tensor: torch.Tensor, value: Value) -> Value:
    """What a view that is conjugate or negative shows of what lies in memory, or the reverse."""
    if tensor.is_conj():
        value = emit(aten._conj_physical.default, [value], [], value.shape)
    return emit(aten.neg.default, [value], [], value.shape) if tensor.is_neg() else value


def _stored(tensor: torch.Tensor) -> Value:
    value = buffer_of(tensor).value
    if _is_whole(tensor, value):
        return value
    if not tensor.numel():
        return full(tensor.shape, 0, tensor.dtype)
    value = _typed(buffer_of(tensor), tensor.dtype)
    size, stride, offset = tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())
    if _is_whole(tensor, value):
        return value
    view = find_view(value.shape, size, stride, offset)
    return _taken(value, view) if view is not None else _gathered(value, size, stride, offset)


def _is_whole(tensor: torch.Tensor, value: Value) -> bool:
    return (
        tensor.shape == value.shape
        and tensor.dtype is value.dtype
        and tensor.storage_offset() == 0
        and tensor.is_contiguous()
    )


def write(tensor: torch.Tensor, value: Value) -> None:
    """Makes a tensor of the device hold a value of its shape and dtype; other views of the storage see it.

    Raises:
        RuntimeError: several elements of the tensor share a place in memory.
    """
    size, stride, offset = tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())
    if not tensor.numel():
        return
    buffer, value = buffer_of(tensor), _resolved(tensor, value)
    nbytes = tensor.numel() * tensor.element_size()
    if nbytes == tensor.untyped_storage().nbytes():
        if tensor.is_contiguous():
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
    buffer.set_value(_put(base, view, value) if view is not None else _scattered(base, value, size, stride, offset))


def permuted(value: Value, order: Sequence[int]) -> Value:
    """Dimensions in another order."""
    if tuple(order) == tuple(range(len(order))):
        return value
    return emit(aten.permute.default, [value], [list(order)], [value.shape[dim] for dim in order])


def reshaped(value: Value, shape: Sequence[int]) -> Value:
    """The same elements in another shape."""
    if value.shape == tuple(shape):
        return value
    return emit(aten.reshape.default, [value], [list(shape)], shape)


def expanded(value: Value, shape: Sequence[int]) -> Value:
    """Broadcast to a shape."""
    if value.shape == tuple(shape):
        return value
    return emit(aten.expand.default, [value], [list(shape)], shape)


def converted(value: Value, dtype: torch.dtype) -> Value:
    """The same numbers in another type."""
    if value.dtype is dtype:
        return value
    return emit(torch.ops.prims.convert_element_type.default, [value], [dtype], value.shape)


def _typed(buffer: Buffer, dtype: torch.dtype) -> Value:
    """The base, with its bytes read as another type."""
    value = buffer.value
    if value.dtype is dtype:
        return value
    if value.data is None and value.dtype.itemsize == dtype.itemsize and torch.bool not in (value.dtype, dtype):
        return emit(aten.view.dtype, [value], [dtype], value.shape)
    return buffer.value_as(dtype)


def _taken(value: Value, view: View) -> Value:
    value = reshaped(value, view.lengths)
    for part in view.parts:
        value = _sliced(value, part.dim, part.start, part.stop, part.step)
    value = permuted(reshaped(value, view.kept), view.order)
    return expanded(reshaped(value, view.unexpanded), view.size)


def _sliced(value: Value, dim: int, start: int, stop: int, step: int) -> Value:
    shape = list(value.shape)
    shape[dim] = -(-(stop - start) // step)
    return emit(aten.slice.Tensor, [value], [dim, start, stop, step], shape)


def _put(base: Value, view: View, value: Value) -> Value:
    """The base with the elements of a view replaced."""
    value = reshaped(value, [view.kept[place] for place in view.order])
    inverse = sorted(range(len(view.order)), key=view.order.__getitem__)
    value = reshaped(permuted(value, inverse), view.counts)
    whole = reshaped(base, view.lengths)
    outer = [whole]  # the base, after each further slice
    for part in view.parts[:-1]:
        outer.append(_sliced(outer[-1], part.dim, part.start, part.stop, part.step))
    for part, around in zip(reversed(view.parts), reversed(outer), strict=False):
        arguments = [part.dim, part.start, part.stop, part.step]
        value = emit(aten.slice_scatter.default, [around, value], arguments, around.shape)
    return reshaped(value, base.shape)


def _places(size: Sequence[int], stride: Sequence[int], offset: int) -> Value:
    """Where in the flat base each element of a view lies."""
    key = (tuple(size), tuple(stride), offset)
    if key not in _GATHERS:
        count = math.prod(size) and offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        places = torch.arange(count, device="cpu").as_strided(size, stride, offset)
        if len(_GATHERS) >= 64:
            _GATHERS.clear()
        _GATHERS[key] = Value.of(places.reshape(-1))
    return _GATHERS[key]


def _gathered(value: Value, size: Sequence[int], stride: Sequence[int], offset: int) -> Value:
    flat = reshaped(value, [math.prod(value.shape)])
    taken = emit(aten.index.Tensor, [flat, _places(size, stride, offset)], [], [math.prod(size)])
    return reshaped(taken, size)


def _scattered(base: Value, value: Value, size: Sequence[int], stride: Sequence[int], offset: int) -> Value:
    flat = reshaped(base, [math.prod(base.shape)])
    operands = [flat, _places(size, stride, offset), reshaped(value, [math.prod(size)])]
    return reshaped(emit(aten.index_put.default, operands, [], flat.shape), base.shape)


# Results -------------------------------------------------------------------------------------------------------------


def new_tensor(value: Value, output: Output | None = None) -> torch.Tensor:
    """A tensor of the device of its own, with the strides that torch gives such a result."""
    if output is None or output.order is None:
        return tensor_of(value, value.shape, contiguous_strides(value.shape))
    return tensor_of(permuted(value, output.order), output.shape, output.stride)


def new_tensors(kind: Kind, values: Sequence[Value]) -> Any:
    """What an op returns: tensors for its values."""
    tensors = [new_tensor(value, output) for value, output in zip(values, kind.outputs, strict=True)]
    if kind.structure == 0 and not isinstance(kind.structure, list | tuple):
        return tensors[0]
    return type(kind.structure)([None if index is None else tensors[index] for index in kind.structure])
