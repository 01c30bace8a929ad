"""TTIR to TTNN: one lowering an op, each asking for its operands in the layout that TT-NN wants them in.

What TT-NN wants (tt-mlir's layout workarounds): tiles in DRAM, but convolution activations row-major and its weights on
the host unless prepared, pooling row-major, embedding row-major with u32 indices, argmax row-major.
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
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, TTOp, shape, tensor_type
from tt_xla.ir.control import subprograms
from tt_xla.ir.layout import BufferType, DataType, TensorLayout
from tt_xla.ir.program import Role
from tt_xla.ir.ttir.window import Conv2dOp, ConvTranspose2dOp
from tt_xla.ir.ttnn import structure as tt_nn
from tt_xla.ir.ttnn.attributes import DeviceType, laid_out, layout_of
from tt_xla.ir.ttnn.memory import FromDeviceOp, GetDeviceOp, ToDeviceOp, ToLayoutOp, TypecastOp
from tt_xla.registry import Registry
from tt_xla.target.accepted_types import ACCEPTED_TYPES

LoweringRule = Callable[["Lowering", Any], "SSAValue | Sequence[SSAValue]"]
RULES: Registry[type[Operation], LoweringRule] = Registry("lowering")
lowers = RULES.register
"""Registers the lowering of TTIR ops."""


_WIDER = {
    DataType.BFP_BF4: (DataType.BFP_BF8, DataType.BF16),
    DataType.BFP_BF8: (DataType.BF16,),
    DataType.BF16: (DataType.F32,),
    DataType.U8: (DataType.U16, DataType.U32, DataType.SI32, DataType.F32),
    DataType.U16: (DataType.U32, DataType.SI32, DataType.F32),
    DataType.U32: (DataType.SI32, DataType.F32),
    DataType.SI32: (DataType.F32,),
}
"""Element types that hold the values of one, nearest first; u32 in si32 below 2^31, and integers in f32 up to 2^24."""


def nearest_accepted(op: str, dtype: DataType) -> DataType:
    """The element type nearest to ``dtype`` that TT-NN's op takes; ``dtype`` itself where none is known to serve."""
    accepted = ACCEPTED_TYPES.get(op, "").split()
    if not accepted or dtype in accepted:
        return dtype
    return next((wider for wider in _WIDER.get(dtype, ()) if wider in accepted), dtype)


