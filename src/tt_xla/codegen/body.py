"""Writes the statements of a function: assignments, deallocations, and comments with the user's source lines."""

from __future__ import annotations

import linecache
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from tt_xla.codegen.calls import call_of
from tt_xla.codegen.expressions import Call, Data, Device, Expression, Name
from tt_xla.codegen.formatting import Node, flat, node_of
from tt_xla.codegen.languages import Language, ResultForm
from tt_xla.codegen.languages.base import Iteration
from tt_xla.codegen.layouts import dtype, layout
from tt_xla.codegen.meshes import DeviceMesh
from tt_xla.codegen.naming import block_of, config_name, identifier, module_name, op_name, own_name, stem, unique
from tt_xla.codegen.shared_shards import SharedShards
from tt_xla.ir.program import (
    CALL,
    CASE,
    DEALLOCATE,
    HOST_CALL,
    HOST_CALLBACK,
    HOST_OPS,
    LOAD_CACHED,
    TRACE,
    WHILE_LOOP,
    Function,
    Instruction,
    Program,
    TensorSpec,
    loop_of,
)
from tt_xla.target import Target

_STATEMENTS = (*HOST_OPS, TRACE, WHILE_LOOP, CASE, CALL)
"""Ops that do not become a call of TT-NN."""

INLINE_ELEMENTS = 16
"""Maximum number of elements of a constant in the source; longer constants are files."""

_CONFIGS = ("Config", "ttnn.UnaryWithParam", "ttnn.CoreGrid")
"""Endings of the constructors whose objects get a name at the top of the file."""

_CONVOLUTIONS = tuple(
    f"ttnn.{name}"
    for kind in ("conv", "conv_transpose2d")
    for name in (f"{kind.removesuffix('2d')}2d", f"prepare_{kind}_weights", f"prepare_{kind}_bias")
)
_GEOMETRY = (
    *("in_channels", "out_channels", "batch_size", "input_height", "input_width"),
    *("kernel_size", "stride", "padding", "output_padding", "dilation", "groups"),
)
"""Keywords that a convolution and the preparation of its weights share."""

MOST_RESULTS = 8
"""Maximum number of results with names of their own; a call with more results returns a list."""

_MOVING = ("bitcast_convert", "broadcast_in_dim", "concatenate", "constant", "convert", "iota", "reshape", "slice")
"""StableHLO ops that only move or convert elements."""

FORM = {
    "to_memory_config": "sharded",
    "permute": "permuted",
    "concatenate_heads": "joined",
    "pad": "padded",
    "repeat": "repeated",
    "slice_static": "sliced",
    "reshape": "reshaped",
    "typecast": "converted",
    "to_layout": "laid_out",
    "assign": "copied",
    "from_device": "on_host",
    "to_device": "on_device",
}
"""TT-NN ops that only change a tensor's memory, element type or shape, each with a word for the result.

Ops that tell more come first. The result keeps the name of the operand.
"""

_SHORT = {"ttnn.DRAM_MEMORY_CONFIG": "DRAM", "ttnn.L1_MEMORY_CONFIG": "L1"}


