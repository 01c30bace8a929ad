"""Lowering of TTIR to TTNN: one rule per op, which asks for its operands in the layouts that TT-NN requires.

TT-NN requires tiles in DRAM for most ops. It requires row-major activations and, unless prepared, host weights for
convolutions, row-major tensors for pooling and argmax, and row-major u32 indices for embeddings (tt-mlir's layout
workarounds).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tt_xla.compiler.analysis.constness import argument_role
from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.compiler.tile_padding import overfills_tiles, takes_rows
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, TTOp, shape, tensor_type
from tt_xla.ir.control import subprograms
from tt_xla.ir.layout import BufferType, DataType, TensorLayout
from tt_xla.ir.program import Role
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttir.window import Conv2dOp, ConvTranspose2dOp
from tt_xla.ir.ttnn import structure as tt_nn
from tt_xla.ir.ttnn.attributes import DeviceType, laid_out, layout_of
from tt_xla.ir.ttnn.memory import FromDeviceOp, GetDeviceOp, ToDeviceOp, ToLayoutOp, TypecastOp
from tt_xla.registry import Registry
from tt_xla.target.accepted_types import ACCEPTED_TYPES

LoweringRule = Callable[["Lowering", Any], "SSAValue | Sequence[SSAValue]"]
"""Function that lowers an op and returns the TTNN values of its results."""
RULES: Registry[type[Operation], LoweringRule] = Registry("lowering")
lowers = RULES.register
"""Decorator that registers the lowering rule of TTIR op classes."""


_WIDER = {
    DataType.BFP_BF4: (DataType.BFP_BF8, DataType.BF16),
    DataType.BFP_BF8: (DataType.BF16,),
    DataType.BF16: (DataType.F32,),
    DataType.U8: (DataType.U16, DataType.U32, DataType.SI32, DataType.F32),
    DataType.U16: (DataType.U32, DataType.SI32, DataType.F32),
    DataType.U32: (DataType.SI32, DataType.F32),
    DataType.SI32: (DataType.F32,),
}
"""Types that represent all values of a type, nearest first: u32 in si32 below 2^31, integers in f32 up to 2^24."""


def nearest_accepted(op: str, dtype: DataType) -> DataType:
    """Returns the nearest type that TT-NN's op takes and that represents ``dtype``, or ``dtype`` if there is none."""
    accepted = ACCEPTED_TYPES.get(op, "").split()
    if not accepted or dtype in accepted:
        return dtype
    return next((wider for wider in _WIDER.get(dtype, ()) if wider in accepted), dtype)


