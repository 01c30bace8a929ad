"""Writes host ops as torch code: one Python function for each host call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tt_xla.codegen.formatting import INDENT, Group, Node, lay_out
from tt_xla.codegen.host.op import HostOp, NoTorchCodeError, full
from tt_xla.codegen.host.rules import RULES
from tt_xla.codegen.naming import identifier, unique
from tt_xla.host import new_mlir_context

__all__ = ["NoTorchCodeError", "torch_function"]

_SPREADING = ("stablehlo.broadcast_in_dim", "stablehlo.reshape")


def torch_function(module: str, name: str, doc: str) -> list[str]:
    """Returns the lines of a function that computes ``@main`` of a StableHLO module.

    Args:
        module: text of the module.
        name: name of the function.
        doc: its docstring.

    Raises:
        NoTorchCodeError: an op has no torch code; the message is the op's name.
    """
    from jaxlib.mlir import ir

    with new_mlir_context():
        parsed: Any = ir.Module.parse(module)
        functions = {function.name.value: function for function in parsed.body.operations}
        return _Writer(functions).function(functions["main"], name, doc)


class _Writer:
    """Writes one function. Calls are inlined; constants of equal elements are written as numbers."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions
        self._names: dict[Any, str] = {}
        self._constants: dict[Any, bool | int | float] = {}
        self._taken: set[str] = set()
        self._lines: list[str] = []
        self._indent = 1

    def function(self, main: Any, name: str, doc: str) -> list[str]:
        """Returns the lines of the function."""
        block = main.regions[0].blocks[0]
        parameters = [self._name(value, "x") for value in block.arguments]
        returned = self._block(block)
        lines = lay_out("return ", _listed([self._text(value) for value in returned]), indent=1)
        head = lay_out(f"def {name}", _listed(parameters, "()"), ":")
        return [*head, f'{INDENT}"""{doc}"""', *self._lines, *lines]

    def _block(self, block: Any) -> list[Any]:
        """Writes the ops of a block that its results depend on, and returns the values that it returns."""
        ops = list(block.operations)
        needed = set(ops[-1].operands)
        live: list[Any] = []
        for op in reversed(ops[:-1]):
            if needed & set(op.results):
                needed |= set(_used(op))
                live.append(op)
        for op in reversed(live):
            self._op(op.operation)
        return list(ops[-1].operands)

    def _op(self, op: Any) -> None:
        if op.name in ("func.call", "stablehlo.composite"):
            self._call(op)
            return
        if op.name == "stablehlo.while":
            self._while(op)
            return
        if op.name == "stablehlo.constant" and (number := HostOp.splat(op)) is not None:
            self._constants[op.results[0]] = number
            return
        if op.name in _SPREADING and op.operands[0] in self._constants:
            self._constants[op.results[0]] = self._constants[op.operands[0]]
            return
        source = self._source(op)
        if source is None:
            for operand, result in zip(op.operands, op.results, strict=True):
                self._bind(operand, result)
            return
        names = [self._name(value, identifier(op.name.partition(".")[2])) for value in op.results]
        before = f"({names[0]},) = " if op.name == "stablehlo.sort" and len(names) == 1 else f"{', '.join(names)} = "
        self._lines += lay_out(before, source, indent=self._indent)

    def _while(self, op: Any) -> None:
        """Writes a loop whose states keep their names from round to round."""
        condition, body = (region.blocks[0] for region in op.regions)
        for value, *others in zip(op.operands, op.results, condition.arguments, body.arguments, strict=True):
            state = unique("state", self._taken)
            self._taken.add(state)
            self._statement(f"{state} = {self._text(value)}")
            self._names |= dict.fromkeys(others, state)
        states = ", ".join(self._names[value] for value in op.results)
        self._statement("while True:")
        self._indent += 1
        self._statement(f"if not {self._text(self._block(condition)[0])}:")
        self._statement(f"{INDENT}break")
        returned = _listed([self._text(value) for value in self._block(body)])
        self._lines += lay_out(
            f"{states} = " if len(op.results) > 1 else f"[{states}] = ", returned, indent=self._indent
        )
        self._indent -= 1

    def _statement(self, text: str) -> None:
        self._lines.append(INDENT * self._indent + text)

    def _source(self, op: Any) -> Node | None:
        try:
            if op.name not in RULES:
                raise NoTorchCodeError
            return RULES[op.name](HostOp(op, self._names, self._constants))
        except NoTorchCodeError as error:
            raise NoTorchCodeError(op.name) from error

    def _call(self, op: Any) -> None:
        """Writes the body of a called function in place of the call."""
        attribute = "callee" if op.name == "func.call" else "decomposition"
        block = self._functions[op.attributes[attribute].value].regions[0].blocks[0]
        for operand, argument in zip(op.operands, block.arguments, strict=True):
            self._bind(operand, argument)
        for returned, result in zip(self._block(block), op.results, strict=True):
            self._bind(returned, result)

    def _bind(self, known: Any, value: Any) -> None:
        """Gives a value the name, or the number, of an equal value."""
        table = self._names if known in self._names else self._constants
        table[value] = table[known]  # pyright: ignore[reportArgumentType]

    def _text(self, value: Any) -> str:
        """Returns the name of a value, or the expression for a constant."""
        if value in self._names:
            return self._names[value]
        return full(self._constants[value], list(value.type.shape), str(value.type.element_type))

    def _name(self, value: Any, base: str) -> str:
        """Gives a value a new name."""
        self._names[value] = name = unique(base, self._taken)
        self._taken.add(name)
        return name


def _used(op: Any) -> Iterator[Any]:
    """Yields the values that an op and the ops in its regions use."""
    yield from op.operands
    for region in op.regions:
        for inner in region.blocks[0].operations:
            yield from _used(inner)


def _listed(items: Sequence[str], brackets: str = "[]") -> Node:
    return Group(brackets[0], tuple(items), brackets[1], fill=brackets == "()")
