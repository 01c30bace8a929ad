"""Pass of level 2: a product of one row of tiles by a very wide weight becomes several products, and a concatenation.

Logits of a decoder are such a product. Weights that are cut over the DRAM banks stream fastest, but the circular
buffers of that product grow with the columns of a bank, and do not fit beyond some width. Parts of the weight do, which
const-eval cuts out once.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import constant_values
from tt_xla.compiler.instructions import plain_instruction
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.compiler.ttnn.layouts.matmul_forms import dram_sharded_forms, product_forms
from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.cost.sharding import interleaved_in_l1, shardings
from tt_xla.ir.base import shape
from tt_xla.ir.layout import TILE, TensorLayout
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.contraction import MatmulOp
from tt_xla.ir.ttnn.structure import ConcatOp, SliceStaticOp
from tt_xla.target import Target

_MOST_PARTS = 16
"""Number of parts up to which a weight is cut."""

_WORTH_IT = 0.1
"""Share of a product's predicted time that the parts must save."""


def run(module: ModuleOp, target: Target) -> None:
    """Splits the wide products of entry functions where that is predicted to be faster."""
    for function in functions(module):
        if not is_entry(function):
            continue
        constants = constant_values(function)
        for op in list(body(function).ops):
            if isinstance(op, MatmulOp) and op.b in constants and op.b.has_one_use() and len(shape(op.b)) == 2:
                parts = _Product.of(op, target).best_parts()
                if parts > 1:
                    _split(op, parts)


@dataclass(frozen=True)
class _Product:
    """A product, and the prices of its parts."""

    instruction: Instruction
    operand: TensorSpec
    weight: TensorSpec
    result: TensorSpec
    target: Target

    @staticmethod
    def of(op: MatmulOp, target: Target) -> _Product:
        """Returns the product that an op computes."""
        operand, weight, result = (TensorSpec(shape(value), layout_of(value)) for value in (op.a, op.b, op.result))
        return _Product(plain_instruction(op), operand, weight, result, target)

    def best_parts(self) -> int:
        """Returns the number of parts with which the product is predicted to be fastest; 1 if it stays whole."""
        if self.fastest(1, from_banks=True) is not None:
            return 1
        columns = self.weight.shape[1]
        times: dict[int, float] = {}
        for parts in range(2, _MOST_PARTS + 1):
            part = None if columns % (parts * TILE) else self.fastest(parts, from_banks=True)
            if part is not None:
                times[parts] = parts * (part + rates_of(self.target).gap_traced) + self.concat_us(parts)
        whole = self.fastest(1, from_banks=False)
        best = min(times, key=lambda parts: times[parts], default=1)
        return best if whole is not None and times and times[best] < (1 - _WORTH_IT) * whole else 1

    def fastest(self, parts: int, *, from_banks: bool) -> float | None:
        """Returns the least predicted time of a part in us, or None if there is no form.

        Args:
            parts: number of parts.
            from_banks: whether the weight is cut over the DRAM banks.
        """
        weight, result = (_narrowed(spec, parts) for spec in (self.weight, self.result))
        inputs = (self.operand, weight)
        times: list[float] = []
        if from_banks:
            for place, operands, config in dram_sharded_forms(self.instruction, inputs, result, self.target):
                placed = [TensorSpec(spec.shape, at) for spec, at in zip(inputs, operands, strict=True)]
                times.append(self._us([*placed, TensorSpec(result.shape, place)], config))
        else:
            places = shardings(result.shape, result.layout.dtype, self.target)
            for place, operand, config in product_forms(self.instruction, inputs, result, self.target, places):
                source = self.operand if operand is None else TensorSpec(self.operand.shape, operand)
                times.append(self._us([source, weight, TensorSpec(result.shape, place)], config))
        return min(times, default=None)

    def concat_us(self, parts: int) -> float:
        """Returns the predicted time of joining the results, which are copied from their shards first, in us."""
        part, gap = _narrowed(self.result, parts), rates_of(self.target).gap_traced
        pages = TensorSpec(part.shape, interleaved_in_l1(part.layout, part.shape, self.target))
        concat = Instruction("ttnn.concat", {"inputs": tuple(range(parts))}, (parts,), {"dim": len(part.shape) - 1})
        return instruction_cost(concat, [pages] * parts + [self.result], self.target).total_us + (parts + 1) * gap

    def _us(self, specs: list[TensorSpec], config: object) -> float:
        plain = self.instruction
        attributes = {**plain.attributes, "matmul_program_config": config}
        configured = Instruction(plain.op, {"a": 0, "b": 1}, (2,), attributes)
        return instruction_cost(configured, specs, self.target).total_us


def _narrowed(spec: TensorSpec, parts: int) -> TensorSpec:
    """Returns a part of a tensor's columns."""
    sizes = (*spec.shape[:-1], spec.shape[-1] // parts)
    return TensorSpec(sizes, spec.layout.with_(sizes))


def _split(op: MatmulOp, parts: int) -> None:
    """Replaces a product by products of parts of the weight."""
    rows, columns = shape(op.b)
    width = columns // parts
    results: list[SSAValue] = []
    for start in range(0, columns, width):
        piece = SliceStaticOp.make(
            [op.b],
            [_like(layout_of(op.b), (rows, width))],
            op.location,
            begins=(0, start),
            ends=(rows, start + width),
            step=(1, 1),
        )
        product = MatmulOp.create(
            operands=[op.a, piece.results[0]],
            result_types=[_like(layout_of(op.result), (*shape(op.result)[:-1], width))],
            properties=dict(op.properties),
            location=op.location,
        )
        Rewriter.insert_op([piece, product], InsertPoint.before(op))
        results.append(product.results[0])
    concat = ConcatOp.make([results], [op.result.type], op.location, dim=len(shape(op.result)) - 1)
    Rewriter.replace_op(op, concat)


def _like(layout: TensorLayout, sizes: Shape) -> Attribute:
    """Returns the type of a tensor of other sizes in the place of a layout."""
    return laid_out(sizes, layout.with_(sizes))
