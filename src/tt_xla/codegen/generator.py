"""A Program as source that calls TT-NN: ``main.py`` or ``main.cpp``, and the tensors and host programs it comes with.

The file reads from top to bottom as the program runs: configs, const-eval functions, repeated blocks of the model,
``forward``, and what loads, runs and prints. Its parts are written by :mod:`tt_xla.codegen.body`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_xla.codegen.blocks import Block, find_blocks
from tt_xla.codegen.body import FORM, HOST_CALL, HOST_CALLBACK, MOST_RESULTS, Body, Constants, main_op
from tt_xla.codegen.expressions import Call, Device, Expression
from tt_xla.codegen.formatting import INDENT, Node, lay_out
from tt_xla.codegen.languages import LANGUAGES, Gives, Language
from tt_xla.codegen.languages.numbered import Made
from tt_xla.codegen.layouts import dtype, layout, memory_config
from tt_xla.codegen.naming import filled_name, identifier, module_path, own_name, stem, unique
from tt_xla.codegen.repeats import Part, Repeat, find_parts
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.program import (
    DEALLOCATE,
    LOAD_CACHED,
    TRACE,
    Function,
    FunctionKind,
    Instruction,
    Program,
    Role,
    TensorSpec,
)
from tt_xla.target import Target, load_target

WRITE = "ttnn.write_tensor"

MOST_PARAMETERS = 8
"""More inputs than these reach ``forward`` by name with the weights."""


@dataclass
class Source:
    """What was generated, besides the tensors that are known when the program is run."""

    main: str
    language: Language
    constants: dict[str, tuple[bytes, TensorSpec]]
    """Elements of large constants by the name of their file in ``tensors/``."""
    host_programs: dict[str, str]
    """StableHLO of what has no torch code, by file name, relative to ``main.py``."""
    host_functions: Sequence[str]
    """Names in ``main.py`` of the functions of torch code for what the host runs."""
    callbacks: dict[str, str]
    """Names in ``main.py`` of the Python functions that the program calls back, by their names there."""


@dataclass
class _Module:
    """The file while it is written."""

    program: Program
    target: Target
    language: Language
    constants: Constants
    parts: list[list[str]] = field(default_factory=lambda: [])
    """Functions, as lines."""
    named: dict[str, str] = field(default_factory=lambda: {})
    """Name of the function with a body, so that equal ones are written once."""
    blocks: dict[tuple[str, str], tuple[str, list[str]]] = field(default_factory=lambda: {})
    """By what a block is called and its text with the inputs unnamed: its function, and names of results there."""

    def body(self, function: Function, **known: Any) -> Body:
        return Body(self.program, self.target, self.constants, function, self.language, **known)

    def define(self, name: str, signature: Sequence[str], gives: Gives, doc: str, lines: Sequence[str]) -> str:
        """Writes a function, unless one like it is there; its name."""
        signature = ["device", *signature]
        key = "\n".join([*signature, *(line for line in lines if not self.language.is_comment(line))])
        if key in self.named:
            return self.named[key]
        self.named[key] = name = unique(name, {*self.named.values(), *self.constants.locals})
        self.constants.defined.add(name)
        self.parts.append(self.language.function(name, signature, gives, doc, lines))
        return name


def generate(
    program: Program,
    export_tensors: bool = True,
    language: str = "py",
    *,
    host_in_torch: bool = True,
    given: Collection[int] | None = None,
) -> Source:
    """Source of a Program.

    Args:
        export_tensors: arguments are read from ``tensors/arg<i>.tensorbin``; else they are ``ttnn.ones``.
        language: ``py`` or ``cpp``.
        given: the arguments that whoever calls ``forward`` has anew each time, where it is not this source: those are
            its parameters, and always read.
        host_in_torch: what the host runs is torch code where there is such code for it; else StableHLO.

    An argument that TT-NN has no data type for is an array, which only who runs the source can give.

    Raises:
        UnsupportedOpError: TT-NN has no call for an op of it, or the language has no source for what it does.
    """
    target = load_target(program.target)
    module = _Module(program, target, LANGUAGES[language], Constants(host_in_torch=host_in_torch))
    module.constants.shares_keywords = module.language.spreads
    _check(program, module.language)
    entry = program.functions[0]
    weights, inputs = _arguments(program, entry, given)
    _subprograms(module)
    prepared, constants = _const_evals(module, entry, weights)
    traces = _traces(module, entry)
    lookups = weights | prepared
    _forward(module, entry, lookups, constants, inputs, traces)
    stored = range(len(entry.arguments)) if export_tensors else given or ()
    loaders = _loaders(module, entry, weights, inputs, stored)
    configs = [line for name, value in module.constants.configs() for line in module.language.config(name, value)]
    parts = [
        *_callbacks(module.constants),
        *module.constants.host_functions.values(),
        *module.parts,
        [*loaders, *module.language.entry(program, bool(prepared), len(inputs))],
    ]
    functions = [*module.constants.host_functions]
    modules = ("host_ops",) if functions else ()
    text = module.language.file(program, target, parts, configs, modules)
    callbacks = {name: function for name, (function, _) in module.constants.callbacks.items()}
    return Source(text, module.language, module.constants.files, module.constants.host_programs, functions, callbacks)


def _check(program: Program, language: Language) -> None:
    """Raises:
    UnsupportedOpError: the language has no source for traces, or for what the host runs, and the program has it.
    """
    steps = [step for function in program.functions for step in function.body]
    on_host = (step for step in steps if step.op in (HOST_CALL, HOST_CALLBACK))
    ops = ((main_op(step.attributes.get("ops", ["a Python function"])), step.location) for step in on_host)
    refuse_host(language.name, ops)
    if not language.traces and any(step.op == TRACE for step in steps):
        raise UnsupportedOpError(
            f"{language.label} source has no traces.", hint="Compile with enable_trace=false, or generate Python."
        )


def refuse_host(language: str, ops: Iterable[tuple[str, str]]) -> None:
    """Raises:
    UnsupportedOpError: there are ops that the host runs, each with its place, and the language has no source for it.
    """
    if not LANGUAGES[language].host and (found := next(iter(ops), None)):
        raise UnsupportedOpError(
            f"{LANGUAGES[language].label} source cannot hold what the host runs: {' '.join(found[0].split())}.",
            hint="Generate Python, with codegen_py, which has source for it.",
            location=found[1],
        )


def _arguments(
    program: Program, entry: Function, given: Collection[int] | None
) -> tuple[dict[int, str], dict[int, str]]:
    """Names of the entry's values that are looked up among the weights, and of those that are parameters."""
    by_role = dict(zip(entry.arguments, program.arguments, strict=True))
    is_input = [
        value for value, argument in by_role.items() if argument.role is Role.INPUT and not module_path(argument.name)
    ]
    if given is not None:
        is_input = [entry.arguments[at] for at in given]
    elif len(is_input) > MOST_PARAMETERS:
        is_input = []
    weights: dict[int, str] = {}
    inputs: dict[int, str] = {}
    for value, argument in by_role.items():
        if value in is_input:
            inputs[value] = unique(identifier(argument.name), inputs.values())
        else:
            weights[value] = unique(argument.name, weights.values())
    return weights, inputs