class Lowering:
    """The state of one function's lowering: the block that is being filled and TTNN values by TTIR value."""

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
        found = self._device
        if found is None:
            made = GetDeviceOp.make([], [DeviceType()])
            self.block.add_op(made)
            found = self._device = made.results[0]
        return found

    def add(self, kind: type[TTOp], operands: Sequence[Any], type_: Attribute, **values: Any) -> SSAValue:
        made = kind.make(operands, [type_], self.location, **values)
        self.block.add_op(made)
        return made.results[0]

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

        Data of an element type that TT-NN's op does not take is computed in a wider one, and the result converted back.
        """
        given, taken = self._types(kind, operands)
        made = taken if taken is not None and dtype == given else dtype
        found = self.add(
            kind,
            operands if given == taken else [self._retyped(operand, given, taken) for operand in operands],
            laid_out(sizes, TensorLayout.of(sizes, made, tiled=tiled)),
            **values,
        )
        return found if made == dtype else self.convert(found, tiled=tiled, dtype=dtype)

    def emit_all(
        self, kind: type[TTOp], operands: Sequence[Any], results: Sequence[Attribute], **values: Any
    ) -> Sequence[SSAValue]:
        """Appends an op of several results, whose operands are as TT-NN takes them."""
        made = kind.make(operands, results, self.location, **values)
        self.block.add_op(made)
        return made.results

    def _types(self, kind: type[TTOp], operands: Sequence[Any]) -> tuple[DataType | None, DataType | None]:
        """The element type of the data an op is given, and the one it is to be given; None where there is none."""
        flat = [value for operand in operands for value in (operand if isinstance(operand, list) else [operand])]
        data = [value for value in flat if isinstance(value, SSAValue) and not isinstance(value.type, DeviceType)]
        if not data:
            return None, None
        given = layout_of(data[1] if kind is tt_nn.EmbeddingOp else data[0]).dtype
        return given, given if self.exact else nearest_accepted(kind.name, given)

    def _retyped(self, operand: Any, given: DataType | None, taken: DataType | None) -> Any:
        if isinstance(operand, list):
            return [self._retyped(value, given, taken) for value in operand]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(operand, SSAValue) or isinstance(operand.type, DeviceType):
            return operand
        layout = layout_of(operand)
        return self.convert(operand, tiled=layout.tiled, dtype=taken) if layout.dtype == given else operand

    def result(self, op: TTOp) -> tuple[tuple[int, ...], DataType]:
        """Shape and data type of a TTIR op's result."""
        type_ = tensor_type(op.results[0])
        return type_.get_shape(), DATA_TYPES[type_.element_type]

    def tiled(self, value: SSAValue, dtype: DataType | None = None) -> SSAValue:
        """A TTIR value in tiles on the device."""
        return self.convert(self.values[value], tiled=True, dtype=dtype)

    def row_major(self, value: SSAValue, dtype: DataType | None = None) -> SSAValue:
        return self.convert(self.values[value], tiled=False, dtype=dtype)

    def host(self, value: SSAValue) -> SSAValue:
        """A TTIR value row-major in system memory."""
        found = self.values[value]
        if not layout_of(found).on_device:
            return found
        found = self.convert(found, tiled=False)
        layout = layout_of(found).with_(shape(found), buffer=BufferType.SYSTEM_MEMORY)
        return self._cached(found, layout, FromDeviceOp, [found])

    def convert(self, value: SSAValue, *, tiled: bool, dtype: DataType | None = None) -> SSAValue:
        """A TTNN value on the device with the given tiling and data type; made once for each such layout."""
        layout = layout_of(value)
        if not layout.on_device:
            layout = layout.with_(shape(value), buffer=BufferType.DRAM)
            value = self._cached(value, layout, ToDeviceOp, [value, self.device])
        dtype = dtype or layout.dtype
        if layout.tiled and dtype != layout.dtype:
            value, layout = self._typecast(value, dtype), layout.retyped(dtype)
        if tiled and not layout.tiled and not self.exact:
            taken = nearest_accepted(ToLayoutOp.name, layout.dtype)
            if taken != layout.dtype:
                value, layout = self._typecast(value, taken), layout.retyped(taken)
        if tiled != layout.tiled:
            layout = layout.with_(shape(value), tiled=tiled)
            value = self._cached(value, layout, ToLayoutOp, [value])
        return value if dtype == layout.dtype else self._typecast(value, dtype)

    def _typecast(self, value: SSAValue, dtype: DataType) -> SSAValue:
        return self._cached(value, layout_of(value).retyped(dtype), TypecastOp, [value])

    def _cached(
        self, value: SSAValue, layout: TensorLayout, kind: type[TTOp], operands: Sequence[SSAValue]
    ) -> SSAValue:
        key = (value, layout)
        if key not in self._converted:
            self._converted[key] = self.add(kind, operands, laid_out(shape(value), layout))
        return self._converted[key]


def run(module: ModuleOp, *, prepare_weights: bool, exact: bool = False) -> ModuleOp:
    """The TTNN module of a TTIR module.

    Args:
        prepare_weights: bring convolution weights into their final form on the device by ops of their own.
        exact: keep float32 where TT-NN has an op for bfloat16 alone, to judge the compiler apart from the chip.

    Raises:
        UnsupportedOpError: ops have no lowering; it names all of them.
    """
    return ModuleOp([_lower_function(function, prepare_weights, exact) for function in _called(module)])


