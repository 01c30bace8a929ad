"""The base class of the ops of all dialects, and functions that read types and uses of values."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float4E2M1FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute, ErasedSSAValue, Operation, OpResult, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation
from xdsl.irdl.operations import (
    BeforeVariadicSingleAccessor,
    OptionalPropertyAccessor,
    PropertyAccessor,
    VarIRConstruct,
)
from xdsl.utils.exceptions import VerifyException

from tt_xla.ir.layout import DataType
from tt_xla.ir.properties import I32S, LARGEST_CACHED, PropertyKind, si32, si64, typed_accessor, ui8, ui16, ui32

Tensor: TypeAlias = TensorType[Attribute]
T = TypeVar("T")

ELEMENT_TYPES: dict[DataType, Attribute] = {
    DataType.F32: f32,
    DataType.BF16: bf16,
    DataType.BFP_BF8: bf16,
    DataType.BFP_BF4: bf16,
    DataType.SI32: si32,
    DataType.U32: ui32,
    DataType.U16: ui16,
    DataType.U8: ui8,
    DataType.COMPLEX64: ComplexType(f32),
    DataType.COMPLEX128: ComplexType(f64),
    DataType.F64: f64,
    DataType.F16: f16,
    DataType.SI64: si64,
    DataType.U64: IntegerType(64, Signedness.UNSIGNED),
    DataType.SI8: IntegerType(8, Signedness.SIGNED),
    DataType.SI4: IntegerType(4, Signedness.SIGNED),
    DataType.U4: IntegerType(4, Signedness.UNSIGNED),
    DataType.SI2: IntegerType(2, Signedness.SIGNED),
    DataType.U2: IntegerType(2, Signedness.UNSIGNED),
    DataType.F8E3M4: Float8E3M4Type(),
    DataType.F8E4M3: Float8E4M3Type(),
    DataType.F8E4M3B11FNUZ: Float8E4M3B11FNUZType(),
    DataType.F8E4M3FN: Float8E4M3FNType(),
    DataType.F8E4M3FNUZ: Float8E4M3FNUZType(),
    DataType.F8E5M2: Float8E5M2Type(),
    DataType.F8E5M2FNUZ: Float8E5M2FNUZType(),
    DataType.F8E8M0FNU: Float8E8M0FNUType(),
    DataType.F4E2M1FN: Float4E2M1FNType(),
}
"""Element type of a tensor in the text by its data type; the element type of block floats is bf16."""

DATA_TYPES: dict[Attribute, DataType] = {
    element: dtype for dtype, element in ELEMENT_TYPES.items() if not dtype.is_block_float
}
"""Data type by element type in the text; that of bf16 is not a block float."""


_VERIFIED: dict[tuple[object, ...], tuple[Attribute, ...]] = {}
"""Types and attributes of verified ops, by op class, names of properties and attributes, and identities of types and
attributes. The values keep these objects alive, so that no other object gets their identity."""
_MOST_VERIFIED = 20_000

OperandLike: TypeAlias = "SSAValue | Sequence[SSAValue] | None"


def _is_large(attribute: Attribute) -> bool:
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        return len(attribute.data.data) > LARGEST_CACHED
    return isinstance(attribute, StringAttr) and len(attribute.data) > LARGEST_CACHED


class _OpMeta(ABCMeta):
    """Metaclass of op classes: ``isinstance`` looks at inheritance only.

    ``ABCMeta`` would ask each subclass in turn, which costs time in passes that test ops all the time.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    def __setattr__(cls, name: str, value: Any) -> None:
        """Replaces the accessors that ``irdl_op_definition`` sets with faster and typed ones."""
        if type(value) is BeforeVariadicSingleAccessor:
            value = _reader(value)
        elif isinstance(value, PropertyAccessor | OptionalPropertyAccessor):
            value = typed_accessor(cls, name, value)
        super().__setattr__(name, value)


def _reader(accessor: BeforeVariadicSingleAccessor) -> Any:
    """Returns an accessor that reads an operand or result with fixed index directly.

    xDSL's accessor calls four functions, and a compilation reads operands and results thousands of times.
    """
    index = accessor.idx

    def operand(op: Operation) -> SSAValue:
        return tuple.__getitem__(op._operands, index)  # pyright: ignore[reportPrivateUsage]

    def result(op: Operation) -> SSAValue:
        return tuple.__getitem__(op.results, index)

    readers = {VarIRConstruct.OPERAND: property(operand), VarIRConstruct.RESULT: property(result)}
    return readers.get(accessor.construct, accessor)


