"""The table itself, and what a row sees of an instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.codegen.expressions import Call, Data, Expression, Name, Value
from tt_xla.codegen.layouts import dtype, layout, memory_config
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.registry import Registry
from tt_xla.target import Target


@dataclass(frozen=True)
class Op:
    """An instruction with the specs of its function's values, for one chip."""

    instruction: Instruction
    values: Sequence[TensorSpec]
    target: Target

    def __getitem__(self, name: str) -> Expression:
        """The tensor of an operand, several as a tuple, None when it is absent."""
        found = self.instruction.operands.get(name)
        if isinstance(found, int) or found is None:
            return None if found is None else Value(found)
        return tuple(Value(number) for number in found)

    def spec(self, name: str) -> TensorSpec:
        found = self.instruction.operands[name]
        assert isinstance(found, int), f"{name} of {self.instruction.op} is several values"
        return self.values[found]

    @property
    def result(self) -> TensorSpec:
        return self.values[self.instruction.results[0]]

    def get(self, name: str) -> Any:
        """An attribute as plain data; lists become tuples; None when it is absent."""
        found = self.instruction.attributes.get(name)
        return tuple(found) if isinstance(found, list) else found  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    @property
    def dtype(self) -> Name:
        """The data type of the result."""
        return dtype(self.result.layout.dtype)

    @property
    def layout(self) -> Name:
        return layout(self.result.layout.tiled)

    @property
    def memory(self) -> Expression:
        """The memory config of the result."""
        return memory_config(self.result.layout, self.target.grid)

    def memory_of(self, name: str) -> Expression:
        return memory_config(self.spec(name).layout, self.target.grid)


CallRule = Callable[[Op], "Call | Data"]
CALLS: Registry[str, CallRule] = Registry("TT-NN call")
calls = CALLS.register
"""Registers the call of TTNN ops, by full name."""


def call_of(instruction: Instruction, values: Sequence[TensorSpec], target: Target) -> Call | Data:
    """The TT-NN call that computes an instruction; elements given with the program stand for themselves.

    Raises:
        UnsupportedOpError: the op has no row.
    """
    rule = CALLS.get(instruction.op)
    if rule is None:
        raise UnsupportedOpError(
            f"'{instruction.op}' has no call of TT-NN in the table.",
            location=instruction.location,
            hint="Add a row to tt_xla/codegen/calls.",
        )
    return rule(Op(instruction, values, target))


def given(**keywords: Expression) -> dict[str, Expression]:
    """Keywords without those that are None, TT-NN's default."""
    return {name: value for name, value in keywords.items() if value is not None}


def compute_config(fields: dict[str, Any] | None) -> Expression:
    """``#ttnn.device_compute_kernel_config``; None, TT-NN's choice, where it says nothing.

    Of a config that says something TT-NN would take the rest as approximate maths without accumulation in L1; ours is
    exact, and accumulates there as TT-NN's own choice does.
    """
    if not fields:
        return None
    named: dict[str, Expression] = {"math_approx_mode": False, "packer_l1_acc": True} | fields
    if "math_fidelity" in fields:
        labels = {"lofi": "LoFi", "hifi2": "HiFi2", "hifi3": "HiFi3", "hifi4": "HiFi4"}
        named["math_fidelity"] = Name(f"ttnn.MathFidelity.{labels[fields['math_fidelity']]}")
    return Call("ttnn.WormholeComputeKernelConfig", (), named)
