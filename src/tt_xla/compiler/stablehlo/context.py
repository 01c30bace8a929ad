"""The context that converters work in, and the tables of converters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue

from tt_xla.compiler.locations import describe
from tt_xla.compiler.stablehlo.types import chip_type, is_empty
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, Tensor, TTOp, tensor_type
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.ttir.host import HostCallOp
from tt_xla.registry import Registry

Converter = Callable[["ImportContext", Any], "SSAValue | Sequence[SSAValue] | None"]
"""Emits TTIR ops for a StableHLO op. Returns the values that replace the op's results, or None for results without
values, such as tuples."""

CONVERTERS: Registry[str, Converter] = Registry("converter")
converts = CONVERTERS.register
"""Registers the converter of StableHLO ops, given by their full names."""

EMPTY_OPERAND_CONVERTERS: Registry[str, Converter] = Registry("converter of empty operands")
converts_empty_operands = EMPTY_OPERAND_CONVERTERS.register
"""Registers the converter of StableHLO ops that have an operand without elements and results with elements."""


def on_host(value: SSAValue) -> bool:
    """Whether a tensor has no place on the chip: the chip lacks its element type, or it has no elements."""
    type_ = tensor_type(value)
    return DATA_TYPES[type_.element_type].is_host_only or is_empty(type_)


class ValueTable:
    """The TTIR values that StableHLO values of one TTIR function became."""

    def __init__(self, values: Mapping[Any, SSAValue] | None = None, *, all_on_chip: bool = True) -> None:
        """
        Args:
            values: TTIR values by StableHLO value.
            all_on_chip: whether the chip holds all of them.
        """
        self.by_source: dict[Any, SSAValue] = dict(values or {})
        """TTIR values by StableHLO value."""
        self.off_chip: set[Any] = set()
        """StableHLO values that the chip cannot hold. Every op that uses one runs on the host."""
        self.all_on_chip = all_on_chip
        """Whether no value was off the chip so far, as in most programs; :meth:`bind` then skips its check."""

    def bind(self, source: Any, value: SSAValue) -> None:
        """Records that a StableHLO value became ``value``."""
        self.by_source[source] = value
        if self.all_on_chip:
            return
        if on_host(value):
            self.off_chip.add(source)
        else:
            self.off_chip.discard(source)


_ONE_CHIP = Mesh((), ())


@dataclass(frozen=True)
class ModuleContext:
    """The state of the import of a whole module. Converters add to its tables and replace none of them."""

    functions: Mapping[str, Any]
    """Functions of the StableHLO module by name."""
    approximate: bool
    """Whether infinities and NaN may spread, and products may be rounded as the matrix unit rounds them."""
    donated: frozenset[SSAValue]
    """Arguments of the program whose memory the program may overwrite, because the caller gives it up."""
    checks_indices: bool = False
    """Whether limits of indices are marked, so that the card can check them."""
    subprograms: dict[str, FuncOp | None] = field(default_factory=dict[str, FuncOp | None])
    """TTIR functions made of regions, by name, in the order in which they were begun; None until they are complete."""
    complex_parts: dict[SSAValue, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, SSAValue]]
    )
    """Real and imaginary part, both on the chip, of complex tensors."""
    resources: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Contents of the module's ``dialect_resources`` by name, once a constant refers to one."""
    mesh: Mesh | None = None
    """The chips that the module is for; None for one chip."""
    replicas: int = 1
    """Number of StableHLO's replicas. The chips are that many times the number of partitions."""
    by_chip: dict[SSAValue, tuple[int, ...]] = field(default_factory=dict[SSAValue, tuple[int, ...]])
    """Integer scalars that differ between chips, and their values by position."""
    kept_modules: list[Any] = field(default_factory=list[Any])
    """StableHLO modules made during the import. Their values are keys of value tables, so they must stay alive."""

    @property
    def chips(self) -> Mesh:
        """The mesh; that of a module for one chip has no axes."""
        return self.mesh or _ONE_CHIP

    def reserve_name(self, name: str) -> str:
        """Returns an unused function name that starts with ``name``, and reserves it."""
        unique, count = name, 0
        while unique in self.subprograms:
            unique, count = f"{name}_{count}", count + 1
        self.subprograms[unique] = None
        return unique

    def subprogram(self, name: str) -> FuncOp:
        """Returns the complete function of a name."""
        function = self.subprograms[name]
        assert function is not None
        return function


@dataclass(frozen=True)
class ImportContext:
    """The context in which an op is converted. It is replaced, never changed, on the way into a function, a region or
    an op; see :func:`dataclasses.replace`."""

    module: ModuleContext
    """State of the import of the whole module."""
    values: ValueTable
    """TTIR values of the function that is being filled."""
    block: Block
    """TTIR block that receives the converted ops."""
    function: str = "main"
    """Name of the TTIR function that is being filled."""
    location: Attribute = field(default_factory=UnknownLoc)
    """Source location of the op that is being converted; every op that its converter emits gets this location."""
    callers: tuple[str, ...] = ()
    """Names of the StableHLO functions whose bodies are being converted in place, outermost first."""
    calls: tuple[Any, ...] = ()
    """The ``func.call`` ops that are being converted in place, outermost first."""
    host_fallback: bool = True
    """Whether an op that the chip cannot run becomes a call of the host; otherwise it is an error."""
    folds_scalars: bool = False
    """Whether integer scalars of known operands are computed during the import, as in loops that are unrolled."""

    def replace(self, **changes: Any) -> ImportContext:
        """Returns a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def at(self, location: Attribute) -> ImportContext:
        """Returns a copy for an op at another location; one is made for every op, and this takes a tenth of the time of
        :meth:`replace`."""
        copy = object.__new__(ImportContext)
        copy.__dict__.update(self.__dict__, location=location)
        return copy

    def __getitem__(self, source: Any) -> SSAValue:
        """Returns the TTIR value that a StableHLO value became."""
        return self.values.by_source[source]

    def operands(self, op: Any) -> list[SSAValue]:
        """Returns the TTIR values of a StableHLO op's operands."""
        by_source = self.values.by_source
        return [by_source[operand] for operand in op.operands]

    def bind(self, source: Any, value: SSAValue) -> None:
        """Records that a StableHLO value became ``value``."""
        self.values.bind(source, value)

    def emit(self, op: type[TTOp], operands: Sequence[SSAValue | None], result: Tensor, **properties: Any) -> SSAValue:
        """Appends an op with one result to the block, and returns the result."""
        created = op.make(operands, [result], self.location, **properties)
        self.block.add_op(created)
        return created.results[0]

    def result_type(self, op: Any, index: int = 0) -> Tensor:
        """Returns the TTIR type of a StableHLO op's result on the chip.

        Raises:
            UnsupportedOpError: the chip does not hold such elements, or the tensor has none.
        """
        return chip_type(op.results[index].type)

    def follows_host(self, op: Any) -> bool:
        """Whether the host makes the one operand of an op, and may run this op too."""
        return self.host_fallback and isinstance(self[op.operands[0]].owner, HostCallOp)

    def reject(self, op: Any, why: str) -> UnsupportedOpError:
        """Returns the error for an op, or a use of an op, that the chip cannot run."""
        name = op.operation.name
        types = ", ".join(str(operand.type) for operand in op.operands)
        return UnsupportedOpError(
            f"failed to legalize operation '{name}' on ({types}): {why}.",
            location=describe(self.location),
            hint="Rewrite this part of the model with other ops, or run it outside the compiled part.",
        )