def _callbacks(constants: Constants) -> Iterator[list[str]]:
    """Python functions of the model's own process, which source cannot hold, as places to write them in."""
    for name, results in constants.callbacks.values():
        yield [
            f"def {name}(*arrays):",
            f'{INDENT}"""A Python function that the model calls back; it was not generated. Gives {results} arrays."""',
            f'{INDENT}raise NotImplementedError("{name} lives in the model\'s own process: write it here")'
            if results
            else f"{INDENT}print(*arrays)",
        ]


def _subprograms(module: _Module) -> None:
    """Writes the functions that loops and cases run, inner ones first."""
    for function in reversed(module.program.functions):
        if function.kind is not FunctionKind.SUBPROGRAM:
            continue
        if not module.language.spreads:
            module.constants.functions[function.name] = _by_position(module, function)
            continue
        body = module.body(function)
        parameters = [body.parameter(value, "x") for value in function.arguments]
        body.write(function.body)
        lines = [*body.lines, *module.language.give([body.name(value) for value in function.results], "list")]
        name = module.define(identifier(function.name), parameters, "list", "", lines)
        module.constants.functions[function.name] = name


def _const_evals(module: _Module, entry: Function, weights: dict[int, str]) -> tuple[dict[int, str], set[int]]:
    """Writes the const-eval functions and what runs them; the keys of their results, and those that read no weight."""
    keys: dict[int, str] = {}
    constants: set[int] = set()
    made: list[Made] = []
    shared: dict[str, list[str]] = {}
    taken = {*weights.values(), *(name.rpartition(".")[2] for name in weights.values())}
    for instruction in entry.body:
        if instruction.op != LOAD_CACHED:
            continue
        operands = instruction.operands["inputs"]
        assert isinstance(operands, tuple)
        callee = module.program.function(str(instruction.attributes["callee"]))
        given = [_looked_up(weights | keys, value, callee.name) for value in operands]
        if not given:
            constants.update(instruction.results)
        source, result_names = _const_eval(module, callee, given)
        sizes = [math.prod(entry.values[value].shape) for value in operands]
        subject = max(zip(sizes, given, strict=True), key=lambda pair: pair[0], default=(0, ""))[1]
        known = shared.get(str(source))
        if known is None:
            known = shared[str(source)] = []
            for result_name, kind in zip(result_names, _types(entry, instruction.results), strict=True):
                base = f"{subject}.prepared" if given else result_name
                if base in taken and not given:
                    base = f"{base}_{kind}"
                known.append(unique(base, taken))
                taken.add(known[-1])
            made.append(Made(tuple(known), source))
        keys |= zip(instruction.results, known, strict=True)
    if made:
        lines = module.language.keep(made)
        doc = "Computes what depends on weights and constants alone, once, and keeps it with the weights."
        module.define("const_eval", ["w"], "nothing", doc, lines)
    return keys, constants


