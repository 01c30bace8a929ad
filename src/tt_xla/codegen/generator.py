"""Generates source that calls TT-NN from a Program: ``main.py`` or ``main.cpp``, with its constants and host programs.

The file reads from top to bottom in the order in which the program runs: configs, const-eval functions, repeated blocks
of the model, ``forward``, and the functions that load, run and print. :mod:`tt_xla.codegen.body` writes the statements.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tt_xla.codegen.blocks import Block, find_blocks
from tt_xla.codegen.body import FORM, HOST_CALL, HOST_CALLBACK, MOST_RESULTS, Body, Constants, File, main_op
from tt_xla.codegen.boundary import Boundary
from tt_xla.codegen.formatting import INDENT, Group, Node, lay_out
from tt_xla.codegen.languages import LANGUAGES, Language, ResultForm
from tt_xla.codegen.languages.numbered import WeightEntry
from tt_xla.codegen.meshes import device_mesh
from tt_xla.codegen.naming import filled_name, identifier, module_path, own_name, stem, unique
from tt_xla.codegen.repeats import Part, Repeat, find_parts
from tt_xla.codegen.shared_shards import SharedShards
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
from tt_xla.target import load_target

MOST_PARAMETERS = 8
"""Maximum number of inputs that are parameters of ``forward``; more inputs are passed by name with the weights."""


@dataclass
class Source:
    """Generated source and its constants. Tensors that are known only when the program runs are not part of it."""

    main: str
    """Text of the main file."""
    language: Language
    constants: dict[str, tuple[bytes, TensorSpec]]
    """Elements and spec of each large constant, by the name of its file in ``tensors/``."""
    host_programs: dict[str, str]
    """StableHLO text of each host op that has no torch code, by file name relative to the main file."""
    host_functions: Sequence[str]
    """Names of the functions in the main file that compute host ops in torch."""
    callbacks: dict[str, str]
    """Name in the main file of each Python function that the program calls back, by its registered name."""


@dataclass
class _Module(File):
    """The main file while it is being written."""

    parts: list[list[str]] = field(default_factory=lambda: [])
    """Functions written so far, each as lines."""
    named: dict[str, str] = field(default_factory=lambda: {})
    """Name of each function by its signature and body, so that equal functions are written once."""
    blocks: dict[tuple[str, str], tuple[str, list[str]]] = field(default_factory=lambda: {})
    """Function and result names of each block, by the block's name and its text with neutral input names."""

    def define(self, name: str, signature: Sequence[str], form: ResultForm, doc: str, lines: Sequence[str]) -> str:
        """Writes a function, unless an equal one exists, and returns its name."""
        signature = ["device", *signature]
        key = "\n".join([*signature, *(line for line in lines if not self.language.is_comment(line))])
        if key in self.named:
            return self.named[key]
        self.named[key] = name = unique(name, {*self.named.values(), *self.constants.locals})
        self.constants.defined.add(name)
        self.parts.append(self.language.function(name, signature, form, doc, lines))
        return name