@dataclass
class Constants:
    """Names that the whole file shares: configs, large constants, host programs and functions."""

    names: dict[str, tuple[str, Expression]] = field(default_factory=lambda: {})
    """Name and value of each config, by its text."""
    files: dict[str, tuple[bytes, TensorSpec]] = field(default_factory=lambda: {})
    """Elements and spec of each large constant, by file name."""
    shares_keywords: bool = False
    """Whether the geometry of a convolution gets a name too, because several calls share it."""
    host_in_torch: bool = True
    """Whether a host op becomes torch code when torch code exists for all of it."""
    host_programs: dict[str, str] = field(default_factory=lambda: {})
    """StableHLO text of host ops without torch code, by file name."""
    host_functions: dict[str, list[str]] = field(default_factory=lambda: {})
    """Lines of torch code, by function name."""
    host_names: dict[str, tuple[str, str]] = field(default_factory=lambda: {})
    """For each host program's StableHLO text, the name of its function or file, and the op that has no torch code."""
    functions: dict[str, str] = field(default_factory=lambda: {})
    """Name in the file of each function that loops and cases run, by its name in the program."""
    locals: set[str] = field(default_factory=lambda: set())
    """Names of tensors in any function."""
    defined: set[str] = field(default_factory=lambda: set())
    """Names of functions. No tensor may have one, because it would hide the function from later lines."""
    callbacks: dict[str, tuple[str, int]] = field(default_factory=lambda: {})
    """Name in the file and number of results of each Python function that the program calls back."""

    def named(self, expression: Expression) -> Expression:
        """Returns an expression with its configs replaced by their names."""
        match expression:
            case Name(text) if text in _SHORT:
                return self._name(expression, _SHORT[text])
            case Call("ttnn.MeshMapperConfig" | "ttnn.MeshComposerConfig"):
                return self._name(expression, config_name(expression))
            case Call(function, arguments, keywords):
                if self.shares_keywords and function in _CONVOLUTIONS:
                    keywords = self._sharing(keywords)
                inner = Call(
                    function,
                    tuple(self.named(item) for item in arguments),
                    {name: self.named(item) for name, item in keywords.items()},
                )
                return self._name(inner, config_name(expression)) if function.endswith(_CONFIGS) else inner
            case tuple():
                return tuple(self.named(item) for item in expression)
            case _:
                return expression

    def _sharing(self, keywords: Mapping[str, Expression]) -> dict[str, Expression]:
        """Returns the keywords of a convolution with its geometry replaced by one named ``**`` argument."""
        geometry = Call("dict", (), {name: value for name, value in keywords.items() if name in _GEOMETRY})
        named = self._name(geometry, config_name(geometry))
        return dict((name, value) if name not in _GEOMETRY else ("**", named) for name, value in keywords.items())

    def _name(self, expression: Expression, name: str) -> Name:
        key = repr(node_of(expression, str, lambda data: None))
        if key not in self.names:
            used_names = {known for known, _ in self.names.values()}
            self.names[key] = (unique(name, used_names), expression)
        return Name(self.names[key][0])

    def data(self, data: Data) -> Expression:
        """Returns the expression that creates a constant: from a number, from a short list, or from a file."""
        spec = data.spec
        form = (dtype(spec.layout.dtype), layout(spec.layout.tiled))
        if not data.elements:
            return Call("utils.full", (0, tuple(spec.shape), *form))
        elements = _elements(data)
        if elements is not None and len(elements) == 1:
            return Call("utils.full", (elements[0], tuple(spec.shape), *form))
        if elements is not None and len(elements) <= INLINE_ELEMENTS and len(spec.shape) == 1:
            return Call("utils.tensor", (elements, *form))
        for name, known in self.files.items():
            if known == (data.elements, spec):
                return Call("utils.load", (name, *form))
        name = f"constant{len(self.files)}"
        self.files[name] = (data.elements, spec)
        return Call("utils.load", (name, *form))

    def host_part(self, text: str, ops: Sequence[str]) -> tuple[str, str]:
        """Writes a host program as torch code or as a file.

        Returns:
            The name of the function or file, and the op that has no torch code when that is why it is a file.
        """
        if text in self.host_names:
            return self.host_names[text]
        name, op_without_code = self._torch_code(text, ops) if self.host_in_torch else ("", "")
        if not name:
            name = f"host/part{len(self.host_programs)}.mlir"
            self.host_programs[name] = text
        self.host_names[text] = name, op_without_code
        return name, op_without_code

    def _torch_code(self, text: str, ops: Sequence[str]) -> tuple[str, str]:
        """Writes torch code for a host program. Returns the function's name, or no name and the op without code."""
        from tt_xla.codegen.host import NoTorchCodeError, torch_function

        name = unique(f"host_{identifier(_word(main_op(ops))).rstrip('_')}", self.host_functions)
        try:
            self.host_functions[name] = torch_function(text, name, "Computes on the host what TT-NN has no ops for.")
        except NoTorchCodeError as error:
            return "", str(error)
        return name, ""