class Lowering:
    """State of one function's lowering: the block that is being filled, and TTNN values by TTIR value."""

    def __init__(self, block: Block, *, prepare_weights: bool, exact: bool) -> None:
        self.block = block
        self.exact = exact
        self.prepare_weights = prepare_weights
        self.values: dict[SSAValue, SSAValue] = {}
        self.location: Attribute | None = None
        self._converted: dict[tuple[SSAValue, TensorLayout], SSAValue] = {}
        self._device: SSAValue | None = None

    @property
    def device(self) -> SSAValue:
        """The device, requested at its first use."""
        device = self._device
        if device is None:
            request = GetDeviceOp.make([], [DeviceType()])
            self.block.add_op(request)
            device = self._device = request.results[0]
        return device

    def add(self, kind: type[TTOp], operands: Sequence[Any], type_: Attribute, **values: Any) -> SSAValue:
        """Appends an op of one result and returns that."""
        op = kind.make(operands, [type_], self.location, **values)
        self.block.add_op(op)
        return op.results[0]

    def emit(
        self,
        kind: type[TTOp],
        operands: Sequence[Any],
        sizes: tuple[int, ...],
        dtype: DataType,
        /,
        *,
        tiled: bool = True,
        **values: Any,
    ) -> SSAValue:
        """Appends an op whose result of shape ``sizes`` lies in DRAM.

        Operands of an element type that TT-NN's op does not take are converted to a wider one, and the result back.
        """
        given_dtype, taken_dtype = self._types(kind, operands)
        result_dtype = taken_dtype if taken_dtype is not None and dtype == given_dtype else dtype
        result = self.add(
            kind,
            operands
            if given_dtype == taken_dtype
            else [self._retyped(operand, given_dtype, taken_dtype) for operand in operands],
            laid_out(sizes, TensorLayout.of(sizes, result_dtype, tiled=tiled)),
            **values,
        )
        return self.narrowed(result, dtype, tiled=tiled)

    def narrowed(self, value: SSAValue, dtype: DataType, *, tiled: bool = True) -> SSAValue:
        """Returns a result that was computed in a wider type in its own. Integers wrap, unlike float32."""
        if layout_of(value).dtype is DataType.F32 and dtype in (DataType.U8, DataType.U16):
            value = self.convert(value, tiled=tiled, dtype=DataType.SI32)
        return value if layout_of(value).dtype is dtype else self.convert(value, tiled=tiled, dtype=dtype)

    def reshaped(self, value: SSAValue, sizes: Shape) -> SSAValue:
        """Returns a TTNN value in another shape, by a reshape where they differ."""
        if shape(value) == sizes:
            return value
        return self.emit(tt_nn.ReshapeOp, [value], sizes, layout_of(value).dtype, shape=sizes)

    def emit_all(
        self, kind: type[TTOp], operands: Sequence[Any], results: Sequence[Attribute], **values: Any
    ) -> Sequence[SSAValue]:
        """Appends an op of several results, whose operands are as TT-NN takes them."""
        op = kind.make(operands, results, self.location, **values)
        self.block.add_op(op)
        return op.results

    def _types(self, kind: type[TTOp], operands: Sequence[Any]) -> tuple[DataType | None, DataType | None]:
        """Returns the element type of an op's data operands and the type that the op takes, or None for each."""
        flat = [value for operand in operands for value in (operand if isinstance(operand, list) else [operand])]
        data = [value for value in flat if isinstance(value, SSAValue) and not isinstance(value.type, DeviceType)]
        if not data:
            return None, None
        dtype = layout_of(data[1] if kind is tt_nn.EmbeddingOp else data[0]).dtype
        return dtype, dtype if self.exact else nearest_accepted(kind.name, dtype)

    def _retyped(self, operand: Any, old_dtype: DataType | None, new_dtype: DataType | None) -> Any:
        """Returns an operand, or list of operands, with one element type converted to another."""
        if isinstance(operand, list):
            return [self._retyped(value, old_dtype, new_dtype) for value in operand]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(operand, SSAValue) or isinstance(operand.type, DeviceType):
            return operand
        layout = layout_of(operand)
        return self.convert(operand, tiled=layout.tiled, dtype=new_dtype) if layout.dtype == old_dtype else operand

    def result(self, op: TTOp) -> tuple[tuple[int, ...], DataType]:
        """Returns shape and data type of a TTIR op's result."""
        type_ = tensor_type(op.results[0])
        return type_.get_shape(), DATA_TYPES[type_.element_type]

    def laid_out(self, value: SSAValue, dtype: DataType | None = None, *, tiled: bool) -> SSAValue:
        """Returns a TTIR value on the device, in tiles or row-major."""
        return self.convert(self.values[value], tiled=tiled, dtype=dtype)

    def tiled(self, value: SSAValue, dtype: DataType | None = None) -> SSAValue:
        """Returns a TTIR value in tiles on the device."""
        return self.laid_out(value, dtype, tiled=True)

    def row_major(self, value: SSAValue, dtype: DataType | None = None) -> SSAValue:
        """Returns a TTIR value row-major on the device."""
        return self.laid_out(value, dtype, tiled=False)

    def is_in_rows(self, value: SSAValue) -> bool:
        """Returns whether a TTIR value lies row-major on the device, where tiles would be mostly padding."""
        layout = layout_of(self.values[value])
        return layout.on_device and not layout.tiled and overfills_tiles(shape(value), layout.dtype)

    def host(self, value: SSAValue) -> SSAValue:
        """Returns a TTIR value row-major in system memory."""
        lowered = self.values[value]
        if not layout_of(lowered).on_device:
            return lowered
        lowered = self.convert(lowered, tiled=False)
        layout = layout_of(lowered).with_(shape(lowered), buffer=BufferType.SYSTEM_MEMORY)
        return self._cached(lowered, layout, FromDeviceOp, [lowered])

    def convert(self, value: SSAValue, *, tiled: bool, dtype: DataType | None = None) -> SSAValue:
        """Returns a TTNN value on the device with a tiling and data type; each conversion is made once."""
        layout = layout_of(value)
        if not layout.on_device:
            layout = layout.with_(shape(value), buffer=BufferType.DRAM)
            value = self._cached(value, layout, ToDeviceOp, [value, self.device])
        dtype = dtype or layout.dtype
        if layout.tiled and dtype != layout.dtype:
            value, layout = self._typecast(value, dtype), layout.retyped(dtype)
        if tiled and not layout.tiled and not self.exact:
            accepted = nearest_accepted(ToLayoutOp.name, layout.dtype)
            if accepted != layout.dtype:
                value, layout = self._typecast(value, accepted), layout.retyped(accepted)
        if tiled != layout.tiled:
            layout = layout.with_(shape(value), tiled=tiled)
            value = self._cached(value, layout, ToLayoutOp, [value])
        return value if dtype == layout.dtype else self._typecast(value, dtype)

    def _typecast(self, value: SSAValue, dtype: DataType) -> SSAValue:
        """Returns a TTNN value with another data type."""
        return self._cached(value, layout_of(value).retyped(dtype), TypecastOp, [value])

    def _cached(
        self, value: SSAValue, layout: TensorLayout, kind: type[TTOp], operands: Sequence[SSAValue]
    ) -> SSAValue:
        """Returns the result of a conversion of ``value`` to ``layout``, which is added the first time."""
        key = (value, layout)
        if key not in self._converted:
            self._converted[key] = self.add(kind, operands, laid_out(shape(value), layout))
        return self._converted[key]