def generate(
    program: Program,
    export_tensors: bool = True,
    language: str = "py",
    *,
    host_in_torch: bool = True,
    places_shards: bool = True,
    parameters: Collection[int] | None = None,
) -> Source:
    """Generates source from a Program.

    An argument that TT-NN has no data type for becomes an array, which only the caller of the source can pass.

    Args:
        program: the Program.
        export_tensors: whether arguments are read from ``tensors/arg<i>.tensorbin``; otherwise they are ``ttnn.ones``.
        language: ``py`` or ``cpp``.
        host_in_torch: whether host ops become torch code where possible; otherwise they stay StableHLO programs.
        places_shards: whether the source of a program with a mesh splits its arguments over the chips, and joins the
            shards of its results; otherwise the caller of the source does.
        parameters: positions of the arguments that other source passes to ``forward`` in each call; they are always
            read from files when the source runs alone. None makes the inputs parameters.

    Raises:
        UnsupportedOpError: TT-NN has no call for an op, the language does not support an op, TT-NN has no mesh device
            or mapper for the program's mesh and shardings, or chips would take different branches.
        MeshError: the mesh does not fit the links of the program's system.
    """
    target = load_target(program.target)
    mesh = device_mesh(program)
    shared_shards = None if program.mesh is None else SharedShards(program)
    module = _Module(program, target, mesh, shared_shards, LANGUAGES[language], Constants(host_in_torch=host_in_torch))
    module.constants.shares_keywords = module.language.one_parameter_per_tensor
    _check(program, module.language)
    entry = program.functions[0]
    weights, inputs = _arguments(program, entry, parameters)
    _subprograms(module)
    prepared, constants = _const_evals(module, entry, weights)
    traces = _traces(module, entry)
    lookups = weights | prepared
    _forward(module, entry, lookups, constants, inputs, traces)
    stored = range(len(entry.arguments)) if export_tensors else parameters or ()
    boundary = Boundary(module, mesh if places_shards else None)
    loaders = _loaders(boundary, weights, inputs, stored)
    results = None if boundary.mesh is None else boundary.results(boundary.mesh)
    if results is not None and parameters is not None:
        doc = "Returns the results as arrays, each joined from the shards of all chips."
        lines = lay_out("return ", Group("[", tuple(results), "]"), indent=1)
        module.define("whole", ["results"], "list", doc, lines)
    configs = [line for name, value in module.constants.names.values() for line in module.language.config(name, value)]
    updates = _updates(program, entry, weights, list(inputs))
    entry_point = module.language.entry(program, module.mesh, bool(prepared), len(inputs), updates, results)
    parts = [
        *_callbacks(module.constants),
        *module.constants.host_functions.values(),
        *module.parts,
        [*loaders, *entry_point],
    ]
    functions = [*module.constants.host_functions]
    modules = ("host_ops",) if functions else ()
    text = module.language.file(program, target, parts, configs, modules)
    callbacks = {name: function for name, (function, _) in module.constants.callbacks.items()}
    return Source(text, module.language, module.constants.files, module.constants.host_programs, functions, callbacks)


def _check(program: Program, language: Language) -> None:
    """Checks that a language supports a program.

    Raises:
        UnsupportedOpError: the program has host ops or traces, which the language does not support.
    """
    steps = [step for function in program.functions for step in function.body]
    on_host = [step for step in steps if step.op in (HOST_CALL, HOST_CALLBACK)]
    refuse_host(language.name, map(_named_op, on_host))
    if not language.traces and any(step.op == TRACE for step in steps):
        raise UnsupportedOpError(
            f"{language.label} source does not support traces.",
            hint="Compile with enable_trace=false, or generate Python.",
        )


def _named_op(step: Instruction) -> tuple[str, str]:
    """Returns the name and the source location of what an instruction has the host run."""
    op, _, place = main_op(step.attributes.get("ops", ["a Python function"])).partition(" at ")
    return op, place or step.location


def refuse_host(language: str, ops: Iterable[tuple[str, str]]) -> None:
    """Checks that a language supports host ops.

    Args:
        language: ``py`` or ``cpp``.
        ops: name and source location of each host op of a program.

    Raises:
        UnsupportedOpError: there is a host op, and the language does not support any.
    """
    if not LANGUAGES[language].host and (host_op := next(iter(ops), None)):
        raise UnsupportedOpError(
            f"{LANGUAGES[language].label} source does not support ops that the host runs: "
            f"{' '.join(host_op[0].split())}.",
            hint="Generate Python with codegen_py, which supports them.",
            location=host_op[1],
        )


def _arguments(
    program: Program, entry: Function, parameters: Collection[int] | None
) -> tuple[dict[int, str], dict[int, str]]:
    """Returns the keys of arguments that are looked up in the table of weights, and the names of parameters."""
    arguments = dict(zip(entry.arguments, program.arguments, strict=True))
    is_input = [
        value for value, argument in arguments.items() if argument.role is Role.INPUT and not module_path(argument.name)
    ]
    if parameters is not None:
        is_input = [entry.arguments[position] for position in parameters]
    elif len(is_input) > MOST_PARAMETERS:
        is_input = []
    weights: dict[int, str] = {}
    inputs: dict[int, str] = {}
    for value, argument in arguments.items():
        if value in is_input:
            inputs[value] = unique(identifier(argument.name), inputs.values())
        else:
            weights[value] = unique(argument.name, weights.values())
    return weights, inputs


def _updates(
    program: Program, entry: Function, weights: Mapping[int, str], inputs: Sequence[int]
) -> dict[int | str, int]:
    """Returns the results that take the place of inputs in the next call.

    Args:
        program: the Program.
        entry: its first function.
        weights: key of each argument in the table of weights, by value. Inputs are there if a function would have too
            many parameters.
        inputs: the other arguments.
    """
    updates: dict[int | str, int] = {}
    for value, argument in zip(entry.arguments, program.arguments, strict=True):
        result = argument.becomes
        if result is None and argument.written and value in entry.results:
            result = entry.results.index(value)
        if result is not None:
            updates[inputs.index(value) if value in inputs else weights[value]] = result
    return updates