class TTOp(IRDLOperation, metaclass=_OpMeta):
    """An op of ``ttcore``, ``ttir`` or ``ttnn``."""

    @classmethod
    def make(
        cls,
        operands: Sequence[OperandLike],
        result_types: Sequence[Attribute],
        location: Any = None,
        **values: Any,
    ) -> Any:
        """Returns an op built from Python values.

        Args:
            operands: operands in declared order; None for an absent optional one, a sequence for a variadic one.
            result_types: type of each result.
            location: xDSL location of the source.
            values: property values by name; None leaves an optional property out.
        """
        flat: list[SSAValue] = []
        sizes: list[int] = []
        for operand in operands:
            if type(operand) is OpResult or isinstance(operand, SSAValue):
                flat.append(operand)
                sizes.append(1)
                continue
            group = () if operand is None else operand
            flat.extend(group)
            sizes.append(len(group))
        properties = {
            name: value if isinstance(value, Attribute) else property_kinds(cls)[name].encode(value)
            for name, value in values.items()
            if value is not None
        }
        if has_segments(cls):
            properties["operandSegmentSizes"] = I32S.encode(tuple(sizes))
        return cls.create(operands=flat, result_types=result_types, properties=properties, location=location)

    def __post_init__(self) -> None:
        """Does nothing; xDSL would add default properties here, while an absent property here means its default."""

    def value(self, name: str) -> Any:
        """Returns a property's value by a name that is computed; code that knows the name reads ``op.<field>``.

        An absent property has the value of its default, or None.
        """
        attribute = self.properties.get(name)
        kind = property_kinds(type(self))[name]
        return kind.default if attribute is None else kind.decode(attribute)

    def values(self) -> dict[str, Any]:
        """Returns the Python values of all properties but operandSegmentSizes; absent ones have their defaults."""
        kinds = property_kinds(type(self))
        values = {name: kinds[name].decode(attribute) for name, attribute in self.properties.items() if name in kinds}
        for name, kind in kinds.items():
            if kind.default is not None and name not in values:
                values[name] = kind.default
        return values

    def verify(self, verify_nested_ops: bool = True) -> None:
        """Verifies the op, unless an op with the same types and attribute objects was verified before.

        Models repeat their layers; without this shortcut, verifying takes a quarter of the compile time.
        """
        operands = tuple(self.operands)
        if self.regions or self.next_op is None or ErasedSSAValue in map(type, operands):
            super().verify(verify_nested_ops)
            return
        objects = (*[value.type for value in operands], *[value.type for value in self.results])
        objects += (*self.properties.values(), *self.attributes.values())
        key = (type(self), len(operands), *self.properties, *self.attributes, *map(id, objects))
        if key not in _VERIFIED:
            super().verify(verify_nested_ops)
            if any(map(_is_large, self.properties.values())):
                return
            if len(_VERIFIED) >= _MOST_VERIFIED:
                _VERIFIED.clear()
            _VERIFIED[key] = objects

    def fail(self, message: str) -> None:
        """Raises VerifyException with ``message``, after the name of the op."""
        raise VerifyException(f"'{self.name}' op: {message}")


@cache
def property_kinds(cls: type[TTOp]) -> dict[str, PropertyKind[Any]]:
    """Returns the kind of each property of an op class by name."""
    definition = cls.get_irdl_definition()
    constraints = {name: prop.constr for name, prop in definition.properties.items()}
    return {name: kind for name, kind in constraints.items() if isinstance(kind, PropertyKind)}


@cache
def has_segments(cls: type[TTOp]) -> bool:
    """Whether ops of a class have the property ``operandSegmentSizes``."""
    return any(isinstance(option, AttrSizedOperandSegments) for option in cls.get_irdl_definition().options)


@cache
def operand_names(cls: type[TTOp]) -> tuple[str, ...]:
    """Returns the names of an op class's operands, in declared order."""
    return tuple(name for name, _ in cls.get_irdl_definition().operands)


def tensor_type(value: SSAValue) -> Tensor:
    """Returns the type of a tensor.

    Raises:
        VerifyException: the value is no ranked tensor.
    """
    type_ = value.type
    if not isinstance(type_, TensorType):
        raise VerifyException(f"expected a ranked tensor, got {type_}")
    return cast(Tensor, type_)


_SHAPES: dict[int, tuple[Tensor, tuple[int, ...]]] = {}
"""Tensor type and shape by the type's identity; the types stay alive here, so that no other object gets it."""
_MOST_SHAPES = 20_000


def shape(value: SSAValue) -> tuple[int, ...]:
    """Returns the shape of a tensor, in elements.

    Raises:
        VerifyException: the value is no ranked tensor.
    """
    known = _SHAPES.get(id(value.type))
    if known is None:
        type_ = tensor_type(value)
        if len(_SHAPES) >= _MOST_SHAPES:
            _SHAPES.clear()
        known = _SHAPES[id(type_)] = (type_, type_.get_shape())
    return known[1]


@lru_cache(maxsize=4096)
def tensor(shape: tuple[int, ...], element: Attribute) -> Tensor:
    """Returns the tensor type of a shape and element type, without layout."""
    return TensorType(element, shape)


def same_type(one: SSAValue, other: SSAValue) -> bool:
    """Whether two tensors have the same type.

    Different types mostly differ in shape, and shapes compare faster than types.
    """
    return one.type is other.type or (shape(one) == shape(other) and one.type == other.type)


def users(value: SSAValue) -> list[Operation]:
    """Returns the ops that use a value, one for each use."""
    return [use.operation for use in value.uses]


def only_user(value: SSAValue) -> Operation | None:
    """Returns the op that uses a value if there is exactly one use; else None."""
    return value.get_user_of_unique_use()
