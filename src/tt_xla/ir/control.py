"""Ops of ``ttcore`` that run other functions of the module: loops and cases.

Source: dumps of upstream's plugin 0.1.3.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, SymbolRefAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolTable

from tt_xla.ir.base import TTOp
from tt_xla.ir.properties import BOOL, I32, I32S, SYMBOL, PropertyKind, opt_prop_def, prop_def


@irdl_attr_definition
class LoopBoundAttr(Data[tuple[int, int | None]]):
    """Initial value, limit or step of a loop counter.

    It is a number, ``<20>``, or the index of the loop's operand that holds the number, ``<0, 2 : i32>``.
    """

    name = "ttcore.loop_bound"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, int | None]:
        with parser.in_angle_brackets():
            number = parser.parse_integer()
            if not parser.parse_optional_punctuation(","):
                return number, None
            operand = parser.parse_attribute()
            if not isinstance(operand, IntegerAttr) or operand.type != i32:
                parser.raise_error("expected the index of an operand, <0, 2 : i32>")
            return number, operand.value.data

    def print_parameter(self, printer: Printer) -> None:
        number, operand = self.data
        printer.print_string(f"<{number}>" if operand is None else f"<{number}, {operand} : i32>")


BOUND: PropertyKind[tuple[int, int | None]] = PropertyKind(
    "a #ttcore.loop_bound", lambda value: LoopBoundAttr((value[0], value[1])), lambda attr: attr.data, LoopBoundAttr
)
SYMBOLS: PropertyKind[tuple[str, ...]] = PropertyKind(
    "a list of symbols, [@a, @b]",
    lambda value: ArrayAttr([SymbolRefAttr(name) for name in value]),
    lambda attr: tuple(item.root_reference.data for item in attr.data),
    ArrayAttr,
)


class _Calling(TTOp, ABC):
    """An op that runs other functions of its module."""

    def verify(self, verify_nested_ops: bool = True) -> None:
        """Verifies in full each time: a called function may have changed since a similar op was verified."""
        IRDLOperation.verify(self, verify_nested_ops)

    def check_call(self, name: str, arguments: Sequence[SSAValue], results: Sequence[Attribute] | None) -> None:
        """Checks the signature of a called function; an op outside a module has none to check.

        Args:
            name: name of the function.
            arguments: values that the function must take.
            results: types that it must return; None for any single value.

        Raises:
            VerifyException: there is no such function, or it has another signature.
        """
        callee = SymbolTable.lookup_symbol(self, name) if self.parent_op() is not None else None
        if self.parent_op() is None:
            return
        if not isinstance(callee, FuncOp):
            self.fail(f"calls @{name}, expected the name of a function of the module")
        assert isinstance(callee, FuncOp)
        signature = callee.function_type
        passed = [value.type for value in arguments]
        if list(signature.inputs) != passed:
            self.fail(f"passes {_listed(passed)} to @{name}, which takes {_listed(signature.inputs)}")
        if results is None:
            if len(signature.outputs) != 1:
                self.fail(f"@{name} returns {len(signature.outputs)} values, expected one")
        elif list(signature.outputs) != list(results):
            self.fail(f"@{name} returns {_listed(signature.outputs)}, expected {_listed(results)}")


def _listed(types: Any) -> str:
    return f"({', '.join(map(str, types))})"


@irdl_op_definition
class WhileLoopOp(_Calling):
    """Runs a function in rounds; the states that a round returns are the states of the next one.

    The first ``state_count`` operands are the states before the first round; every round gets the other operands
    unchanged. A counted loop has a round for each number from ``initial`` up (down) to below (above) ``limit`` by
    ``step``. Any other loop has another round as long as ``condition_program``, called with the same operands, returns
    true.
    """

    name = "ttcore.while_loop"
    inputs = var_operand_def()
    body_program = prop_def(SYMBOL)
    condition_program = opt_prop_def(SYMBOL)
    initial = opt_prop_def(BOUND)
    limit = opt_prop_def(BOUND)
    step = opt_prop_def(BOUND)
    output_indices = prop_def(I32S)
    """Index of the state that each result is."""
    state_count = prop_def(I32)
    effects = opt_prop_def(BOOL)
    """Whether the loop may call a Python function back; such a loop runs even if nothing uses its results."""
    outputs = var_result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        count, outputs = self.state_count, self.output_indices
        if not 0 <= count <= len(self.inputs):
            self.fail(f"state_count is {count}, expected 0 to {len(self.inputs)}, the number of operands")
        if len(outputs) != len(self.results) or not all(0 <= index < count for index in outputs):
            self.fail(
                f"output_indices are {list(outputs)}, expected the index of one of {count} states for each of "
                f"{len(self.results)} results"
            )
        states = [value.type for value in self.inputs[:count]]
        for index, result in zip(outputs, self.results, strict=True):
            if result.type != states[index]:
                self.fail(f"a result has type {result.type}, expected that of its state, {states[index]}")
        self._check_bounds()
        self.check_call(self.body_program, self.inputs, states)
        if self.condition_program is not None:
            self.check_call(self.condition_program, self.inputs, None)

    def _check_bounds(self) -> None:
        bounds = [self.initial, self.limit, self.step]
        counted = self.condition_program is None
        if any((bound is not None) != counted for bound in bounds):
            self.fail("expected either initial, limit and step, or a condition_program")
        for number, operand in filter(None, bounds):
            if operand is not None and not 0 <= operand < len(self.inputs):
                self.fail(f"a bound is operand {operand}, expected 0 to {len(self.inputs) - 1}")
            if operand is None and bounds[2] == (number, None) and number == 0:
                self.fail("step is 0, expected another number")


@irdl_op_definition
class CaseOp(_Calling):
    """Runs the function that ``index`` selects; an index out of range selects the last one.

    An index of element type i1 selects the second function if it is true.
    """

    name = "ttcore.case"
    index = operand_def()
    inputs = var_operand_def()
    branch_programs = prop_def(SYMBOLS)
    effects = opt_prop_def(BOOL)
    """Same as :attr:`WhileLoopOp.effects`."""
    outputs = var_result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        branches = self.branch_programs
        if not branches:
            self.fail("branch_programs is empty, expected at least one function")
        for name in branches:
            self.check_call(name, self.inputs, [value.type for value in self.outputs])


def subprograms(op: Operation) -> tuple[str, ...]:
    """Returns the names of the functions that a loop or a case runs; empty for other ops."""
    if isinstance(op, WhileLoopOp):
        condition = op.condition_program
        return (op.body_program,) if condition is None else (condition, op.body_program)
    return op.branch_programs if isinstance(op, CaseOp) else ()