def _callbacks(constants: Constants) -> Iterator[list[str]]:
    """Yields a placeholder for each Python function that lives in the model's own process."""
    for name, results in constants.callbacks.values():
        yield [
            f"def {name}(*arrays):",
            f'{INDENT}"""A function of the model\'s own process, not generated. Returns {results} arrays."""',
            f'{INDENT}raise NotImplementedError("{name} lives in the model\'s own process: write it here")'
            if results
            else f"{INDENT}print(*arrays)",
        ]


def _subprograms(module: _Module) -> None:
    """Writes the functions that loops and cases run; a function comes before the functions that call it."""
    for function in reversed(module.program.functions):
        if function.kind is not FunctionKind.SUBPROGRAM:
            continue
        if not module.language.one_parameter_per_tensor:
            module.constants.functions[function.name] = _by_position(module, function)
            continue
        body = Body(module, function)
        parameters = [body.parameter(value, "x") for value in function.arguments]
        body.write(function.body)
        lines = body.ended(function.results, "list")
        module.constants.functions[function.name] = module.define(
            identifier(function.name), parameters, "list", "", lines
        )


def _const_evals(module: _Module, entry: Function, weights: dict[int, str]) -> tuple[dict[int, str], set[int]]:
    """Writes the const-eval functions and the function that runs them.

    Returns:
        Keys of their results in the table of weights, by value, and the values that depend on no weight.
    """
    keys: dict[int, str] = {}
    constants: set[int] = set()
    entries: list[WeightEntry] = []
    shared: dict[str, list[str]] = {}
    used_names = {*weights.values(), *(name.rpartition(".")[2] for name in weights.values())}
    for instruction in entry.body:
        if instruction.op != LOAD_CACHED:
            continue
        operands = instruction.operands["inputs"]
        assert isinstance(operands, tuple)
        callee = module.program.function(str(instruction.attributes["callee"]))
        operand_keys = [_looked_up(weights | keys, value, callee.name) for value in operands]
        if not operand_keys:
            constants.update(instruction.results)
        source, result_names = _const_eval(module, callee, operand_keys)
        sizes = [math.prod(entry.values[value].shape) for value in operands]
        subject = max(zip(sizes, operand_keys, strict=True), key=lambda pair: pair[0], default=(0, ""))[1]
        known = shared.get(str(source))
        if known is None:
            known = shared[str(source)] = []
            kinds = [entry.values[value].layout.dtype.value for value in instruction.results]
            for result_name, kind in zip(result_names, kinds, strict=True):
                base = f"{subject}.prepared" if operand_keys else result_name
                if base in used_names and not operand_keys:
                    base = f"{base}_{kind}"
                known.append(unique(base, used_names))
                used_names.add(known[-1])
            entries.append(WeightEntry(tuple(known), source))
        keys |= zip(instruction.results, known, strict=True)
    if entries:
        lines = module.language.store(entries)
        doc = "Computes the tensors that depend on weights and constants alone, and stores them with the weights."
        module.define("const_eval", ["w"], "nothing", doc, lines)
    return keys, constants


def _looked_up(names: dict[int, str], value: int, callee: str) -> str:
    """Returns the key of a value that a const-eval function reads.

    Raises:
        UnsupportedOpError: the value is not a weight.
    """
    key = names.get(value)
    if key is None:
        raise UnsupportedOpError(
            f"Const-eval function '{callee}' reads a value that is not a weight.",
            hint="This is a fault of tt-xla; compile with enable_const_eval=false.",
        )
    return key


def _const_eval(module: _Module, function: Function, operand_keys: Sequence[str]) -> tuple[Node, list[str]]:
    """Writes a const-eval function, unless it is a single call without operands.

    Returns:
        The call that computes it, and names for its results.
    """
    ops = [inner.op.rpartition(".")[2] for inner in function.body if inner.op != DEALLOCATE]
    body = Body(module, function, commented=any(op not in FORM for op in ops))
    uses = Counter(value for inner in function.body for value in inner.operand_values())
    parameters = [
        body.parameter(value, (len(operand_keys) > 1 and own_name(key)) or "weight", passes=uses[value] == 1)
        for value, key in zip(function.arguments, operand_keys, strict=True)
    ]
    body.write(function.body)
    results = [body.name(value) for value in function.results]
    form = _result_form(results)
    verb = "prepare" if function.arguments else "make"
    names = _constant_names(function, results)
    if len(ops) == 1 and not operand_keys and len(results) == 1 and len(body.sources) == 1:
        return body.sources[0], names
    lines = body.ended(function.results, form)
    name = module.define(f"{verb}_{_work_name(ops)}", parameters, form, "", lines)
    return module.language.call(name, ["device", *map(module.language.weight, operand_keys)]), names