def _types(function: Function, values: Sequence[int]) -> list[str]:
    return [function.values[value].layout.dtype.value for value in values]


def _looked_up(names: dict[int, str], value: int, callee: str) -> str:
    found = names.get(value)
    if found is None:
        raise UnsupportedOpError(
            f"Const-eval function '{callee}' reads a value that is no weight.",
            hint="This is a fault of tt-xla; compile with enable_const_eval=false.",
        )
    return found


def _const_eval(module: _Module, function: Function, given: Sequence[str]) -> tuple[Node, list[str]]:
    """What calls a const-eval function, which is written unless it is one call without inputs; names of its results."""
    ops = [inner.op.rpartition(".")[2] for inner in function.body if inner.op != DEALLOCATE]
    body = module.body(function, commented=any(op not in FORM for op in ops))
    uses = Counter(value for inner in function.body for value in inner.operand_values())
    parameters = [
        body.parameter(value, (len(given) > 1 and own_name(key)) or "weight", passes=uses[value] == 1)
        for value, key in zip(function.arguments, given, strict=True)
    ]
    body.write(function.body)
    results = [body.name(value) for value in function.results]
    gives = _gives(results)
    lines = [*body.lines, *module.language.give(results, gives)]
    verb = "prepare" if function.arguments else "make"
    names = _constant_names(function, results)
    if len(ops) == 1 and not given and len(results) == 1 and len(body.sources) == 1:
        return body.sources[0], names
    name = module.define(f"{verb}_{_work_name(ops)}", parameters, gives, "", lines)
    return module.language.call(name, ["device", *map(module.language.weight, given)]), names


def _work_name(ops: Sequence[str]) -> str:
    """Returns a word for what a const-eval function computes: its last op, or the change of form that matters most."""
    computes = next((op for op in reversed(ops) if op not in FORM), "")
    found = computes.removeprefix("prepare_") or next((word for op, word in FORM.items() if op in ops), "const_eval")
    return identifier(found).rstrip("_")


def _constant_names(function: Function, results: Sequence[str]) -> list[str]:
    """What the results of a const-eval function are called: by their number where that is all there is in them."""
    makers = {value: inner for inner in function.body for value in inner.results}
    names: list[str] = []
    for value, name in zip(function.results, results, strict=True):
        filled = makers[value].attributes.get("fill_value") if value in makers else None
        names.append(filled_name(filled) if isinstance(filled, (int, float)) else stem(name))
    return names


def _gives(results: Sequence[str]) -> Gives:
    return "one" if len(results) == 1 else "several" if len(results) <= MOST_RESULTS else "list"


