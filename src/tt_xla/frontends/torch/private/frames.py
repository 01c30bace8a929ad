"""Traces of dynamo, in a form that another process checks and installs: guards, bytecode and globals.

A guard of dynamo compares something in the frame, in globals or in PyTorch's state with what dynamo saw. A
:class:`Fact` has the fingerprint of what it saw. Another process looks at the same places; if all facts hold there,
dynamo would trace the same, and PyTorch makes the guards anew, on the objects of that process.

PyTorch's own packages (``torch._dynamo.package``) are not used: they drop the guards on the identity of functions,
classes, modules and builtins, so a function that was replaced would leave a stale result, and they pickle the objects
that the guards reach.
"""

from __future__ import annotations

import builtins
import functools
import marshal
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import torch
from torch.compiler import config as compiler_config

from tt_xla.frontends.torch.fingerprints import Fingerprints, NoFingerprintError, file_digest, find, is_versioned
from tt_xla.frontends.torch.private.dynamo_patches import Installed
from tt_xla.frontends.torch.private.names import names_of
from tt_xla.log import logger

with names_of("frames"):
    from torch._dynamo import config as dynamo_config
    from torch._dynamo.convert_frame import orig_code_map
    from torch._dynamo.guards import CheckFunctionManager
    from torch._dynamo.output_graph import OutputGraphCommon
    from torch._dynamo.source import is_from_skip_guard_source
    from torch._dynamo.types import GuardedCode, wrap_guarded_code
    from torch._dynamo.variables.functions import PolyfilledFunctionVariable
    from torch._functorch import config as functorch_config

_SET_BY_DYNAMO = "_dynamo_static_input_type"
"""Mark that dynamo sets on parameters as it traces; only CUDA graphs read it."""

COMPILED = "__compiled_fn_"

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
"""Guards on PyTorch's state, which is kept beside the guards and which these compare."""


class Fact(NamedTuple):
    """A guard of dynamo, and a fingerprint of the value that it looked at.

    Attributes:
        guard: the guard, without the objects that it held.
        seen: fingerprint of what was there, as far as the guard looks.
    """

    guard: Any
    seen: Any


@dataclass
class TracedFrame:
    """The trace of a frame that has one graph.

    Attributes:
        facts: what the guards saw.
        unguarded: sources and fingerprints of what no guard compares, as :func:`unguarded` returns them.
        ordered: dictionaries the order of whose keys dynamo relied on, and fingerprints of the keys.
        state: what PyTorch makes guards from besides the facts and the frame, in its own form: sizes of the tensors,
            and the state of PyTorch.
        is_inference: whether inference mode was on, which no guard of dynamo compares.
        imports: module by the name under which dynamo has put it among the globals.
        compiled: name under which the bytecode finds the compiled graph.
        found: module and path of each other global that the bytecode needs.
        files: digest of each file that defines what the facts name, or functions that dynamo traced.
    """

    facts: list[Fact]
    unguarded: list[tuple[Any, Any]]
    ordered: list[tuple[Any, Any]]
    state: Any
    is_inference: bool
    imports: dict[str, str]
    compiled: str
    found: dict[str, tuple[str, str, Any]]
    files: dict[str, str]

    @property
    def builtins(self) -> str:
        """The name under which dynamo has put the builtins among the globals."""
        return self.state.name_of_builtins_dict_key_in_fglobals


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
        self._cache: dict[Any, Any] = {}

    def get(self, source: Any) -> Any:
        """Returns the value at a source, which names a place. Whatever access to it raises is raised."""
        return source.get_value(self._scope, {}, self._cache)


def settings_digest() -> str:
    """Returns a digest of the settings of PyTorch that decide what dynamo and AOTAutograd make of a function."""
    sdp = torch.backends.cuda
    kernels = (
        sdp.flash_sdp_enabled(),
        sdp.mem_efficient_sdp_enabled(),
        sdp.math_sdp_enabled(),
        sdp.cudnn_sdp_enabled(),
    )
    configs = [_values(config) for config in (dynamo_config, functorch_config)]
    folded = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    return repr((configs, kernels, folded, compiler_config.cache_key_tag, torch.version.git_version))


def _values(config: Any) -> list[tuple[str, str]]:
    """Returns the settings of a module of PyTorch that decide how it compiles, in a form that processes share."""
    values: list[tuple[str, str]] = []
    for name, value in sorted(config.get_config_copy().items()):
        if name in config._compile_ignored_keys:
            continue
        if callable(value):
            value = f"{value.__module__}.{value.__qualname__}"
        values.append((name, repr(sorted(map(repr, value)) if isinstance(value, set | frozenset) else value)))
    return values


