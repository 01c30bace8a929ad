"""Elementwise ops move to the side of a collective where tensors are smaller: before a gather, and after a partition.

Such an op computes each element from elements at the same position, so on fewer chips no result changes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.meshes import mesh_shape
from tt_xla.compiler.rewriting import insert_before, pattern, producer, run_patterns
from tt_xla.ir import abstract, shapes
from tt_xla.ir.base import DATA_TYPES, Tensor, TTOp, only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.collective import AllGatherOp, MeshPartitionOp
from tt_xla.ir.ttir.contraction import DotGeneralOp, LinearOp, MatmulOp
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.structure import TypecastOp
from tt_xla.ir.ttir.window import Conv2dOp

Elementwise = abstract.ElementwiseUnary | abstract.ElementwiseBinary


_PRODUCTS = (DotGeneralOp, MatmulOp, LinearOp, Conv2dOp)
"""Ops that apply the elementwise op after them as they write their results."""


def _bits(value: SSAValue) -> int:
    """Returns the bits of an element."""
    return DATA_TYPES[tensor_type(value).element_type].bits


def _gather(value: SSAValue) -> AllGatherOp | None:
    """Returns the gather that made a value which nothing else uses."""
    gathered = producer(value, AllGatherOp)
    return gathered if gathered is not None and only_user(gathered.result) is not None else None


def _again(
    op: TTOp, operands: list[SSAValue], result: Tensor, before: Operation, rewriter: PatternRewriter
) -> SSAValue:
    """Inserts the same op on other operands, and returns its result."""
    created = type(op).create(
        operands=operands, result_types=[result], properties=dict(op.properties), location=op.location
    )
    rewriter.insert(created, InsertPoint.before(before))
    return created.results[0]


def _is_constant(value: SSAValue) -> bool:
    """Whether a tensor is a constant whose elements are all the same."""
    return splat(value) is not None


def _shrunk(value: SSAValue, op: TTOp, sizes: shapes.Shape, rewriter: PatternRewriter) -> SSAValue:
    """Returns a constant of one value in another shape; a constant of one element stays."""
    number = splat(value)
    assert number is not None
    if all(size == 1 for size in shape(value)):
        return value
    type_ = tensor(sizes, tensor_type(value).element_type)
    return insert_before(rewriter, op, ConstantOp, [], type_, value=elements(number, type_))


@pattern(abstract.ElementwiseUnary)
def unary_of_gathered(op: abstract.ElementwiseUnary, rewriter: PatternRewriter) -> None:
    """Rewrites f(all_gather(x)) to all_gather(f(x)), unless the elements of the result are wider."""
    gathered = _gather(op.input)
    if gathered is None or shape(op.result) != shape(op.input) or _bits(op.result) > _bits(op.input):
        return
    type_ = tensor(shape(gathered.input), tensor_type(op.result).element_type)
    small = _again(op, [gathered.input], type_, op, rewriter)
    rewriter.replace(op, [], [_again(gathered, [small], tensor_type(op.result), op, rewriter)])


@pattern(AllGatherOp)
def gather_of_widened(op: AllGatherOp, rewriter: PatternRewriter) -> None:
    """Rewrites all_gather(typecast(x)) to typecast(all_gather(x)), if x has narrower elements."""
    cast = producer(op.input, TypecastOp)
    if cast is None or only_user(cast.result) is None or _bits(cast.input) >= _bits(cast.result):
        return
    type_ = tensor(shape(op.result), tensor_type(cast.input).element_type)
    gathered = _again(op, [cast.input], type_, op, rewriter)
    rewriter.replace(op, [], [_again(cast, [gathered], tensor_type(op.result), op, rewriter)])


@pattern(abstract.ElementwiseBinary)
def binary_of_gathered(op: abstract.ElementwiseBinary, rewriter: PatternRewriter) -> None:
    """Rewrites f(all_gather(x), all_gather(y)) to all_gather(f(x, y)), and likewise with a constant for y."""
    first = _gather(op.lhs) or _gather(op.rhs)
    if first is None or shape(op.result) != shape(first.result) or _bits(op.result) > _bits(first.result):
        return
    gathers = [_gather(operand) for operand in op.operands]
    if not all(_is_constant(x) or _is_alike(gathered, first) for x, gathered in zip(op.operands, gathers, strict=True)):
        return
    sizes = shape(first.input)
    inputs = [
        _shrunk(operand, op, sizes, rewriter) if gathered is None else gathered.input
        for operand, gathered in zip(op.operands, gathers, strict=True)
    ]
    type_ = tensor(shape(first.input), tensor_type(op.result).element_type)
    small = _again(op, inputs, type_, op, rewriter)
    rewriter.replace(op, [], [_again(first, [small], tensor_type(op.result), op, rewriter)])


def _is_alike(one: AllGatherOp | None, other: AllGatherOp) -> bool:
    """Whether two gathers join tensors of one shape in the same way."""
    return one is not None and one.properties == other.properties and shape(one.input) == shape(other.input)


@pattern(MeshPartitionOp)
def part_of_elementwise(op: MeshPartitionOp, rewriter: PatternRewriter) -> None:
    """Rewrites mesh_partition(f(x)) to f(mesh_partition(x)), and likewise for f(x, constant)."""
    source = op.input.owner
    if not isinstance(source, Elementwise) or only_user(op.input) is None:
        return
    large = [value for value in source.operands if not _is_constant(value)]
    if len(large) != 1 or shape(large[0]) != shape(op.input) or isinstance(large[0].owner, _PRODUCTS):
        return
    sizes = shape(op.result)
    part_type = tensor(sizes, tensor_type(large[0]).element_type)
    part = _again(op, [large[0]], part_type, op, rewriter)
    operands = [part if value is large[0] else _shrunk(value, op, sizes, rewriter) for value in source.operands]
    rewriter.replace(op, [], [_again(source, operands, tensor_type(op.result), op, rewriter)])


PATTERNS = (unary_of_gathered, gather_of_widened, binary_of_gathered, part_of_elementwise)


def run(module: ModuleOp) -> None:
    """Moves ops until none is on the wrong side."""
    if mesh_shape(module) is not None:
        run_patterns(module, *PATTERNS)