def _traces(module: _Module, entry: Function) -> dict[str, str]:
    """Writes the functions behind traces; the name of what runs each, by its capturing function."""
    found: dict[str, str] = {}
    for function in module.program.functions:
        if function.kind is FunctionKind.TRACE:
            _by_position(module, function)
    for function in module.program.functions:
        if function.kind in (
            FunctionKind.TRACE_ALLOCATE_SLOTS,
            FunctionKind.TRACE_CAPTURE,
            FunctionKind.TRACE_EXECUTE,
        ):
            _by_position(module, function)
    for instruction in entry.body:
        if instruction.op == TRACE:
            capture = str(instruction.attributes["capture_callee"])
            name = unique("TRACE", found.values())
            callees = ("allocate_slots_callee", "capture_callee", "execute_callee")
            functions = [identifier(str(instruction.attributes[callee])) for callee in callees]
            staged = sum(inner.op == WRITE for inner in module.program.function(capture).body)
            resident = len(instruction.operand_values()) - staged
            recorder = module.language.call("utils.Trace", [*functions, str(resident)])
            module.parts.append(lay_out(f"{name} = ", recorder))
            found[capture] = name
    return found


def _by_position(module: _Module, function: Function) -> str:
    """A function whose many tensors are a list; its name."""
    body = module.body(function)
    body.names |= {value: f"tensors[{position}]" for position, value in enumerate(function.arguments)}
    body.kept |= set(function.arguments)
    body.write(function.body)
    results = [body.name(value) for value in function.results]
    gives: Gives = "list" if results else "nothing"
    lines = [*body.lines, *module.language.give(results, gives)]
    return module.define(identifier(function.name), ["tensors"], gives, "", lines)


def _forward(
    module: _Module,
    entry: Function,
    lookups: dict[int, str],
    constants: Container[int],
    inputs: dict[int, str],
    traces: dict[str, str],
) -> None:
    """Writes ``forward`` and the repeated blocks of the model.

    Args:
        constants: lookups that depend on no argument.
    """
    body = module.body(entry, lookups=lookups, traces=traces)
    signature = ["w"] + [body.parameter(value, name) for value, name in inputs.items()]
    position = 0
    instructions = [inner for inner in entry.body if inner.op != LOAD_CACHED]
    blocks = find_blocks(entry, instructions, lookups, constants)
    uses = Counter(value for block in blocks for value in block.inputs)
    for block in blocks:
        _stretch(module, body, instructions[position : block.first])
        _block(module, body, block, instructions[block.first : block.last + 1], uses)
        position = block.last + 1
    _stretch(module, body, instructions[position:])
    lines = [*body.lines, *module.language.give([body.name(value) for value in entry.results], "list")]
    module.define("forward", signature, "list", "The model: a list of its results.", lines)


def _stretch(module: _Module, body: Body, instructions: Sequence[Instruction]) -> None:
    """Writes instructions that belong to no named part of the model; what repeats among them is a function."""
    parts = find_parts(instructions, body.described, body.kept, body.lookups, MOST_RESULTS)
    written: dict[int, tuple[str, list[str]]] = {}
    position = 0
    for repeat, part in parts:
        body.write(instructions[position : repeat.first])
        if repeat.part not in written:
            written[repeat.part] = _repeated(module, body, repeat, part, instructions[repeat.first : repeat.last + 1])
        name, bases = written[repeat.part]
        keys = module.language.weights([body.lookups[repeat.inputs[at]] for at in part.weights])
        given = [body.source(repeat.inputs[at], whole=at in part.lists) for at in part.parameters]
        source = module.language.call(name, ["device", *keys, *given])
        body.bind_call(repeat.outputs, source, {repeat.inputs[at] for at in repeat.freed}, bases, repeat.left)
        position = repeat.last + 1
    body.write(instructions[position:])


def _repeated(
    module: _Module, caller: Body, repeat: Repeat, part: Part, instructions: Sequence[Instruction]
) -> tuple[str, list[str]]:
    """Writes a repeated part as a function, weights first; its name, and what it calls its results."""
    body = module.body(caller.function)
    of_weights = [repeat.inputs[at] for at in part.weights]
    if module.language.spreads:
        signature = ["w"] if of_weights else []
        for at, value in enumerate(of_weights):
            body.element(value, f"w[{at}]", kept=True)
    else:
        signature = [body.parameter(value, "weight") for value in of_weights]
    for at in part.parameters:
        signature.append(body.parameter(repeat.inputs[at], "states" if at in part.lists else "x"))
        for other, place in part.lists.get(at, {}).items():
            body.element(repeat.inputs[other], f"{signature[-1]}[{place}]", kept=False)
    body.write(
        [step for step in instructions if step.op != DEALLOCATE or not {*step.operand_values()} & {*repeat.left}]
    )
    results = [body.name(value) for value in repeat.outputs]
    gives = _gives(results)
    name = module.define("block", signature, gives, "", [*body.lines, *module.language.give(results, gives)])
    return name, [stem(result) for result in results]