def run(module: ModuleOp, *, prepare_weights: bool, exact: bool = False) -> ModuleOp:
    """Returns the TTNN module of a TTIR module.

    Args:
        module: TTIR module; it stays as it is.
        prepare_weights: Prepares convolution weights on the device by ops of their own.
        exact: Keeps float32 where TT-NN has an op for bfloat16 alone, to judge the compiler apart from the chip.

    Raises:
        UnsupportedOpError: Ops have no lowering; the message names all of them.
    """
    lowered = [_lower_function(function, prepare_weights, exact) for function in _called(module)]
    return ModuleOp(lowered, dict(module.attributes))


def _called(module: ModuleOp) -> list[FuncOp]:
    """Returns the entries of a module and the functions that they call, in order."""
    by_name = {function.sym_name.data: function for function in functions(module)}
    waiting = [function for function in by_name.values() if is_entry(function)]
    called: set[FuncOp] = set()
    while waiting:
        function = waiting.pop()
        called.add(function)
        callees = [by_name[name] for op in body(function).ops for name in subprograms(op)]
        waiting += [callee for callee in callees if callee not in called]
    return [function for function in by_name.values() if function in called]


def _lower_function(function: FuncOp, prepare_weights: bool, exact: bool) -> FuncOp:
    """Returns the TTNN function of a TTIR function."""
    source = body(function)
    _check_total(source)
    entry = is_entry(function)
    argument_type = _argument_type if entry else _subprogram_argument_type
    block = Block(arg_types=[argument_type(function, index) for index in range(len(source.args))])
    lowering = Lowering(block, prepare_weights=prepare_weights, exact=exact)
    for old, new in zip(source.args, block.args, strict=True):
        lowering.values[old] = new
        new.name_hint = old.name_hint
    for op in source.ops:
        lowering.location = op.location
        if isinstance(op, ReturnOp):
            returned = _returned if entry else passed
            block.add_op(ReturnOp(*(returned(lowering, value) for value in op.operands)))
        else:
            lowered = RULES[type(op)](lowering, op)
            if isinstance(lowered, SSAValue):
                lowering.values[op.results[0]] = lowered
            else:
                lowering.values.update(zip(op.results, lowered, strict=True))
    last = block.last_op
    assert last is not None
    signature = ([arg.type for arg in block.args], [value.type for value in last.operands])
    visibility = "public" if entry else "private"
    target = FuncOp(
        function.sym_name.data, signature, Region(block), visibility=visibility, arg_attrs=function.arg_attrs
    )
    target.attributes.update(function.attributes)
    return target


