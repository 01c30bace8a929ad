"""Traces of dynamo, in a form that another process checks and installs: guards, bytecode and globals.

A guard of dynamo compares something in the frame, in globals or in PyTorch's state with what dynamo saw. A
:class:`Fact` has the fingerprint of what it saw. Another process looks at the same places; if all facts hold there,
dynamo would trace the same, and the guards are made anew, on the objects of that process.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import torch
from torch._dynamo import bytecode_transformation, convert_frame, guards, trace_rules
from torch._dynamo import config as dynamo_config
from torch._dynamo.output_graph import OutputGraphCommon, OutputGraphGuardsState, get_builtins_dict
from torch._dynamo.package import SerializedCode
from torch._dynamo.types import ConvertFrameReturn, GuardedCode, wrap_guarded_code
from torch._dynamo.utils import CleanupHook, CleanupManager
from torch._functorch import config as functorch_config
from torch._guards import CompileId, Guard, GuardsSet, Source
from torch.compiler import config as compiler_config
from torch.utils._ordered_set import OrderedSet

from tt_xla.frontends.torch.fingerprints import Fingerprints, NoFingerprintError, file_digest, find
from tt_xla.log import logger

_SET_BY_DYNAMO = "_dynamo_static_input_type"
"""Mark that dynamo sets on parameters as it traces; only CUDA graphs read it."""

COMPILED = "__compiled_fn_"

_ALLOWED, _DISALLOWED = trace_rules._allowed_callable_ids, trace_rules._disallowed_callable_ids
"""Functions that ``torch._dynamo.allow_in_graph`` and ``disallow_in_graph`` have added."""

_CONTENTS = frozenset(
    {
        "CONSTANT_MATCH",
        "EQUALS_MATCH",
        "BOOL_MATCH",
        "NONE_MATCH",
        "NOT_NONE_MATCH",
        "ID_MATCH",
        "FUNCTION_MATCH",
        "CLOSURE_MATCH",
        "BUILTIN_MATCH",
        "CLASS_MATCH",
        "MODULE_MATCH",
        "RANGE_ITERATOR_MATCH",
    }
)
"""Guards on a value whose fingerprint says all."""
_STATE = frozenset(
    {
        "GRAD_MODE",
        "DETERMINISTIC_ALGORITHMS",
        "GLOBAL_STATE",
        "TORCH_FUNCTION_STATE",
        "DEFAULT_DEVICE",
        "DUAL_LEVEL",
        "AUTOGRAD_SAVED_TENSORS_HOOKS",
        "FUNCTORCH_STACK_MATCH",
    }
)
"""Guards on PyTorch's state, which :func:`state_of_torch` describes."""


class Fact(NamedTuple):
    """A guard of dynamo, and a fingerprint of the value that it looked at.

    Attributes:
        source: the place that it looks at.
        kind: name of the method of ``GuardBuilder`` that makes the guard.
        details: the method's further arguments.
        seen: fingerprint of what was there, as far as the guard looks.
    """

    source: Source
    kind: str
    details: dict[str, Any]
    seen: Any


@dataclass
class TracedFrame:
    """The trace of a frame that has one graph.

    Attributes:
        facts: what the guards saw.
        ordered: dictionaries the order of whose keys dynamo relied on, and fingerprints of the keys.
        sizes: sizes and strides of each tensor that has a guard, as dynamo keeps them.
        state: what :func:`state_of_torch` returned.
        imports: module by the name under which dynamo has put it among the globals.
        builtins: name under which dynamo has put the builtins among the globals.
        compiled: name under which the bytecode finds the compiled graph.
        found: module and path of each other global that the bytecode needs.
        code: the bytecode.
        files: digest of each file that defines what the facts name, or functions that dynamo traced.
    """

    facts: list[Fact]
    ordered: list[tuple[Source, Any]]
    sizes: dict[Source, dict[str, Any]]
    state: Any
    imports: dict[str, str]
    builtins: str
    compiled: str
    found: dict[str, tuple[str, str, Any]]
    code: SerializedCode
    files: dict[str, str]


