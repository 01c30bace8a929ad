"""Emission of StableHLO ops at the end of a block."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxlib.mlir import ir

_DENSE: Any = ir.DenseElementsAttr  # the annotations of its methods leave numpy's arrays out

COLLECTIVES = ("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute", "reduce_scatter")

REDUCERS = {
    "stablehlo.add": "add",
    "stablehlo.and": "and",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.multiply": "multiply",
    "stablehlo.or": "or",
}
"""Ops that an all_reduce can apply, with their names."""


def tensor(shape: Sequence[int], element_type: Any) -> Any:
    """Returns a tensor type."""
    return ir.RankedTensorType.get(list(shape), element_type)


def element_type(value: Any) -> Any:
    """Returns the type of a tensor's elements."""
    return ir.RankedTensorType(value.type).element_type


def local_shape(value: Any) -> list[int]:
    """Returns the shape that a value has on one chip; an empty list for a token."""
    return list(ir.RankedTensorType(value.type).shape) if isinstance(value.type, ir.RankedTensorType) else []


def single_op(region: Any) -> str:
    """Returns the name of the reducer that is all that a region computes; an empty string for other regions."""
    (block,) = region.blocks
    body = list(block.operations)
    if len(body) != 2 or len(block.arguments) != 2 or body[0].operation.name not in REDUCERS:
        return ""
    first, last = body
    uses_both = {*first.operands} == {*block.arguments}
    returns = list(last.operands) == list(first.results)
    return REDUCERS[first.operation.name] if uses_both and returns else ""


