"""The table of calls, and the view of an instruction that its rows read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.codegen.expressions import Call, Data, Device, Expression, Name, Value
from tt_xla.codegen.layouts import dtype, layout, memory_config
from tt_xla.codegen.meshes import AXIS, DeviceMesh
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.op_table import FIDELITY_LABELS
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.ir.ranks import PROCESS_GROUP
from tt_xla.registry import Registry
from tt_xla.target import Target


@dataclass(frozen=True)
class Op:
    """An instruction with the specs of its function's values, for one target."""

    instruction: Instruction
    values: Sequence[TensorSpec]
    target: Target
    mesh: DeviceMesh | None = None
    """The mesh device that the program runs on; None for one chip."""

    def __getitem__(self, name: str) -> Expression:
        """Returns an operand: a value, a tuple of values for a variadic operand, or None when it is absent."""
        operand = self.instruction.operands.get(name)
        if isinstance(operand, int) or operand is None:
            return None if operand is None else Value(operand)
        return tuple(Value(number) for number in operand)

    def spec(self, name: str) -> TensorSpec:
        """Returns shape and layout of an operand."""
        operand = self.instruction.operands[name]
        assert isinstance(operand, int), f"operand {name} of {self.instruction.op} is variadic"
        return self.values[operand]

    @property
    def result(self) -> TensorSpec:
        """Shape and layout of the first result."""
        return self.values[self.instruction.results[0]]

    def argument(self, name: str) -> Expression:
        """Returns a property of the op that a row names, such as ``memory``, or else an operand or an attribute."""
        if name in _PROPERTIES:
            return getattr(self, name)
        return self[name] if name in self.instruction.operands else self.get(name)

    def get(self, name: str) -> Any:
        """Returns an attribute as plain data, lists as tuples, or None when it is absent."""
        attribute = self.instruction.attributes.get(name)
        return tuple(attribute) if isinstance(attribute, list) else attribute  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    @property
    def dtype(self) -> Name:
        """Data type of the result, in TT-NN's name."""
        return dtype(self.result.layout.dtype)

    @property
    def layout(self) -> Name:
        """Layout of the result, tiled or row-major, in TT-NN's name."""
        return layout(self.result.layout.tiled)

    @property
    def memory(self) -> Expression:
        """Memory config of the result; None on the host."""
        return memory_config(self.result.layout, self.target.grid)

    @property
    def device(self) -> Device:
        """The device that the program runs on."""
        return Device()

    @property
    def device_of_result(self) -> Device | None:
        """The device if the result lies there; None on the host."""
        return Device() if self.result.layout.on_device else None

    @property
    def compute(self) -> Expression:
        """Compute config of the op; None leaves all choices to TT-NN."""
        return compute_config(self.get("compute_config"))

    def memory_of(self, name: str) -> Expression:
        """Returns the memory config of an operand; None on the host."""
        return memory_config(self.spec(name).layout, self.target.grid)

    @property
    def cluster_axis(self) -> int | None:
        """Dimension of the mesh device along which chips exchange tensors; None for all chips."""
        return self._on_mesh().axis(self.get(AXIS))

    @property
    def chips(self) -> int:
        """Number of chips that exchange tensors with each other."""
        return self._on_mesh().chips(self.get(AXIS))

    def coordinates(self, name: str) -> tuple[int, int]:
        """Returns the row and column in the mesh device of the chip that an attribute names."""
        return self._on_mesh().coordinates(self.get(name))

    def _on_mesh(self) -> DeviceMesh:
        if PROCESS_GROUP in self.instruction.attributes:
            raise UnsupportedOpError(
                f"'{self.instruction.op}' exchanges tensors with the ranks of torch.distributed, and generated source "
                "is one process.",
                location=self.instruction.location,
                hint="Compile the model for a mesh of chips, which one process drives.",
            )
        if self.mesh is None:
            raise UnsupportedOpError(
                f"'{self.instruction.op}' exchanges tensors between chips, but the program is for one chip.",
                location=self.instruction.location,
                hint="Compile the model for a mesh of chips.",
            )
        return self.mesh


_PROPERTIES = {"compute", "device", "device_of_result", "dtype", "layout", "memory"}
"""Properties of :class:`Op` that a row may name."""

CallRule = Callable[[Op], "Call | Data"]
"""A row of the table: returns the call for an instruction."""

CALLS: Registry[str, CallRule] = Registry("TT-NN call")
calls = CALLS.register
"""Registers the call of TTNN ops, by full name."""


def row(op: str, *arguments: str, function: str = "", **keywords: str) -> None:
    """Registers a call whose arguments are those of the op as they are; see :meth:`Op.argument` for their names.

    Args:
        op: full name of the op.
        arguments: names of the positional arguments.
        function: TT-NN's function; by default the name of the op.
        keywords: name of the argument of each keyword. Absent arguments are left out.
    """

    def call(view: Op) -> Call:
        named = {keyword: view.argument(name) for keyword, name in keywords.items()}
        return Call(function or op, tuple(map(view.argument, arguments)), without_none(**named))

    CALLS[op] = call


MEMORY = {"memory_config": "memory"}
"""Keyword of functions that take the memory config of their result."""

COMPUTE = MEMORY | {"compute_kernel_config": "compute"}
"""Keywords of functions that take a compute config, too."""


def call_of(
    instruction: Instruction, values: Sequence[TensorSpec], target: Target, mesh: DeviceMesh | None = None
) -> Call | Data:
    """Returns the TT-NN call that computes an instruction; a constant on the host is its own expression.

    Args:
        instruction: the instruction.
        values: specs of its function's values.
        target: the chip.
        mesh: the mesh device of a program for several chips.

    Raises:
        UnsupportedOpError: the table has no row for the op, or TT-NN lacks what the op asks for.
    """
    rule = CALLS.get(instruction.op)
    if rule is None:
        raise UnsupportedOpError(
            f"The table of calls has no row for '{instruction.op}'.",
            location=instruction.location,
            hint="Add a row to tt_xla/codegen/calls.",
        )
    return rule(Op(instruction, values, target, mesh))


def without_none(**keywords: Expression) -> dict[str, Expression]:
    """Returns the keywords that are not None; TT-NN has defaults for the others."""
    return {name: value for name, value in keywords.items() if value is not None}


def compute_config(fields: dict[str, Any] | None) -> Expression:
    """Returns the constructor of a ``#ttnn.device_compute_kernel_config``; None leaves all choices to TT-NN.

    TT-NN fills the absent fields of an explicit config with approximate math and no accumulation in L1. This function
    asks for exact math and accumulation in L1 instead, which is what TT-NN uses without a config.
    """
    if not fields:
        return None
    named: dict[str, Expression] = {"math_approx_mode": False, "packer_l1_acc": True} | fields
    if "math_fidelity" in fields:
        named["math_fidelity"] = Name(f"ttnn.MathFidelity.{FIDELITY_LABELS[fields['math_fidelity']]}")
    return Call("ttnn.WormholeComputeKernelConfig", (), named)