class Scope:
    """The locals and globals of a frame, in which guards look.

    Args:
        local: the frame's locals.
        global_: its globals.
        extra: globals that dynamo would add.
    """

    def __init__(self, local: Mapping[str, Any], global_: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        self._scope: dict[str, Any] = {"L": local, "G": {**global_, **extra} if extra else global_}
        self._scope["__builtins__"] = vars(builtins).copy()
        self._cache: dict[Source, Any] = {}
        self._closure = guards._get_closure_vars()

    def get(self, source: Source) -> Any:
        """Returns the value at a source. Whatever access to it raises is raised."""
        return source.get_value(self._scope, self._closure, self._cache)


def state_of_torch() -> Any:
    """Returns the state that dynamo's guards compare whatever the function.

    Raises:
        NoFingerprintError: the state cannot be described.
    """
    get_hooks = torch._functorch._aot_autograd.utils.top_saved_tensors_hooks
    inlined = torch._functorch._aot_autograd.utils.saved_tensors_hooks_are_inlineable
    if torch._C._len_torch_function_stack() or _transforms() or inlined(get_hooks()):
        raise NoFingerprintError("a mode, transform or hook that is active")
    level = torch.autograd.forward_ad._current_level
    state = convert_frame.GlobalStateGuard().__getstate__()
    return (str(state), str(torch.utils._device.CURRENT_DEVICE), level, torch.is_inference_mode_enabled())


def settings_digest() -> str:
    """Returns a digest of the settings of PyTorch that decide what dynamo and AOTAutograd make of a function."""
    sdp = torch.backends.cuda
    kernels = (
        sdp.flash_sdp_enabled(),
        sdp.mem_efficient_sdp_enabled(),
        sdp.math_sdp_enabled(),
        sdp.cudnn_sdp_enabled(),
    )
    rules = [sorted((table.function_names or {}).values()) for table in (_ALLOWED, _DISALLOWED)]
    of_decorators = (
        trace_rules._nonstrict_trace_callable_ids,
        trace_rules._leaf_function_ids,
        trace_rules._polyfilled_function_ids,
    )
    counts = [len(table()) for table in (_ALLOWED, _DISALLOWED, *of_decorators)]
    configs = [_values(config) for config in (dynamo_config, functorch_config)]
    folded = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    return repr((configs, kernels, rules, counts, folded, compiler_config.cache_key_tag, torch.version.git_version))


def _values(config: Any) -> list[tuple[str, str]]:
    """Returns the settings of a module of PyTorch that decide how it compiles, in a form that processes share."""
    values: list[tuple[str, str]] = []
    for name in sorted(set(config._config) - config._compile_ignored_keys):
        if getattr(config._config[name], "deprecated", False):
            continue
        value = getattr(config, name)
        if callable(value):
            value = f"{value.__module__}.{value.__qualname__}"
        values.append((name, repr(sorted(map(repr, value)) if isinstance(value, set | frozenset) else value)))
    return values


def _transforms() -> bool:
    return torch._C._functorch.get_interpreter_stack() is not None


def traced_frame(output: Any, bytecode: CodeType) -> TracedFrame:
    """Describes what dynamo made of a frame.

    Args:
        output: dynamo's ``OutputGraph``.
        bytecode: the frame's new bytecode.

    Raises:
        NoFingerprintError: another process could not tell whether dynamo would trace the same there.
    """
    prints = Fingerprints()
    if output.aotautograd_guards or output.export:
        raise NoFingerprintError("guards of AOTAutograd on aliases")
    scope = Scope(output.local_scope, output.global_scope, {})
    facts: list[Fact] = []
    for guard in sorted(output.guards, key=Guard.sort_key):
        kind, details = guard.create_fn_name(), _details(guard)
        if kind == "SHAPE_ENV":
            if guard.code_list:
                raise NoFingerprintError("sizes that are symbols")
        elif kind in _STATE:
            facts.append(Fact(guard.originating_source, kind, details, None))
        else:
            saw = seen(scope, guard.originating_source, kind, details, prints)
            facts.append(Fact(guard.originating_source, kind, details, saw))
    tensors = [fact.source for fact in facts if fact.kind == "TENSOR_MATCH"]
    sizes = {source: _sizes(output.input_source_to_sizes_strides[source]) for source in tensors}
    ordered = [(source, _keys(scope.get(source), prints)) for source in output.guard_on_key_order]
    for code in output.tracing_context.traced_code or ():
        if not prints.defines(code):
            prints.add_file(code.co_filename)
    found: dict[str, tuple[str, str, Any]] = {}
    compiled: list[str] = []
    for name in output.installed_globals:
        value = output.global_scope[name]
        if name.startswith(COMPILED):
            compiled.append(name)
        elif name != output.name_of_builtins_dict_key_in_fglobals:
            place = (value.__name__, "") if isinstance(value, ModuleType) else (value.__module__, value.__qualname__)
            if not isinstance(value, ModuleType | type | FunctionType) or find(*place) is not value:
                raise NoFingerprintError(f"bytecode with a {type(value).__qualname__}")
            found[name] = (*place, prints.of(value))
    if len(compiled) != 1:
        raise NoFingerprintError(f"{len(compiled)} graphs")
    return TracedFrame(
        facts,
        ordered,
        sizes,
        state_of_torch(),
        dict(output.import_sources),
        output.name_of_builtins_dict_key_in_fglobals,
        compiled[0],
        found,
        SerializedCode.from_code_object(bytecode),
        {name: file_digest(name) or "" for name in prints.files},
    )


def seen(scope: Scope, source: Source, kind: str, details: Mapping[str, Any], prints: Fingerprints) -> Any:
    """Returns the fingerprint of what a guard sees.

    Raises:
        NoFingerprintError: a guard of this kind, or the object, has none.
    """
    value = scope.get(source)
    if kind in _CONTENTS:
        return prints.of(value)
    if kind == "TENSOR_MATCH":
        return _tensor(value, prints)
    if kind == "TYPE_MATCH":
        return prints.of(type(value))
    if kind in ("SEQUENCE_LENGTH", "EMPTY_NN_MODULE_HOOKS_DICT", "TUPLE_ITERATOR_LEN"):
        return prints.of(type(value)), len(value) if hasattr(value, "__len__") else value.__length_hint__()
    if kind in ("DICT_KEYS_MATCH", "MAPPING_KEYS_CHECK"):
        return prints.of(type(value)), _keys(value, prints)
    if kind == "HASATTR":
        return hasattr(value, details["attr"])
    if kind == "NOT_PRESENT_IN_GENERIC_DICT":
        return details["attr"] in value.__dict__
    if kind in ("DICT_CONTAINS", "DICT_NOT_CONTAINS", "SET_CONTAINS", "SET_NOT_CONTAINS"):
        return details["key"] in value
    if kind == "DUPLICATE_INPUT":
        return scope.get(details["source_b"]) is value
    raise NoFingerprintError(f"a guard {kind}")


def _details(guard: Guard) -> dict[str, Any]:
    """Returns the arguments of a guard's method besides builder and guard."""
    made = guard.create_fn
    if not isinstance(made, functools.partial):
        return {}
    if made.args:
        raise NoFingerprintError(f"a guard {guard.create_fn_name()} with positions")
    details = {name: value for name, value in made.keywords.items() if name not in ("value", "recompile_hint")}
    for value in details.values():
        if not isinstance(value, str | int | float | bool | Source | type(None)):
            raise NoFingerprintError(f"a guard {guard.create_fn_name()} on a {type(value).__qualname__}")
    return details


def _keys(value: Any, prints: Fingerprints) -> Any:
    return tuple(prints.of(key) for key in value)


def _sizes(info: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: tuple(numbers) for name, numbers in info.items()}
    if any(type(number) is not int for numbers in plain.values() for number in numbers):
        raise NoFingerprintError("a tensor whose sizes are symbols")
    return plain


def _tensor(value: torch.Tensor, prints: Fingerprints) -> Any:
    names = [name for name in value.__dict__ if name.startswith("_dynamo") and name != _SET_BY_DYNAMO]
    if names or value.layout is not torch.strided or type(value) not in (torch.Tensor, torch.nn.Parameter):
        raise NoFingerprintError(f"a {type(value).__qualname__} with marks {names}")
    keys = torch._C._dispatch_keys(value).raw_repr()
    shape, stride = tuple(value.shape), value.stride()
    of_kind = (type(value).__name__, str(value.dtype), str(value.device), keys)
    return (*of_kind, shape, stride, value.requires_grad, value.is_leaf, value.is_inference())


class Installed(NamedTuple):
    """The parts of a frame that :func:`install` needs while the frame is compiled.

    Attributes:
        code: the frame's code.
        local: its locals.
        global_: its globals.
        compile_id: dynamo's number of the compilation.
        entries: compilations of the code so far.
    """

    code: CodeType
    local: dict[str, Any]
    global_: dict[str, Any]
    compile_id: CompileId
    entries: Sequence[Any]


def difference(traced: TracedFrame, frame: Installed) -> str:
    """Returns why dynamo might make something else of a frame than what was described; empty if it would not."""
    names = {traced.builtins, traced.compiled, *traced.found} & frame.global_.keys()
    absent = [module for module in traced.imports.values() if module not in sys.modules]
    changed = [name for name, digest in traced.files.items() if file_digest(name) != digest]
    if names or absent or changed:
        return f"globals that exist: {sorted(names)}, modules that do not: {absent}, files that changed: {changed}"
    prints = Fingerprints()
    source: Source | None = None
    try:
        if state_of_torch() != traced.state:
            return "a global setting of PyTorch, such as its grad mode, autocast or default dtype"
        scope = Scope(frame.local, frame.global_, _globals_of_guards(traced, frame.global_))
        for source, keys in traced.ordered:
            if _keys(scope.get(source), prints) != keys:
                return f"the order of {source.name}"
        for fact in traced.facts:
            source = fact.source
            if fact.kind not in _STATE and seen(scope, source, fact.kind, fact.details, prints) != fact.seen:
                return f"{fact.kind} of {source.name}"
        others = [path for module, path, mark in traced.found.values() if prints.of(find(module, path)) != mark]
        return f"globals {others}" if others else ""
    except Exception as error:  # a value is not there, or whatever the code of the user's objects raises
        return f"{type(error).__name__} ({error}) at {source.name if source else ''}"


def _globals_of_guards(traced: TracedFrame, global_: Mapping[str, Any]) -> dict[str, Any]:
    imports = {name: sys.modules[module] for name, module in traced.imports.items()}
    found = {name: find(module, path) for name, (module, path, _) in traced.found.items()}
    return {**imports, **found, traced.builtins: get_builtins_dict(global_)}  # type: ignore[arg-type]


def install(traced: TracedFrame, frame: Installed, compiled: Callable[..., Any]) -> ConvertFrameReturn | None:
    """Returns dynamo's result for a frame without a :func:`difference`; None if the guards fail.

    Args:
        traced: the description.
        frame: the frame.
        compiled: the compiled graph.
    """
    _reserve(traced.builtins)
    added = {**_globals_of_guards(traced, frame.global_), traced.compiled: torch._dynamo.disable(compiled)}
    lasting = {name: added.pop(name) for name in traced.imports}
    cleanups = [CleanupHook.create(frame.global_, name, value) for name, value in added.items()]
    frame.global_.update(lasting)
    try:
        made = [Guard(fact.source, _maker(fact)) for fact in traced.facts]
        state = OutputGraphGuardsState(
            local_scope=frame.local,
            global_scope=frame.global_,
            torch_function_mode_stack=[],
            guard_on_key_order={source for source, _ in traced.ordered},
            input_source_to_sizes_strides=traced.sizes,  # type: ignore[arg-type]
            dual_level=torch.autograd.forward_ad._current_level,
            functorch_layers=[],
            current_device=torch.utils._device.CURRENT_DEVICE,
            global_state_guard=convert_frame.GlobalStateGuard(),
            _guards=GuardsSet(OrderedSet(made)),
            _aotautograd_guards=[],
            name_of_builtins_dict_key_in_fglobals=traced.builtins,
            skip_guards_check=True,  # dynamo's check also measures it, for statistics of a compilation
        )
        checks = guards.CheckFunctionManager(frame.code, OutputGraphCommon(state), list(frame.entries))
        if not checks.guard_manager.check(frame.local):
            raise AssertionError(str(checks.guard_manager.check_verbose(frame.local)))
    except Exception as error:
        logger().info("The guards of a trace in the cache do not hold: %s", error)
        for cleanup in cleanups:
            cleanup()
        return None
    code = SerializedCode.to_code_object(traced.code)
    convert_frame.orig_code_map[code] = frame.code
    convert_frame.output_codes.add(code)
    CleanupManager.instance[code] = cleanups
    annotation = f"Torch-Compiled Region: {frame.compile_id}"
    return wrap_guarded_code(GuardedCode(code, checks.guard_manager, frame.compile_id, annotation))  # type: ignore[arg-type]


def _maker(fact: Fact) -> Callable[..., Any]:
    method = getattr(guards.GuardBuilder, fact.kind)
    return functools.partial(method, **fact.details) if fact.details else method


def _reserve(name: str) -> None:
    """Makes dynamo choose later names for its globals than one with a number at its end."""
    number = int(name.rpartition("_")[2])
    while next(bytecode_transformation._unique_id_counter) <= number:
        pass


__all__ = ["Installed", "TracedFrame", "difference", "install", "settings_digest", "traced_frame"]