def _block(
    module: _Module,
    caller: Body,
    block: Block,
    instructions: Sequence[Instruction],
    uses: Mapping[int, int],
) -> None:
    """Writes one repeated block as a function, or finds the one that is like it but for names, and the call of it.

    The last block to read a value frees it; where that is all that sets it apart, the caller does so.

    Args:
        uses: how many blocks have a value among their inputs.
    """
    inputs = ["x"] * len(block.inputs)
    left: list[int] = []
    written = _written(module, caller, block, instructions, inputs)
    found = module.blocks.get((block.function, written.text))
    if found is None:
        freed = [value for value in written.freed if uses[value] > 1]
        rest = _written(module, caller, block, instructions, inputs, freed)
        found = module.blocks.get((block.function, rest.text))
        if found is not None:
            written, left = rest, freed
    if found is None:
        names = [caller.base_name(value, uses[value] > 1) for value in block.inputs]
        named = _written(module, caller, block, instructions, names)
        name = module.define(block.function, named.signature, named.gives, "", named.lines)
        found = module.blocks[block.function, written.text] = name, named.results
    name, results = found
    given = [caller.name(value) for value in block.inputs]
    source = module.language.call(name, ["device", module.language.under(block.prefix), *given])
    bases = [
        "hidden" if uses[value] == 1 or len(results) == 1 else stem(result)
        for value, result in zip(block.outputs, results, strict=True)
    ]
    caller.bind_call(block.outputs, source, written.freed, bases, left)


@dataclass
class _Written:
    """A block as a function; ``results`` are their names there, ``freed`` what it frees of its inputs."""

    signature: list[str]
    gives: Gives
    lines: list[str]
    results: list[str]
    freed: set[int]

    @property
    def text(self) -> str:
        return "\n".join([*self.signature, *self.lines])


def _written(
    module: _Module,
    caller: Body,
    block: Block,
    instructions: Sequence[Instruction],
    names: Sequence[str],
    left: Sequence[int] = (),
) -> _Written:
    """A block whose inputs have these names; constants are looked up as they are everywhere.

    Args:
        left: inputs that it does not free.
    """
    lookups = {
        value: key.removeprefix(block.prefix)
        for value, key in caller.lookups.items()
        if key.startswith(block.prefix) or value in block.constants
    }
    body = module.body(caller.function, lookups=lookups)
    signature = ["w"] + [body.parameter(value, name) for value, name in zip(block.inputs, names, strict=True)]
    body.write([step for step in instructions if step.op != DEALLOCATE or not {*step.operand_values()} & {*left}])
    results = [body.name(value) for value in block.outputs]
    gives = _gives(results)
    return _Written(signature, gives, [*body.lines, *module.language.give(results, gives)], results, body.freed)


def _loaders(
    module: _Module, entry: Function, weights: dict[int, str], inputs: dict[int, str], stored: Container[int]
) -> list[str]:
    """What loads the arguments: those that are ``stored`` from their files."""
    made = {
        value: _loaded(module, f"arg{index}", entry.values[value], index in stored)
        for index, value in enumerate(entry.arguments)
    }
    of_weights = [Made((name,), made[value]) for value, name in weights.items()]
    return module.language.loaders(of_weights, [made[value] for value in inputs])


def _loaded(module: _Module, name: str, spec: TensorSpec, stored: bool) -> Node:
    kind = spec.layout.dtype
    if kind.is_host_only:
        return module.language.node(Call("utils.stored", (name,)), str, module.constants.data)
    memory = memory_config(spec.layout, module.target.grid)
    placed: tuple[Expression, ...] = () if memory is None else (Device(), module.constants.named(memory))
    form = (dtype(kind), layout(spec.layout.tiled))
    if stored:
        return module.language.node(Call("utils.load", (name, *form, *placed)), str, module.constants.data)
    shape = tuple(spec.shape)
    return module.language.node(Call("utils.ones", (shape, *form, *placed)), str, module.constants.data)