def _returned(lowering: Lowering, value: SSAValue) -> SSAValue:
    """Returns a value as the program returns it: in DRAM, in tiles unless they are mostly padding, or on the host
    where the host computed it."""
    lowered = lowering.values[value]
    on_host = not layout_of(lowered).on_device and not isinstance(lowered.owner, Block)
    return lowered if on_host or stays_on_host(value) or lowering.is_in_rows(value) else lowering.tiled(value)


def passed(lowering: Lowering, value: SSAValue) -> SSAValue:
    """Returns a TTIR value as functions pass it to each other: tiles in DRAM, of the value's own element type."""
    return lowering.tiled(value, DATA_TYPES[tensor_type(value).element_type])


def passed_type(value: SSAValue) -> Attribute:
    """Returns the type of the value that :func:`passed` returns."""
    sizes = shape(value)
    return laid_out(sizes, TensorLayout.of(sizes, DATA_TYPES[tensor_type(value).element_type]))


def _subprogram_argument_type(function: FuncOp, index: int) -> Attribute:
    """Returns the type of an argument of a private function."""
    return passed_type(body(function).args[index])


def belongs_in_rows(value: SSAValue) -> bool:
    """Returns whether tiles of a TTIR value would be mostly padding, and all its users take rows."""
    dtype = DATA_TYPES[tensor_type(value).element_type]
    return overfills_tiles(shape(value), dtype) and all(map(takes_rows, value.uses))


def stays_on_host(value: SSAValue) -> bool:
    """Returns whether no chip can hold a value, because of its element type or because it is empty."""
    type_ = tensor_type(value)
    return DATA_TYPES[type_.element_type].is_host_only or 0 in type_.get_shape()


def host_layout(value: SSAValue) -> TensorLayout:
    """Returns the row-major layout of a value in system memory."""
    type_ = tensor_type(value)
    dtype = DATA_TYPES[type_.element_type]
    return TensorLayout.of(type_.get_shape(), dtype, tiled=False, buffer=BufferType.SYSTEM_MEMORY)


def _check_total(block: Block) -> None:
    """Checks that every op of a block has a lowering.

    Raises:
        UnsupportedOpError: Ops have none.
    """
    missing = [op for op in block.ops if type(op) not in RULES and not isinstance(op, ReturnOp)]
    if missing:
        names = ", ".join(sorted({f"'{op.name}'" for op in missing}))
        types = ", ".join(str(value.type) for value in missing[0].operands)
        raise UnsupportedOpError(
            f"failed to legalize operation {names}: TT-NN has no op for it; the first one's operands are ({types}).",
            location=describe(missing[0].location),
            hint="Rewrite this part of the model with other ops, or run it outside the compiled part.",
        )


def _argument_type(function: FuncOp, index: int) -> Attribute:
    """Returns the type of an entry's argument: row-major inputs, parameters in tiles unless they are mostly padding,
    convolution weights on the host."""
    argument = body(function).args[index]
    sizes, dtype = shape(argument), DATA_TYPES[tensor_type(argument).element_type]
    conv_weight = bool(argument.uses) and all(
        isinstance(use.operation, Conv2dOp | ConvTranspose2dOp) and use.index == 1 for use in argument.uses
    )
    if conv_weight or stays_on_host(argument):
        return laid_out(sizes, host_layout(argument))
    tiled = argument_role(function, index) is not Role.INPUT and not belongs_in_rows(argument)
    return laid_out(sizes, TensorLayout.of(sizes, dtype, tiled=tiled))
