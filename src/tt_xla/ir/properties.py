"""Properties of ops: one declaration serves the verifier, the builder and the typed reader.

``permutation = prop_def(I64S)`` in an op's class makes xDSL verify the property, lets :meth:`tt_xla.ir.base.TTOp.make`
take ``permutation=(1, 0)``, and gives ``op.permutation`` the type ``tuple[int, ...]``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from xdsl import irdl
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import AttrConstraint, VerificationContext
from xdsl.irdl.operations import OptionalPropertyAccessor, PropertyAccessor
from xdsl.utils.exceptions import VerifyException

T = TypeVar("T")

si8 = IntegerType(8, Signedness.SIGNED)
si32 = IntegerType(32, Signedness.SIGNED)
si64 = IntegerType(64, Signedness.SIGNED)
ui8 = IntegerType(8, Signedness.UNSIGNED)
ui16 = IntegerType(16, Signedness.UNSIGNED)
ui32 = IntegerType(32, Signedness.UNSIGNED)


LARGEST_CACHED = 1 << 12
"""Largest attribute, in bytes or characters, that a cache may keep alive longer than its module."""


class PropertyKind(AttrConstraint[Attribute], Generic[T]):
    """Constraint on a property that also converts between its attribute and its Python value."""

    def __init__(
        self,
        text: str,
        encode: Callable[[T], Attribute],
        decode: Callable[[Any], T],
        check: type,
        default: T | None = None,
    ) -> None:
        """
        Args:
            text: what the verifier says it expected, such as "an i32 integer".
            encode: makes the attribute of a value.
            decode: reads the value of an attribute.
            check: class that the attribute must belong to.
            default: value of an absent property.
        """
        self.text = text
        self.default = default
        self._encode_uncached = encode
        self._encode = lru_cache(maxsize=1024, typed=True)(encode)
        self._decode = decode
        self._check = check

    def with_default(self, default: T) -> PropertyKind[T]:
        """Returns this kind with ``default`` as the value of an absent property."""
        return PropertyKind(self.text, self._encode_uncached, self._decode, self._check, default)

    def encode(self, value: T) -> Attribute:
        """Returns the attribute of a Python value."""
        if isinstance(value, float) or (isinstance(value, tuple) and value and isinstance(value[0], float)):
            return self._encode_uncached(value)  # The cache would take -0.0 for 0.0, which compare equal.
        if isinstance(value, Attribute) or (isinstance(value, str) and len(value) > LARGEST_CACHED):
            return self._encode_uncached(value)
        return self._encode(value)

    def decode(self, attribute: Attribute) -> T:
        """Returns the Python value of an attribute."""
        return self._decode(attribute)

    def accessor(self, name: str, *, optional: bool) -> property:
        """Returns the descriptor that reads and writes the property ``name`` of an op as a Python value."""
        decode, default = self._decode, self.default

        def read(op: Operation) -> T:
            return decode(op.properties[name])

        def read_optional(op: Operation) -> T | None:
            attribute = op.properties.get(name)
            return default if attribute is None else decode(attribute)

        def write(op: Operation, value: T | None) -> None:
            if value is None:
                op.properties.pop(name, None)
            else:
                op.properties[name] = value if isinstance(value, Attribute) else self.encode(value)

        return property(read_optional if optional else read, write)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        try:
            valid = isinstance(attr, self._check) and self.encode(self.decode(attr)) == attr
        except (ValueError, TypeError, AttributeError, OverflowError, struct.error):
            valid = False
        if not valid:
            raise VerifyException(f"expected {self.text}, got {attr}")

    def mapping_type_vars(self, type_var_mapping: Mapping[Any, Any]) -> AttrConstraint[Attribute]:
        return self


def prop_def(kind: PropertyKind[T], *, prop_name: str | None = None) -> T:
    """Defines a required property, which ``op.<field>`` reads and writes as a Python value.

    Args:
        kind: the property's kind.
        prop_name: the property's name in the text, where the field needs another one.
    """
    return cast(Any, irdl.prop_def(kind, prop_name=prop_name))


def opt_prop_def(kind: PropertyKind[T], *, prop_name: str | None = None) -> T | None:
    """Defines a property that may be absent, which reads as None; see :func:`prop_def`."""
    return cast(Any, irdl.opt_prop_def(kind, prop_name=prop_name))


def defaulted(kind: PropertyKind[T], default: T, *, prop_name: str | None = None) -> T:
    """Defines a property that may be absent, which reads as ``default``; see :func:`prop_def`."""
    return cast(Any, irdl.opt_prop_def(kind.with_default(default), prop_name=prop_name))


def typed_accessor(cls: type, field: str, accessor: PropertyAccessor | OptionalPropertyAccessor) -> Any:
    """Returns the accessor of Python values that takes the place of xDSL's, which reads and writes attributes.

    Args:
        cls: the op class, whose ``field`` still holds the definition.
        field: name of the field.
        accessor: xDSL's accessor; it is returned where the property was declared without a kind.
    """
    kind = getattr(cls, field).param
    if not isinstance(kind, PropertyKind):
        return accessor
    return kind.accessor(accessor.property_name, optional=isinstance(accessor, OptionalPropertyAccessor))


def _integer(text: str, type_: IntegerType) -> PropertyKind[int]:
    return PropertyKind(
        text,
        lambda value: IntegerAttr(value, type_),
        lambda attr: cast(int, attr.value.data),
        IntegerAttr,
    )


def _dense(text: str, type_: IntegerType) -> PropertyKind[tuple[int, ...]]:
    return PropertyKind(
        text,
        lambda value: DenseArrayBase.from_list(type_, list(value)),
        lambda attr: tuple(cast(Sequence[int], attr.get_values())),
        DenseArrayBase,
    )


def _bool_decode(attr: Any) -> bool:
    if attr.type != i1:
        raise ValueError(attr)
    return bool(attr.value.data)


def _scalar_encode(value: float | int) -> Attribute:
    return FloatAttr(value, f32) if isinstance(value, float) else IntegerAttr(value, i32)


def enumeration(text: str, attribute: type[Data[T]]) -> PropertyKind[T]:
    """Returns the kind of properties whose attribute holds one plain value, such as a label."""
    return PropertyKind(text, lambda value: attribute(value), lambda attr: attr.data, attribute)


I32 = _integer("an i32 integer", i32)
I64 = _integer("an i64 integer", i64)
SI8 = _integer("an si8 integer", si8)
SI32 = _integer("an si32 integer", si32)
SI64 = _integer("an si64 integer", si64)
UI32 = _integer("a ui32 integer", ui32)
I64S = _dense("array<i64: ...>", i64)
I32S = _dense("array<i32: ...>", i32)
I32_LIST: PropertyKind[tuple[int, ...]] = PropertyKind(
    "a list of i32 integers, [1 : i32, ...]",
    lambda value: ArrayAttr([IntegerAttr(item, i32) for item in value]),
    lambda attr: tuple(item.value.data for item in attr.data),
    ArrayAttr,
)
F32: PropertyKind[float] = PropertyKind(
    "an f32 float", lambda value: FloatAttr(value, f32), lambda attr: attr.value.data, FloatAttr
)
SCALAR: PropertyKind[float | int] = PropertyKind(
    "an f32 float or i32 integer",
    _scalar_encode,
    lambda attr: attr.value.data,
    (FloatAttr | IntegerAttr),  # pyright: ignore[reportArgumentType]
)
WINDOW: PropertyKind[int | tuple[int, ...]] = PropertyKind(
    "an i32 integer or array<i32: ...>",
    lambda value: IntegerAttr(value, i32) if isinstance(value, int) else DenseArrayBase.from_list(i32, list(value)),
    lambda attr: attr.value.data if isinstance(attr, IntegerAttr) else tuple(attr.get_values()),
    (IntegerAttr | DenseArrayBase),  # pyright: ignore[reportArgumentType]
)
SCALE: PropertyKind[int | tuple[int, ...]] = PropertyKind(
    "an si32 integer or array<i32: ...>",
    lambda value: IntegerAttr(value, si32) if isinstance(value, int) else DenseArrayBase.from_list(i32, list(value)),
    lambda attr: attr.value.data if isinstance(attr, IntegerAttr) else tuple(attr.get_values()),
    (IntegerAttr | DenseArrayBase),  # pyright: ignore[reportArgumentType]
)
BOOL: PropertyKind[bool] = PropertyKind("a bool", lambda value: IntegerAttr.from_bool(value), _bool_decode, IntegerAttr)
STR: PropertyKind[str] = PropertyKind("a string", lambda value: StringAttr(value), lambda attr: attr.data, StringAttr)
STRS: PropertyKind[tuple[str, ...]] = PropertyKind(
    'a list of strings, ["a", "b"]',
    lambda value: ArrayAttr([StringAttr(item) for item in value]),
    lambda attr: tuple(item.data for item in attr.data),
    ArrayAttr,
)
SYMBOL: PropertyKind[str] = PropertyKind(
    "a symbol, @name", lambda value: SymbolRefAttr(value), lambda attr: attr.root_reference.data, SymbolRefAttr
)
ELEMENTS: PropertyKind[DenseIntOrFPElementsAttr] = PropertyKind(
    "dense elements", lambda value: value, lambda attr: attr, DenseIntOrFPElementsAttr
)