def unguarded(output: Any) -> list[tuple[Any, Any]]:
    """Returns sources and fingerprints of the variables of Python's library that a trace read. Dynamo guards none.

    Args:
        output: dynamo's ``OutputGraph``, while the graph is compiled.

    Raises:
        NoFingerprintError: a variable has no fingerprint, or the trace may hold what a function of the user returned
            while dynamo traced, as ``torch.compiler.assume_constant_result`` asks: dynamo guards nothing that the
            function reads, so another process cannot tell whether it returns the same there.
    """
    constants = [name for name, value in output.nn_modules.items() if not isinstance(value, torch.fx.GraphModule)]
    if constants or (constants := _folded_functions()):
        raise NoFingerprintError(f"constants that functions made: {constants}")
    scope, prints = Scope(output.local_scope, output.global_scope, {}), Fingerprints()
    sources = [source for source in output.variable_tracker_cache if is_from_skip_guard_source(source)]
    return [(source, _variable(scope.get(source), prints)) for source in sources]


def _folded_functions() -> list[str]:
    """Returns the names of functions, other than PyTorch's, that dynamo calls where their arguments are constants."""
    modules = [module for name, module in [*sys.modules.items()] if name.startswith("torch._dynamo.polyfills")]
    of_torch = {id(value) for module in modules for value in vars(module).values()}
    return [
        replaced.__name__
        for function, replaced in PolyfilledFunctionVariable._get_polyfill_handlers().items()
        if replaced.__torch_dynamo_can_constant_fold_through__
        and id(replaced) not in of_torch
        and not all(map(_is_versioned, (function, replaced.__torch_dynamo_polyfill__)))
    ]


def _is_versioned(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is None or is_versioned(code.co_filename)


def _variable(value: Any, prints: Fingerprints) -> Any:
    """Returns the fingerprint of a variable; that of its class for an object without contents."""
    try:
        return prints.of(value)
    except NoFingerprintError:
        if getattr(value, "__dict__", True):
            raise
        return prints.of(type(value))


def traced_frame(output: Any, unguarded: list[tuple[Any, Any]]) -> TracedFrame:
    """Describes what dynamo made of a frame.

    Args:
        output: dynamo's ``OutputGraph``.
        unguarded: what :func:`unguarded` returned for it.

    Raises:
        NoFingerprintError: another process could not tell whether dynamo would trace the same there.
    """
    prints = Fingerprints()
    if output.aotautograd_guards or output.export:
        raise NoFingerprintError("guards of AOTAutograd on aliases")
    if output.torch_function_mode_stack or output.functorch_layers:
        raise NoFingerprintError("a mode or a transform that is active")
    scope = Scope(output.local_scope, output.global_scope, {})
    facts: list[Fact] = []
    for guard in sorted(output.guards, key=lambda guard: guard.sort_key()):
        if guard.create_fn_name() == "SHAPE_ENV":
            if guard.code_list:
                raise NoFingerprintError("sizes that are symbols")
            continue
        plain = replace(guard, create_fn=_plain_maker(guard), **dict.fromkeys(_OF_ITS_PROCESS))
        facts.append(Fact(plain, seen(scope, plain, prints)))
    tensors = [fact.guard.originating_source for fact in facts if fact.guard.create_fn_name() == "TENSOR_MATCH"]
    state = replace(
        output.dump_guards_state(),
        local_scope={},
        global_scope={},
        input_source_to_sizes_strides={
            source: _sizes(output.input_source_to_sizes_strides[source]) for source in tensors
        },
        _guards=[],
        skip_guards_check=True,  # dynamo's check also measures it, for statistics of a compilation
    )
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
        unguarded,
        ordered,
        state,
        torch.is_inference_mode_enabled(),
        dict(output.import_sources),
        compiled[0],
        found,
        {name: file_digest(name) or "" for name in prints.files},
    )


_OF_ITS_PROCESS = ("guard_types", "code_list", "obj_weakref", "guarded_class_weakref", "stack", "user_stack", "_hash")
"""Fields of a guard that PyTorch fills as it makes the guard."""


def seen(scope: Scope, guard: Any, prints: Fingerprints) -> Any:
    """Returns the fingerprint of what a guard sees; None for one on PyTorch's state.

    Raises:
        NoFingerprintError: a guard of this kind, or the object, has none.
    """
    kind = guard.create_fn_name()
    if kind in _STATE:
        return None
    details = guard.create_fn.keywords if isinstance(guard.create_fn, functools.partial) else {}
    value = scope.get(guard.originating_source)
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


def _plain_maker(guard: Any) -> Callable[..., Any]:
    """Returns the method of ``GuardBuilder`` that makes a guard, with those of its arguments that processes share."""
    made = guard.create_fn
    if not isinstance(made, functools.partial):
        return made
    if made.args:
        raise NoFingerprintError(f"a guard {guard.create_fn_name()} with positions")
    details = {name: value for name, value in made.keywords.items() if name not in ("value", "recompile_hint")}
    for name, value in details.items():
        if name != "source_b" and not isinstance(value, str | int | float | bool | type(None)):
            raise NoFingerprintError(f"a guard {guard.create_fn_name()} on a {type(value).__qualname__}")
    return functools.partial(made.func, **details) if details else made.func


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
    shape, stride = tuple(value.shape), value.stride()
    of_kind = (type(value).__name__, str(value.dtype), str(value.device), value.is_conj(), value.is_neg())
    return (*of_kind, shape, stride, value.requires_grad, value.is_leaf, value.is_inference())