def _ops_at(ops: Sequence[str]) -> Iterator[str]:
    """Yields the ops of a host program, each with its source location when it differs from the one before."""
    last = ""
    for op in ops:
        name, _, where = " ".join(str(op).split()).partition(" at ")
        yield name if where in ("", last) or where.startswith("-:") else f"{name} at {where}"
        last = where


def main_op(ops: Sequence[str]) -> str:
    """Returns the first op that does more than move or convert elements, or else the last op."""
    return next((str(op) for op in ops if _word(op) not in _MOVING), str(ops[-1]))


def _word(op: object) -> str:
    """Returns the name of an op without its dialect and location."""
    return str(op).split()[0].partition(".")[2]


def _elements(data: Data) -> tuple[float, ...] | None:
    """Returns the elements of a small constant as numbers; None for larger constants and other element types."""
    kind, raw = data.spec.layout.dtype, data.elements
    if len(raw) > 4 * INLINE_ELEMENTS:
        return None
    if kind.is_host_only or kind.is_block_float:
        return None
    elements: Any = np.frombuffer(raw, kind.numpy_dtype())
    return tuple((elements.astype(np.float32) if kind.is_float else elements).tolist())


@dataclass
class File:
    """What the functions of a generated file share."""

    program: Program
    target: Target
    """The chip that the program was compiled for."""
    mesh: DeviceMesh | None
    """The mesh device of a program for several chips."""
    shared_shards: SharedShards | None
    """The chips that hold the same shards; None for a program for one chip."""
    language: Language
    constants: Constants