def _work_name(ops: Sequence[str]) -> str:
    """Returns a word for what a const-eval function computes: its last op, or the change of form that matters most."""
    computes = next((op for op in reversed(ops) if op not in FORM), "")
    word = computes.removeprefix("prepare_") or next((word for op, word in FORM.items() if op in ops), "const_eval")
    return identifier(word).rstrip("_")


def _constant_names(function: Function, results: Sequence[str]) -> list[str]:
    """Returns names for the results of a const-eval function; a tensor of equal elements is named after its number."""
    makers = {value: inner for inner in function.body for value in inner.results}
    names: list[str] = []
    for value, name in zip(function.results, results, strict=True):
        filled = makers[value].attributes.get("fill_value") if value in makers else None
        names.append(filled_name(filled) if isinstance(filled, (int, float)) else stem(name))
    return names


def _result_form(results: Sequence[str]) -> ResultForm:
    """Returns the form in which a function returns this many results."""
    return "one" if len(results) == 1 else "several" if len(results) <= MOST_RESULTS else "list"


def _traces(module: _Module, entry: Function) -> dict[str, str]:
    """Writes the functions behind traces. Returns the name of each trace object, by its capture function."""
    recorders: dict[str, str] = {}
    traced = [function for function in module.program.functions if function.kind.startswith("trace")]
    for function in sorted(traced, key=lambda each: each.kind is not FunctionKind.TRACE):
        _by_position(module, function)
    for instruction in entry.body:
        if instruction.op == TRACE:
            capture = str(instruction.attributes["capture_callee"])
            name = unique("TRACE", recorders.values())
            callees = ("allocate_slots_callee", "capture_callee", "execute_callee")
            functions = [identifier(str(instruction.attributes[callee])) for callee in callees]
            resident = len(instruction.operand_values()) - len(module.program.staged_operands(instruction))
            recorder = module.language.call("utils.Trace", [*functions, str(resident)])
            module.parts.append(lay_out(f"{name} = ", recorder))
            recorders[capture] = name
    return recorders