class Builder:
    """Appends ops to the current block. The current location comes from ``with op.location``."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self._channels = 0

    @contextlib.contextmanager
    def inside(self, block: Any) -> Generator[None]:
        """Appends to another block for a while."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    @property
    def point(self) -> Any:
        return ir.InsertionPoint(self.block)

    def op(
        self,
        name: str,
        operands: Sequence[Any],
        results: Sequence[Any],
        attributes: Mapping[str, Any] | None = None,
        regions: int = 0,
    ) -> Any:
        """Appends an op of StableHLO, or of another dialect if the name has a dot."""
        return ir.Operation.create(
            name if "." in name else f"stablehlo.{name}",
            results=list(results),
            operands=list(operands),
            attributes=dict(attributes or {}),
            regions=regions,
            ip=self.point,
        )

    def result(
        self, name: str, operands: Sequence[Any], type_: Any, attributes: Mapping[str, Any] | None = None
    ) -> Any:
        """Appends an op with one result, and returns the result."""
        return self.op(name, operands, [type_], attributes).results[0]

    def constant(self, attribute: Any) -> Any:
        """Returns a constant with the value of a dense attribute."""
        return self.result("constant", [], attribute.type, {"value": attribute})

    def integers(self, values: Sequence[int]) -> Any:
        """Returns a constant vector of 32-bit integers."""
        return self.constant(dense(np.array(values, np.int32)))

    def scalar(self, value: int) -> Any:
        """Returns a constant scalar of 32-bit integers."""
        return self.constant(dense(np.array(value, np.int32)))

    def zero(self, element: Any) -> Any:
        """Returns a scalar constant that is zero."""
        if isinstance(element, ir.ComplexType):
            part = self.zero(element.element_type)
            return self.result("complex", [part, part], tensor((), element))
        zero = "0.0"
        if isinstance(element, ir.IntegerType):
            zero = "false" if element.width == 1 else "0"
        return self.constant(ir.Attribute.parse(f"dense<{zero}> : tensor<{element}>"))

    def broadcast(self, value: Any, shape: Sequence[int], dims: Sequence[int] = ()) -> Any:
        """Broadcasts a value whose dimensions become ``dims`` of the result."""
        return self.result(
            "broadcast_in_dim",
            [value],
            tensor(shape, element_type(value)),
            {"broadcast_dimensions": i64s(dims)},
        )

    def reshape(self, value: Any, shape: Sequence[int]) -> Any:
        if local_shape(value) == list(shape):
            return value
        return self.result("reshape", [value], tensor(shape, element_type(value)))

    def binary(self, name: str, lhs: Any, rhs: Any) -> Any:
        """Applies an op to two tensors of one type, which is that of its result."""
        return self.result(name, [lhs, rhs], lhs.type)

    def add(self, lhs: Any, rhs: Any) -> Any:
        return self.binary("add", lhs, rhs)

    def iota(self, shape: Sequence[int], dim: int) -> Any:
        """Returns 32-bit integers that count along a dimension."""
        return self.result("iota", [], tensor(shape, ir.IntegerType.get_signless(32)), {"iota_dimension": i64(dim)})

    def compare(self, lhs: Any, rhs: Any, direction: str) -> Any:
        """Compares two tensors of 32-bit integers."""
        attributes = {
            "comparison_direction": ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
            "compare_type": ir.Attribute.parse("#stablehlo<comparison_type SIGNED>"),
        }
        return self.result("compare", [lhs, rhs], tensor(local_shape(lhs), ir.IntegerType.get_signless(1)), attributes)

    def select(self, predicate: Any, on_true: Any, on_false: Any) -> Any:
        return self.result("select", [predicate, on_true, on_false], on_true.type)

    def slice(self, value: Any, starts: Sequence[int], limits: Sequence[int]) -> Any:
        """Returns a part of a value with constant bounds."""
        shape = [limit - start for start, limit in zip(starts, limits, strict=True)]
        if shape == local_shape(value):
            return value
        attributes = {
            "start_indices": i64s(starts),
            "limit_indices": i64s(limits),
            "strides": i64s([1] * len(shape)),
        }
        return self.result("slice", [value], tensor(shape, element_type(value)), attributes)

    def slice_dim(self, value: Any, dim: int, start: int, limit: int) -> Any:
        """Returns the part of a value between two places of one dimension."""
        starts, limits = [0] * len(local_shape(value)), local_shape(value)
        starts[dim], limits[dim] = start, limit
        return self.slice(value, starts, limits)

    def dynamic_slice(self, value: Any, starts: Sequence[Any], shape: Sequence[int]) -> Any:
        return self.result(
            "dynamic_slice", [value, *starts], tensor(shape, element_type(value)), {"slice_sizes": i64s(shape)}
        )

    def pad(self, value: Any, low: Sequence[int], high: Sequence[int], fill: Any = None) -> Any:
        """Pads a value with a scalar, which is zero if none is given."""
        if not any(low) and not any(high):
            return value
        shape = [a + size + b for a, size, b in zip(low, local_shape(value), high, strict=True)]
        fill = self.zero(element_type(value)) if fill is None else fill
        attributes = {
            "edge_padding_low": i64s(low),
            "edge_padding_high": i64s(high),
            "interior_padding": i64s([0] * len(shape)),
        }
        return self.result("pad", [value, fill], tensor(shape, element_type(value)), attributes)

    def pad_dim(self, value: Any, dim: int, low: int, high: int, fill: Any = None) -> Any:
        """Pads one dimension of a value."""
        rank = len(local_shape(value))
        lows, highs = [0] * rank, [0] * rank
        lows[dim], highs[dim] = low, high
        return self.pad(value, lows, highs, fill)

    def concatenate(self, values: Sequence[Any], dim: int) -> Any:
        """Joins values along a dimension; those without elements are left out."""
        parts = [value for value in values if local_shape(value)[dim] > 0] or list(values[:1])
        if len(parts) == 1:
            return parts[0]
        shape = local_shape(parts[0])
        shape[dim] = sum(local_shape(value)[dim] for value in parts)
        return self.result("concatenate", parts, tensor(shape, element_type(parts[0])), {"dimension": i64(dim)})

    def by_parts(self, value: Any, apply: Callable[[Any], Any]) -> Any:
        """Applies a function to a tensor; to real and imaginary parts, which chips exchange, if it is complex."""
        element = element_type(value)
        if not isinstance(element, ir.ComplexType):
            return apply(value)
        type_ = tensor(local_shape(value), element.element_type)
        real, imaginary = (apply(self.result(name, [value], type_)) for name in ("real", "imag"))
        return self.result("complex", [real, imaginary], tensor(local_shape(real), element))

    def all_gather(self, value: Any, dim: int, groups: list[list[int]]) -> Any:
        """Joins the values of the chips of each group along a dimension."""
        return self.by_parts(value, lambda part: self._all_gather(part, dim, groups))

    def _all_gather(self, value: Any, dim: int, groups: list[list[int]]) -> Any:
        shape = local_shape(value)
        shape[dim] *= len(groups[0])
        attributes = {"all_gather_dim": i64(dim), **self._groups(groups)}
        return self.result("all_gather", [value], tensor(shape, element_type(value)), attributes)

    def all_to_all(self, value: Any, split: int, concat: int, groups: list[list[int]]) -> Any:
        """Splits a value along a dimension among the chips of each group, and joins what they send along another."""
        return self.by_parts(value, lambda part: self._all_to_all(part, split, concat, groups))

    def _all_to_all(self, value: Any, split: int, concat: int, groups: list[list[int]]) -> Any:
        count, shape = len(groups[0]), local_shape(value)
        shape[split] //= count
        shape[concat] *= count
        attributes = {
            "split_dimension": i64(split),
            "concat_dimension": i64(concat),
            "split_count": i64(count),
            **self._groups(groups),
        }
        del attributes["use_global_device_ids"]
        return self.result("all_to_all", [value], tensor(shape, element_type(value)), attributes)

    def collective_permute(self, value: Any, pairs: Sequence[tuple[int, int]]) -> Any:
        """Sends a value between chips. A chip that no pair names as its target gets zeros."""
        return self.by_parts(value, lambda part: self._collective_permute(part, pairs))

    def _collective_permute(self, value: Any, pairs: Sequence[tuple[int, int]]) -> Any:
        attributes = {
            "source_target_pairs": dense(np.array(pairs, np.int64)),
            "channel_handle": self.channel(),
        }
        return self.result("collective_permute", [value], value.type, attributes)

    def all_reduce(self, value: Any, kind: str, groups: list[list[int]]) -> Any:
        """Combines a value over groups of chips with an op of ``REDUCERS``; complex numbers can be added."""
        return self.by_parts(value, lambda part: self._all_reduce(part, kind, groups))

    def _all_reduce(self, value: Any, kind: str, groups: list[list[int]]) -> Any:
        op = self.op("all_reduce", [value], [value.type], self._groups(groups), regions=1)
        self.reducer(op.regions[0], element_type(value), kind)
        return op.results[0]

    def reduce_scatter(self, value: Any, kind: str, dim: int, groups: list[list[int]]) -> Any:
        """Combines a value over groups of chips, each of which gets its part of a dimension."""
        return self.by_parts(value, lambda part: self._reduce_scatter(part, kind, dim, groups))

    def _reduce_scatter(self, value: Any, kind: str, dim: int, groups: list[list[int]]) -> Any:
        shape = local_shape(value)
        shape[dim] //= len(groups[0])
        attributes = {"scatter_dimension": i64(dim), **self._groups(groups)}
        op = self.op("reduce_scatter", [value], [tensor(shape, element_type(value))], attributes, regions=1)
        self.reducer(op.regions[0], element_type(value), kind)
        return op.results[0]

    def reducer(self, region: Any, element: Any, kind: str) -> None:
        """Fills the region of a reduction with one binary op."""
        scalar = tensor((), element)
        block = region.blocks.append(scalar, scalar)
        with self.inside(block):
            result = self.result(kind, list(block.arguments), scalar)
            self.op("return", [result], [])

    def partition_id(self) -> Any:
        return self.result("partition_id", [], tensor((), ir.IntegerType.get_unsigned(32)))

    def convert(self, value: Any, element: Any) -> Any:
        if element_type(value) == element:
            return value
        return self.result("convert", [value], tensor(local_shape(value), element))

    def signed(self, value: Any) -> Any:
        """Returns integers in a signed type of at least 32 bits that holds all values of their type."""
        element = element_type(value)
        wide = element.width > 32 or (element.is_unsigned and element.width == 32)
        return self.convert(value, ir.IntegerType.get_signless(64 if wide else 32))

    def _groups(self, groups: list[list[int]]) -> dict[str, Any]:
        return {
            "replica_groups": dense(np.array(groups, np.int64)),
            "channel_handle": self.channel(),
            "use_global_device_ids": ir.UnitAttr.get(),
        }

    def channel(self) -> Any:
        """Returns a channel that no other collective has."""
        self._channels += 1
        return ir.Attribute.parse(f"#stablehlo.channel_handle<handle = {self._channels}, type = 1>")


def dense(array: npt.NDArray[Any]) -> Any:
    """Returns the dense attribute of an array."""
    return _DENSE.get(array)


def i64s(values: Sequence[int]) -> Any:
    return ir.DenseI64ArrayAttr.get([int(value) for value in values])


def i64(value: int) -> Any:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