class Body:
    """Writes the instructions of one function as statements.

    Args:
        file: the file that the function is in.
        function: the function of the Program that the instructions are in.
        lookups: keys of the values that are looked up in the table of weights.
        traces: names of trace objects, by capture function.
        commented: whether comments cite the user's source lines.
    """

    def __init__(
        self,
        file: File,
        function: Function,
        *,
        lookups: Mapping[int, str] | None = None,
        traces: Mapping[str, str] | None = None,
        commented: bool = True,
    ) -> None:
        self.file = file
        self.function = function
        self.constants, self.language = file.constants, file.language
        self.commented = commented
        self.lookups = dict(lookups or {})
        self.traces = dict(traces or {})
        self.lines: list[str] = []
        """Statements written so far, indented once."""
        self.sources: list[Node] = []
        """Right-hand sides of the assignments written so far."""
        self.names = {value: file.language.weight(key) for value, key in self.lookups.items()}
        cached = [value for inner in function.body if inner.op == LOAD_CACHED for value in inner.results]
        self.retained = {*self.lookups, *cached}
        """Values that this function must not free."""
        self.listed: dict[int, tuple[str, int]] = {}
        """Name of the list and position in it, for values that have no name of their own."""
        self.freed: set[int] = set()
        """Parameters that the statements free."""
        self._parameters: set[int] = set()
        self._passing: set[int] = set()
        """Parameters whose name may pass to a result that is made from them."""
        self._live: dict[str, int] = {}
        """Value of each name that is in use; -1 for a list."""
        self._declared: set[str] = set()
        """Names that were used in this function so far."""
        self._of_modules: set[str] = set()
        """Names of tensors that were named after modules."""
        self._where = ""
        """Source location that the last comment cites."""

    def name(self, value: int) -> str:
        """Returns the name of a value."""
        return self.names[value]

    def source(self, value: int, *, as_list: bool) -> str:
        """Returns the argument that passes a value to a call; ``as_list`` passes the list that contains it."""
        return self.listed[value][0] if as_list else self.names[value]

    def base_name(self, value: int, shared: bool) -> str:
        """Returns a name for the parameter of a block that receives a value of this function.

        Args:
            value: the value.
            shared: whether other blocks receive it too, so that it is more than the result of the block before.
        """
        if value in self.lookups:
            return own_name(self.lookups[value]) or stem(identifier(self.lookups[value]))
        return stem(self.names[value]) if shared or value in self._parameters else "hidden"

    def parameter(self, value: int, name: str, *, passes: bool = False) -> str:
        """Declares a parameter and returns its name.

        Args:
            value: the value that is passed.
            name: preferred name.
            passes: whether the only op that reads the parameter may give its name to the result.
        """
        self.names[value] = parameter = unique("x" if name == "w" else name, {*self._live, *self.constants.defined})
        self.constants.locals.add(parameter)
        self._live[parameter] = value
        self._declared.add(parameter)
        self._parameters.add(value)
        if passes:
            self._passing.add(value)
        if self.function.arguments and value in self.function.arguments:
            self.retained.add(value)
        return parameter

    def element(self, value: int, name: str, *, retained: bool) -> None:
        """Declares a value that is an element of a parameter. The function must not free a ``retained`` value."""
        self.names[value] = name
        if retained:
            self.retained.add(value)
        else:
            self._parameters.add(value)

    def write(self, instructions: Sequence[Instruction]) -> None:
        """Writes instructions as statements."""
        index = 0
        while index < len(instructions):
            instruction = instructions[index]
            index += 1
            dying: list[int] = []
            while index < len(instructions) and instructions[index].op == DEALLOCATE:
                dying += instructions[index].operand_values()
                index += 1
            if instruction.op == DEALLOCATE:
                self._free([*instruction.operand_values(), *dying])
            else:
                self._comment(instruction)
                unread = [value for value in dying if value in instruction.results]
                self._write(instruction, [value for value in dying if value not in (*self.retained, *unread)])
                self._free(unread)

    def ended(self, results: Sequence[int], form: ResultForm) -> list[str]:
        """Returns the statements of the function, with the return of these values at the end."""
        names = [self.names[value] for value in results]
        return [*self.lines, *self.language.return_statement(names, form)]

    def described(self, instruction: Instruction) -> tuple[str, list[int]] | None:
        """Returns the text of a TT-NN call without tensor names, and tensors in order; None for other statements."""
        if instruction.op in _STATEMENTS:
            return None
        reads: list[int] = []

        def name(value: int) -> str:
            reads.append(value)
            return "_"

        call = self.constants.named(self._call(instruction))
        return flat(self.language.node(call, name, self.constants.data)), reads

    def bind_call(
        self, results: Sequence[int], source: Node, freed: set[int], bases: Sequence[str] = (), left: Sequence[int] = ()
    ) -> None:
        """Writes a call of another function of the file.

        Args:
            results: values that it returns.
            source: the call.
            freed: arguments that the function frees.
            bases: names of the results in the function.
            left: arguments to free after the call.
        """
        for value in freed:
            self._forget(value)
        if len(results) > MOST_RESULTS:
            name = unique("states", {*self._live, *self.constants.defined})
            self._live[name] = -1
            for index, value in enumerate(results):
                self.listed[value] = name, index
                self.names[value] = f"{name}[{index}]"
            self._bind([name], source, "one")
            self._free(left)
            return
        bases = bases or ["hidden"] * len(results)
        names = [self._new(value, base) for value, base in zip(results, bases, strict=True)]
        self._bind(names, source, "several" if len(names) > 1 else "one")
        self._free(left)

    def _write(self, instruction: Instruction, dying: list[int]) -> None:
        op = instruction.op
        if op == CALL:
            self._bind([], self._called(identifier(str(instruction.attributes["callee"])), instruction), "one")
            self._free(dying)
            return
        if op in (WHILE_LOOP, CASE):
            self._control(instruction, dying)
            return
        form = "list"
        if op == TRACE:
            name = self.traces[str(instruction.attributes["capture_callee"])]
            source = self._called(name, instruction, str(len(instruction.results)))
        elif op == HOST_CALL:
            source = self._host_call(instruction)
        elif op == HOST_CALLBACK:
            source = self._host_callback(instruction)
        else:
            call = self._call(instruction)
            form = self.language.result_form(call, len(instruction.results))
            source = self.language.node(self.constants.named(call), self.name, self.constants.data)
        base = self._base(instruction, dying)
        released = [value for value in dying if value not in self._parameters]
        for value in released:
            self._forget(value)
        names = [self._new(value, base) for value in instruction.results]
        self._bind(names, source, form)
        unreplaced = [value for value in dying if value in self._parameters or self.names[value] not in names]
        self._deallocate(unreplaced)

    def _bind(self, names: Sequence[str], source: Node, form: str) -> None:
        self.sources.append(source)
        fresh = [name not in self._declared for name in names]
        self._declared.update(names)
        self.lines += self.language.bind(names, fresh, source, form)

    def _control(self, instruction: Instruction, dying: list[int]) -> None:
        """Writes a loop or a case."""
        operands = [self.name(value) for value in instruction.operand_values()]
        if instruction.op == WHILE_LOOP:
            self._loop(instruction, operands)
        else:
            branches = [self.constants.functions[name] for name in instruction.attributes["branch_programs"]]
            chosen = unique("branch", self._declared)
            self._declared.add(chosen)
            lines, source = self.language.choose(chosen, operands[0], branches, operands[1:])
            self.lines += lines
            self._bind([self._new(value, "chosen") for value in instruction.results], source, "list")
        self._free(dying)

    def _loop(self, instruction: Instruction, operands: Sequence[str]) -> None:
        """Writes a loop over a list of states, and assigns the states that are results of the loop."""
        loop, functions = loop_of(instruction), self.constants.functions
        carried = unique("carried", self._declared)
        self._declared.add(carried)
        bounds = [
            str(number) if operand is None else self.language.scalar(operands[operand])
            for number, operand in loop.bounds
        ]
        condition = None if loop.condition is None else functions[loop.condition]
        states, captured = operands[: loop.states], operands[loop.states :]
        iteration = Iteration(bounds, condition, functions[loop.body], carried, states, captured)
        self.lines += self.language.loop(iteration)
        for value, index in zip(instruction.results, loop.outputs, strict=True):
            self._bind([self._new(value, "state")], f"{carried}[{index}]", "one")

    def _call(self, instruction: Instruction) -> Call | Data:
        """Returns the call of TT-NN that an instruction is."""
        return call_of(instruction, self.function.values, self.file.target, self.file.mesh)

    def _called(self, name: str, instruction: Instruction, *rest: str) -> Node:
        inputs = [self.name(value) for value in instruction.operand_values()]
        return self.language.call(name, ["device", self.language.listed(inputs), *rest])

    def _host_call(self, instruction: Instruction) -> Node:
        attributes = instruction.attributes
        name, lacking = self.constants.host_part(str(attributes["module"]), attributes["ops"])
        in_torch = name in self.constants.host_functions
        how = " as torch code" if in_torch else f" through jaxlib, as {lacking} has no torch code" if lacking else ""
        note = f"TT-NN has no op for this; the host runs it{how}: {', '.join(_ops_at(attributes['ops']))}"
        self.lines += [self.language.comment(line) for line in textwrap.wrap(note, 110, break_on_hyphens=False)]
        if in_torch:
            return self._on_host(instruction, "host_ops.run", Name(name), tuple(attributes["output_types"]))
        return self._on_host(instruction, "utils.host_call", name)

    def _host_callback(self, instruction: Instruction) -> Node:
        callbacks = self.constants.callbacks
        named = f"host_function_{len(callbacks)}", len(instruction.results)
        name, _ = callbacks.setdefault(str(instruction.attributes["callback"]), named)
        note = "A Python function of the model's own process runs here, on the host."
        self.lines.append(self.language.comment(note))
        return self._on_host(instruction, "utils.host_callback", Name(name))

    def _on_host(self, instruction: Instruction, run: str, function: Expression, *types: Expression) -> Node:
        """Returns a call on the host, made once for each distinct shard of its operands if chips hold several.

        Args:
            instruction: the host op.
            run: function that runs it.
            function: first argument, which says what to run.
            types: further types that ``run`` takes.
        """
        values = instruction.operand_values()
        operands = tuple(Name(self.name(value)) for value in values)
        kinds = [self.function.values[value].layout.dtype for value in instruction.results]
        outputs = tuple(None if kind.is_host_only else dtype(kind) for kind in kinds)  # without one it stays an array
        arguments = function, operands, tuple(instruction.attributes["input_types"]), *types, outputs
        shared_shards = self.file.shared_shards
        holders = None if shared_shards is None else shared_shards.holders(self.function, values)
        call = Call(run, arguments)
        if holders is not None:
            call = Call("utils.on_chips", (Device(), holders, Name(run), *arguments))
        return self.language.node(call, self.name, self.constants.data)

    def _base(self, instruction: Instruction, dying: list[int]) -> str:
        """Returns a name for a result.

        The name is that of the module whose weight the op reads, or that of the tensor whose form alone the op changes,
        or that of the op.
        """
        operands = instruction.operand_values()
        for value in operands:
            if value in self.lookups and (block_of(self.lookups[value]) or "." in self.lookups[value]):
                module = module_name(re.sub(r"\.prepared(_\d+)?$", "", self.lookups[value]))
                if module:
                    self._of_modules.add(module)
                    return module
        tensors = [value for value in operands if value not in self.lookups]
        form = instruction.op.rpartition(".")[2] in FORM
        if len(tensors) == 1 and form and tensors[0] in self._passing:
            self._forget(tensors[0])
            return stem(self.names[tensors[0]])
        if len(tensors) == 1 and tensors[0] in dying and tensors[0] not in {*self._parameters, *self.listed}:
            known = stem(self.names[tensors[0]])
            if form or (len(operands) == 1 and known in self._of_modules):
                return known
        return op_name(instruction.op)

    def _new(self, value: int, base: str) -> str:
        """Gives a value a new name."""
        self.names[value] = name = unique(base, {*self._live, *self.constants.defined})
        self.constants.locals.add(name)
        self._live[name] = value
        return name

    def _forget(self, value: int) -> None:
        """Lets another value use the name of this one."""
        if self._live.get(self.names[value]) == value:
            del self._live[self.names[value]]

    def _free(self, values: Sequence[int]) -> None:
        values = [value for value in values if value not in self.retained]
        for value in values:
            self._forget(value)
        self._deallocate(values)

    def _deallocate(self, values: Sequence[int]) -> None:
        """Writes the deallocation of values; values that TT-NN has no data type for need none."""
        self.freed |= {value for value in values if value in self._parameters}
        tensors = [value for value in values if not self.function.values[value].layout.dtype.is_host_only]
        self.lines += [self.language.deallocate(self.names[value]) for value in tensors]

    def _comment(self, instruction: Instruction) -> None:
        """Writes a comment with the user's source line, unless the last comment cites the same line."""
        where, note = cited(instruction.location)
        if self.commented and note and where != self._where:
            self._where = where
            self.lines.append(self.language.comment(note).rstrip())


def cited(location: str) -> tuple[str, str]:
    """Returns ``file:line`` of a location in the user's code, and a comment with the text of that line if readable."""
    file, _, line = location.rpartition(":")
    if line.isdecimal() and file.rpartition(":")[2].isdecimal():
        file, _, line = file.rpartition(":")
    if not line.isdecimal() or file in ("", "-"):
        return location, ""
    text = linecache.getline(file, int(line)).strip()
    note = f"{PurePath(file).name}:{line}" + (f"  {text}" if text.isprintable() else "")
    return f"{file}:{line}", note[:108]