_BUILTINS = re.compile(rb"(__builtins_dict___)(\d+)")
"""The name under which dynamo has put the builtins among the globals, with a number that it counts."""


def without_numbers(data: bytes) -> bytes:
    """Returns pickled or marshalled data with a name of the builtins that dynamo never chooses, of the same length.

    So dynamo can give its own name to another trace of the process that reads the data.
    """
    return _BUILTINS.sub(lambda found: found[1] + b"_" * len(found[2]), data)


def difference(traced: TracedFrame, frame: Installed) -> str:
    """Returns why dynamo might make something else of a frame than what was described; empty if it would not."""
    names = {traced.compiled, *traced.found} & frame.global_.keys()
    absent = [module for module in traced.imports.values() if module not in sys.modules]
    changed = [name for name, digest in traced.files.items() if file_digest(name) != digest]
    if names or absent or changed:
        return f"globals that exist: {sorted(names)}, modules that do not: {absent}, files that changed: {changed}"
    prints = Fingerprints()
    source: Any = None
    try:
        if torch.is_inference_mode_enabled() != traced.is_inference:
            return "inference mode"
        scope = Scope(frame.local, frame.global_, _globals_of_guards(traced, frame.global_))
        for source, keys in traced.ordered:
            if _keys(scope.get(source), prints) != keys:
                return f"the order of {source.name}"
        for source, mark in traced.unguarded:
            if _variable(scope.get(source), prints) != mark:
                return f"{source.name}, which no guard compares"
        for fact in traced.facts:
            source = fact.guard.originating_source
            if seen(scope, fact.guard, prints) != fact.seen:
                return f"{fact.guard.create_fn_name()} of {source.name}"
        others = [path for module, path, mark in traced.found.values() if prints.of(find(module, path)) != mark]
        return f"globals {others}" if others else ""
    except Exception as error:  # a value is not there, or whatever the code of the user's objects raises
        return f"{type(error).__name__} ({error}) at {source.name if source else ''}"


def _globals_of_guards(traced: TracedFrame, global_: Mapping[str, Any]) -> dict[str, Any]:
    imports = {name: sys.modules[module] for name, module in traced.imports.items()}
    found = {name: find(module, path) for name, (module, path, _) in traced.found.items()}
    return {**imports, **found, traced.builtins: _builtins_of(global_)}


def _builtins_of(global_: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the builtins of code with these globals. Python keeps the module or its dictionary there."""
    found = global_["__builtins__"]
    return found if isinstance(found, dict) else vars(found)


def install(traced: TracedFrame, bytecode: bytes, frame: Installed, load: Callable[[], Callable[..., Any]]) -> Any:
    """Returns dynamo's result for a frame without a :func:`difference`; None if the guards fail.

    Args:
        traced: the description.
        bytecode: the frame's new bytecode, as :mod:`marshal` writes it.
        frame: the frame.
        load: returns the compiled graph. It is called once the guards hold, and what it raises is raised.
    """
    added = {**_globals_of_guards(traced, frame.global_), traced.compiled: None}
    passing = added.keys() - {*traced.imports, traced.builtins}
    frame.global_.update(added)
    try:
        checks = _guards(traced, frame)
        if checks is not None:
            frame.global_[traced.compiled] = torch.compiler.disable(load())
    except BaseException:
        _remove(frame.global_, passing)
        raise
    if checks is None:
        _remove(frame.global_, passing)
        return None
    code = marshal.loads(bytecode)
    orig_code_map[code] = frame.code
    weakref.finalize(code, _remove, frame.global_, passing).atexit = False
    annotation = f"Torch-Compiled Region: {frame.compile_id}"
    return wrap_guarded_code(GuardedCode(code, checks, frame.compile_id, annotation))


def _guards(traced: TracedFrame, frame: Installed) -> Any:
    """Returns PyTorch's guards for a frame whose globals are in place; None if they do not hold."""
    made = [fact.guard for fact in traced.facts]
    state = replace(traced.state, local_scope=frame.local, global_scope=frame.global_, _guards=made)
    try:
        checks = CheckFunctionManager(frame.code, OutputGraphCommon(state), [*frame.entries]).guard_manager
        if checks.check(frame.local):
            return checks
        reason = str(checks.check_verbose(frame.local))
    except Exception as error:  # of another version of PyTorch, or whatever the code of the user's objects raises
        reason = f"{type(error).__name__} ({error})"
    logger().info("The guards of a trace in the cache do not hold: %s", reason)
    return None


def _remove(scope: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        scope.pop(name, None)


__all__ = ["TracedFrame", "difference", "install", "settings_digest", "traced_frame", "unguarded", "without_numbers"]