def _called(module: ModuleOp) -> list[FuncOp]:
    """The entries of a module and what they call, in order; nothing calls the others any more."""
    by_name = {function.sym_name.data: function for function in functions(module)}
    waiting = [function for function in by_name.values() if is_entry(function)]
    found: set[FuncOp] = set()
    while waiting:
        function = waiting.pop()
        found.add(function)
        callees = [by_name[name] for op in body(function).ops for name in subprograms(op)]
        waiting += [callee for callee in callees if callee not in found]
    return [function for function in by_name.values() if function in found]


def _lower_function(function: FuncOp, prepare_weights: bool, exact: bool) -> FuncOp:
    source = body(function)
    _check_total(source)
    entry = is_entry(function)
    argument_type = _argument_type if entry else _given_type
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
            made = RULES[type(op)](lowering, op)
            if isinstance(made, SSAValue):
                lowering.values[op.results[0]] = made
            else:
                lowering.values.update(zip(op.results, made, strict=True))
    last = block.last_op
    assert last is not None
    signature = ([arg.type for arg in block.args], [value.type for value in last.operands])
    visibility = "public" if entry else "private"
    made = FuncOp(function.sym_name.data, signature, Region(block), visibility=visibility, arg_attrs=function.arg_attrs)
    made.attributes.update(function.attributes)
    return made


def _returned(lowering: Lowering, value: SSAValue) -> SSAValue:
    """Results are tiles in DRAM, but for those that the host makes."""
    found = lowering.values[value]
    on_host = not layout_of(found).on_device and not isinstance(found.owner, Block)
    return found if on_host or stays_on_host(value) else lowering.tiled(value)


def passed(lowering: Lowering, value: SSAValue) -> SSAValue:
    """A TTIR value as functions give it to each other: tiles in DRAM, of the value's own element type."""
    return lowering.tiled(value, DATA_TYPES[tensor_type(value).element_type])


def passed_type(value: SSAValue) -> Attribute:
    """The type of what :func:`passed` gives."""
    sizes = shape(value)
    return laid_out(sizes, TensorLayout.of(sizes, DATA_TYPES[tensor_type(value).element_type]))


def _given_type(function: FuncOp, index: int) -> Attribute:
    return passed_type(body(function).args[index])


def stays_on_host(value: SSAValue) -> bool:
    """Whether no chip can hold a value: by its element type, or since it has no elements."""
    type_ = tensor_type(value)
    return DATA_TYPES[type_.element_type].is_host_only or 0 in type_.get_shape()


def host_layout(value: SSAValue) -> TensorLayout:
    """Row-major in system memory."""
    type_ = tensor_type(value)
    dtype = DATA_TYPES[type_.element_type]
    return TensorLayout.of(type_.get_shape(), dtype, tiled=False, buffer=BufferType.SYSTEM_MEMORY)


def _check_total(block: Block) -> None:
    missing = [op for op in block.ops if type(op) not in RULES and not isinstance(op, ReturnOp)]
    if missing:
        names = ", ".join(sorted({f"'{op.name}'" for op in missing}))
        types = ", ".join(str(value.type) for value in missing[0].operands)
        raise UnsupportedOpError(
            f"failed to legalize operation {names}: TT-NN has no op for it; the first one works on ({types}).",
            location=describe(missing[0].location),
            hint="Rewrite this part of the model with other ops, or run it outside the compiled part.",
        )


def _argument_type(function: FuncOp, index: int) -> Attribute:
    """Inputs come row-major as the host has them, parameters in tiles, convolution weights stay on the host."""
    argument = body(function).args[index]
    sizes, dtype = shape(argument), DATA_TYPES[tensor_type(argument).element_type]
    conv_weight = bool(argument.uses) and all(
        isinstance(use.operation, Conv2dOp | ConvTranspose2dOp) and use.index == 1 for use in argument.uses
    )
    if conv_weight or stays_on_host(argument):
        return laid_out(sizes, host_layout(argument))
    tiled = argument_role(function, index) is not Role.INPUT
    return laid_out(sizes, TensorLayout.of(sizes, dtype, tiled=tiled))