def _by_position(module: _Module, function: Function) -> str:
    """Writes a function that takes its tensors as one list, and returns its name."""
    body = Body(module, function)
    body.names |= {value: f"tensors[{position}]" for position, value in enumerate(function.arguments)}
    body.retained |= set(function.arguments)
    body.write(function.body)
    form: ResultForm = "list" if function.results else "nothing"
    return module.define(identifier(function.name), ["tensors"], form, "", body.ended(function.results, form))


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
        module: the file.
        entry: the Program's entry.
        lookups: keys of the values that are looked up in the table of weights.
        constants: the values among them that depend on no argument.
        inputs: names of the values that are parameters.
        traces: names of trace objects by capture function.
    """
    body = Body(module, entry, lookups=lookups, traces=traces)
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
    doc = "Runs the model and returns a list of its results."
    module.define("forward", signature, "list", doc, body.ended(entry.results, "list"))


def _stretch(module: _Module, body: Body, instructions: Sequence[Instruction]) -> None:
    """Writes instructions that belong to no named block; repeated parts of them become functions."""
    parts = find_parts(instructions, body.described, body.retained, body.lookups, MOST_RESULTS)
    written: dict[int, tuple[str, list[str]]] = {}
    position = 0
    for repeat, part in parts:
        body.write(instructions[position : repeat.first])
        if repeat.part not in written:
            written[repeat.part] = _repeated(module, body, repeat, part, instructions[repeat.first : repeat.last + 1])
        name, bases = written[repeat.part]
        keys = module.language.weights([body.lookups[repeat.inputs[index]] for index in part.weights])
        arguments = [body.source(repeat.inputs[index], as_list=index in part.lists) for index in part.parameters]
        source = module.language.call(name, ["device", *keys, *arguments])
        body.bind_call(repeat.outputs, source, {repeat.inputs[index] for index in repeat.freed}, bases, repeat.left)
        position = repeat.last + 1
    body.write(instructions[position:])


def _repeated(
    module: _Module, caller: Body, repeat: Repeat, part: Part, instructions: Sequence[Instruction]
) -> tuple[str, list[str]]:
    """Writes a repeated part as a function whose weights come first. Returns its name and the names of its results."""
    body = Body(module, caller.function)
    weights = [repeat.inputs[index] for index in part.weights]
    if module.language.one_parameter_per_tensor:
        signature = ["w"] if weights else []
        for index, value in enumerate(weights):
            body.element(value, f"w[{index}]", retained=True)
    else:
        signature = [body.parameter(value, "weight") for value in weights]
    for index in part.parameters:
        signature.append(body.parameter(repeat.inputs[index], "states" if index in part.lists else "x"))
        for other, place in part.lists.get(index, {}).items():
            body.element(repeat.inputs[other], f"{signature[-1]}[{place}]", retained=False)
    body.write(
        [step for step in instructions if step.op != DEALLOCATE or not {*step.operand_values()} & {*repeat.left}]
    )
    results = [body.name(value) for value in repeat.outputs]
    form = _result_form(results)
    name = module.define("block", signature, form, "", body.ended(repeat.outputs, form))
    return name, [stem(result) for result in results]


def _block(
    module: _Module,
    caller: Body,
    block: Block,
    instructions: Sequence[Instruction],
    uses: Mapping[int, int],
) -> None:
    """Writes the call of a block, and the block as a function unless a function with the same statements exists.

    The last block that reads a value frees it. A block that differs from an existing function only in this leaves the
    freeing to its caller.

    Args:
        module: the file.
        caller: the body of ``forward``.
        block: the block.
        instructions: its instructions.
        uses: number of blocks that have each value among their inputs.
    """
    inputs = ["x"] * len(block.inputs)
    left: list[int] = []
    written = _written(module, caller, block, instructions, inputs)
    known = module.blocks.get((block.function, written.text))
    if known is None:
        freed = [value for value in written.freed if uses[value] > 1]
        rest = _written(module, caller, block, instructions, inputs, freed)
        known = module.blocks.get((block.function, rest.text))
        if known is not None:
            written, left = rest, freed
    if known is None:
        names = [caller.base_name(value, uses[value] > 1) for value in block.inputs]
        named = _written(module, caller, block, instructions, names)
        name = module.define(block.function, named.signature, named.form, "", named.lines)
        known = module.blocks[block.function, written.text] = name, named.results
    name, results = known
    arguments = [caller.name(value) for value in block.inputs]
    source = module.language.call(name, ["device", module.language.under(block.prefix), *arguments])
    bases = [
        "hidden" if uses[value] == 1 or len(results) == 1 else stem(result)
        for value, result in zip(block.outputs, results, strict=True)
    ]
    caller.bind_call(block.outputs, source, written.freed, bases, left)


@dataclass
class _Written:
    """A block written as a function."""

    signature: list[str]
    """Names of the parameters."""
    form: ResultForm
    lines: list[str]
    """Statements of the body."""
    results: list[str]
    """Names of the results in the function."""
    freed: set[int]
    """Inputs that the function frees."""

    @property
    def text(self) -> str:
        """Signature and body as one text; equal texts are equal functions."""
        return "\n".join([*self.signature, *self.lines])


def _written(
    module: _Module,
    caller: Body,
    block: Block,
    instructions: Sequence[Instruction],
    names: Sequence[str],
    left: Sequence[int] = (),
) -> _Written:
    """Returns a block as a function; see :func:`_block`.

    Args:
        names: names for the inputs. Constants keep the names that they have everywhere.
        left: inputs that the function does not free.
    """
    lookups = {
        value: key.removeprefix(block.prefix)
        for value, key in caller.lookups.items()
        if key.startswith(block.prefix) or value in block.constants
    }
    body = Body(module, caller.function, lookups=lookups)
    signature = ["w"] + [body.parameter(value, name) for value, name in zip(block.inputs, names, strict=True)]
    body.write([step for step in instructions if step.op != DEALLOCATE or not {*step.operand_values()} & {*left}])
    results = [body.name(value) for value in block.outputs]
    form = _result_form(results)
    return _Written(signature, form, body.ended(block.outputs, form), results, body.freed)


def _loaders(boundary: Boundary, weights: dict[int, str], inputs: dict[int, str], stored: Container[int]) -> list[str]:
    """Returns the functions that load the arguments, reading the ``stored`` positions from files."""
    arguments = boundary.file.program.functions[0].arguments
    sources = {value: boundary.argument(index, index in stored) for index, value in enumerate(arguments)}
    entries = [WeightEntry((name,), sources[value]) for value, name in weights.items()]
    return boundary.file.language.loaders(entries, [sources[value] for value in inputs])
