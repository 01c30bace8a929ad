"""The functions of dynamo that the frontend replaces, for frames that ``tt`` compiles and for no others.

They give those frames settings of their own, and look for them in a cache before dynamo traces them.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, Protocol

from tt_xla.collector import collector_paused
from tt_xla.environment import keeps_dynamo_defaults
from tt_xla.frontends.torch.fingerprints import is_versioned
from tt_xla.frontends.torch.private.names import names_of
from tt_xla.stage_times import TRACING, stage

with names_of("dynamo_patches"):
    from torch._dynamo import config, convert_frame
    from torch._dynamo.convert_frame import ConvertFrameAssert, DynamoOutput, _compile
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list
    from torch._dynamo.guards import get_and_maybe_log_recompilation_reasons
    from torch._dynamo.source import SkipGuardSource
    from torch._dynamo.symbolic_convert import InliningInstructionTranslator
    from torch._dynamo.variables import builder, functions, nn_module
    from torch._dynamo.variables.functions import PolyfilledFunctionVariable

_COMPILE = signature(_compile)

IS_CACHED = {"code", "globals", "locals", "hooks", "cache_entries", "compile_id"} <= _COMPILE.parameters.keys()
"""Whether this version of PyTorch lets frames be found in a cache."""

REPLACED = (
    (ConvertFrameAssert, "__call__"),
    *(((convert_frame, "_compile"), (DynamoOutput, "build_guards")) if IS_CACHED else ()),
    (builder, "_automatic_dynamic"),
    (InliningInstructionTranslator, "get_globals_source_and_value"),
    (functions, "invoke_and_store_as_constant"),
    (nn_module, "invoke_and_store_as_constant"),
    (PolyfilledFunctionVariable, "call_function"),
)
"""Owner and name of each attribute that :func:`install` replaces."""

Settings = Callable[[], Mapping[str, object]]
"""Returns values by name of a setting of ``torch._dynamo.config``."""

_MARK = "_tt_compiles_frames"
"""Attribute that marks converters of frames whose backend, such as a wrapper of ``tt``, called
:meth:`FrameSettings.apply`."""


class FrameSettings(threading.local):
    """Settings of the frame that this thread compiles. They end with the frame.

    Dynamo reads ``recompile_limit`` before, and ``record_runtime_overhead`` after, it calls a backend, so a backend
    itself cannot set them for its frames alone. Settings of ``torch._dynamo.config`` belong to a thread, and dynamo
    holds a lock while it compiles a frame, so nothing else sees them.
    """

    converter: ConvertFrameAssert | None = None
    patches: contextlib.ExitStack | None = None
    settings: Settings | None = None
    code: CodeType | None = None
    """Code of the function whose frame is compiled."""
    frame: Any = None
    """The frame."""
    frames: Frames | None = None
    """The cache of frames, in a frame that ``tt`` compiles."""
    key: str | None = None
    """The frame's key there; None if it is not stored."""

    def __init__(self) -> None:
        self.own: Mapping[str, Any] = {}
        """Mode and options of ``torch.compile``."""
        self.graphs: list[Any] = []
        """The graphs of the frame as dynamo calls them; None for one that needs AOTAutograd's wrappers."""

    def apply(self) -> None:
        """Applies the settings to the current frame. A setting that no longer has PyTorch's default stays."""
        if self.patches is None or self.settings is None:
            return
        setattr(self.converter, _MARK, True)
        values = self.settings().items()
        changes = {name: value for name, value in values if _has_default(name)}
        if changes:
            self.patches.enter_context(config.patch(changes))


FRAME_SETTINGS = FrameSettings()


class Installed(NamedTuple):
    """The parts of a frame, while it is compiled, that a cache of frames needs.

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
    compile_id: Any
    entries: Sequence[Any]


class Frames(Protocol):
    """A cache of frames that dynamo traced."""

    def key(self, code: CodeType, own: Mapping[str, Any]) -> str | None:
        """Returns the key of a function that is about to be traced; None if it is not stored."""
        ...

    def loaded(self, key: str, own: Mapping[str, Any], frame: Installed) -> Any:
        """Returns dynamo's result for a frame under mode and options ``own``, or None."""
        ...

    def store(self, key: str, output: Any, bytecode: CodeType, executor: Any) -> None:
        """Stores what dynamo made of a frame with one graph."""
        ...


def install(backend: Callable[..., Any], settings: Settings, frames: Frames | None) -> None:
    """Makes dynamo compile frames for one backend under settings of its own.

    Args:
        backend: the function that dynamo calls with a graph. Frames compiled for other backends keep the settings that
            they have, unless that backend calls :meth:`FrameSettings.apply`.
        settings: returns the settings.
        frames: finds frames that were traced before; None if nothing does.
    """
    if IS_CACHED and frames is not None:
        _look_in_cache()
        _forget_frames_with_constants()
    _guard_values_of_the_standard_library()
    _fix_sizes()
    compile_frame = ConvertFrameAssert.__call__

    @functools.wraps(compile_frame)
    def compile_frame_under_settings(self: ConvertFrameAssert, *args: Any, skip: int = 0, **kwargs: Any) -> Any:
        frame = FRAME_SETTINGS
        outer = {name: getattr(frame, name) for name in _FIELDS}
        with contextlib.ExitStack() as patches:
            frame.converter, frame.patches, frame.settings, frame.code = self, patches, settings, args[0].f_code
            frame.frame = args[0]
            frame.frames, frame.key, frame.graphs = None, None, []
            try:
                ours = _innermost(self._torchdynamo_orig_backend) is backend
                if ours and not self._export and self._package is None:
                    frame.frames, frame.own = frames, _options(self._torchdynamo_orig_backend)
                if hasattr(self, _MARK) or ours:
                    frame.apply()
                    patches.enter_context(stage(TRACING))
                    patches.enter_context(collector_paused())
                elif (count := _program_count(args[0].f_code, backend)) and _has_default("recompile_limit"):
                    # Dynamo counts the compilations of all backends together.
                    patches.enter_context(config.patch(recompile_limit=config.recompile_limit + count))
                return compile_frame(self, *args, skip=skip + 1, **kwargs)  # this function is one more stack frame
            finally:
                for name, value in outer.items():
                    setattr(frame, name, value)

    ConvertFrameAssert.__call__ = compile_frame_under_settings


_FIELDS = ("converter", "patches", "settings", "code", "frame", "frames", "key", "own", "graphs")


def failed_guard() -> str:
    """Returns the guard of the current frame's latest compilation that does not hold in it; empty if unknown."""
    settings = FRAME_SETTINGS
    entries = [] if settings.code is None else _debug_get_cache_entry_list(settings.code)
    if not entries or settings.converter is None:
        return ""
    latest = max(entries, key=lambda entry: entry.compile_id.frame_compile_id or 0)
    reasons = get_and_maybe_log_recompilation_reasons(
        [latest], settings.frame, settings.converter._torchdynamo_orig_backend, skip_logging=True
    )
    if not reasons:
        return ""
    text = reasons[0].partition(": ")[2].split("\n")[0]  # without the number of the compilation
    return " ".join(text.partition(" (HINT")[0].split())


def _look_in_cache() -> None:
    """Makes dynamo look for a frame in the cache before it traces it, and store it there afterwards."""
    compile_code, build_guards = convert_frame._compile, DynamoOutput.build_guards

    @functools.wraps(compile_code)
    def find_or_compile(*args: Any, skip: int = 0, **kwargs: Any) -> Any:
        given = _COMPILE.bind(*args, **kwargs).arguments
        code, entries, cache = given["code"], given["cache_entries"], FRAME_SETTINGS.frames
        if cache is None or code is not FRAME_SETTINGS.code or _is_watched(given["hooks"], len(entries)):
            FRAME_SETTINGS.key = None
        elif (key := cache.key(code, FRAME_SETTINGS.own)) is not None:
            FRAME_SETTINGS.key = key
            frame = Installed(code, given["locals"], given["globals"], given["compile_id"], entries)
            found = cache.loaded(key, FRAME_SETTINGS.own, frame)
            if found is not None:
                return found
        return compile_code(*args, skip=skip + 1, **kwargs)  # this function is one more stack frame

    @functools.wraps(build_guards)
    def build_guards_and_store(self: DynamoOutput, code: CodeType, *args: Any, **kwargs: Any) -> Any:
        checks = build_guards(self, code, *args, **kwargs)
        frame = FRAME_SETTINGS
        if (
            frame.frames is not None
            and frame.key is not None
            and len(frame.graphs) == 1
            and frame.graphs[0] is not None
        ):
            frame.frames.store(frame.key, self.tracer_output.output_graph, self.bytecode, frame.graphs[0])
        return checks

    convert_frame._compile = find_or_compile
    DynamoOutput.build_guards = build_guards_and_store  # type: ignore[method-assign]


def _forget_frames_with_constants() -> None:
    """Keeps a frame out of the cache if its trace holds what a function of the user returned while dynamo traced.

    Dynamo calls functions under ``torch.compiler.assume_constant_result``, and constant polyfills, and guards nothing
    that they read, so another process cannot tell whether they return the same there.
    """
    invoke, call = functions.invoke_and_store_as_constant, PolyfilledFunctionVariable.call_function

    @functools.wraps(invoke)
    def invoke_and_forget(tx: Any, fn: Callable[..., Any], *args: Any) -> Any:
        forget_unless_versioned(fn)
        return invoke(tx, fn, *args)

    @functools.wraps(call)
    def call_and_forget(self: PolyfilledFunctionVariable, *args: Any) -> Any:
        if self.can_constant_fold_through():
            forget_unless_versioned(self.fn)
        return call(self, *args)

    functions.invoke_and_store_as_constant = invoke_and_forget
    nn_module.invoke_and_store_as_constant = invoke_and_forget
    PolyfilledFunctionVariable.call_function = call_and_forget  # type: ignore[method-assign]


def forget_unless_versioned(function: Callable[..., Any]) -> None:
    """Keeps the current frame out of the cache if a function is neither PyTorch's, this package's nor Python's."""
    code = getattr(function, "__code__", None)
    if code is not None and not is_versioned(code.co_filename):
        FRAME_SETTINGS.key = None


_UNCHANGING = (FunctionType, BuiltinFunctionType, ModuleType, type)
"""Classes of what modules of the standard library define once."""


def _guard_values_of_the_standard_library() -> None:
    """Makes dynamo guard the variables that functions of Python's library read, such as the environment in ``getenv``.

    Dynamo guards no global of such a module. Functions, classes and modules do not change there; variables do.
    """
    find = InliningInstructionTranslator.get_globals_source_and_value

    @functools.wraps(find)
    def find_with_guards(self: InliningInstructionTranslator, name: str) -> Any:
        module, variable, source = find(self, name)
        if FRAME_SETTINGS.frames is not None and isinstance(source, SkipGuardSource):
            value = getattr(module, name, None)
            if not isinstance(value, _UNCHANGING) and getattr(value, "__dict__", True):
                source = source.base
        return module, variable, source

    InliningInstructionTranslator.get_globals_source_and_value = find_with_guards  # type: ignore[method-assign]


def _fix_sizes() -> None:
    """Makes dynamo trace a frame with the sizes that its tensors have, also where they differ from earlier ones.

    A program has fixed sizes. Dynamo would make a size that has changed a symbol, which takes it two to four times as
    long and is replaced by the number afterwards.
    """
    automatic_dynamic = builder._automatic_dynamic

    @functools.wraps(automatic_dynamic)
    def with_fixed_sizes(e: Any, tx: Any, source: Any, static_shapes: bool, *args: Any, **kwargs: Any) -> Any:
        are_fixed = static_shapes or (FRAME_SETTINGS.frames is not None and not keeps_dynamo_defaults())
        return automatic_dynamic(e, tx, source, are_fixed, *args, **kwargs)

    builder._automatic_dynamic = with_fixed_sizes


def _is_watched(hooks: Any, compilations: int) -> bool:
    """Returns whether somebody wants to see or limit what dynamo does."""
    watching = (hooks.guard_export_fn, hooks.guard_fail_fn, hooks.guard_filter_fn)
    limited = config.error_on_recompile or compilations >= config.recompile_limit
    return any(watching) or bool(convert_frame._bytecode_hooks) or (compilations > 0 and limited)


def _options(backend: Any) -> Mapping[str, Any]:
    """Returns mode and options that ``torch.compile`` received."""
    while backend is not None:
        if isinstance(kwargs := getattr(backend, "kwargs", None), Mapping):
            return dict(kwargs)
        backend = getattr(backend, "_torchdynamo_orig_backend", None) or getattr(backend, "compiler_fn", None)
    return {}


def _program_count(code: CodeType, backend: Callable[..., Any]) -> int:
    """Returns how often one backend has compiled a function."""
    return sum(_innermost(entry.backend) is backend for entry in _debug_get_cache_entry_list(code))


def _has_default(setting: str) -> bool:
    return getattr(config, setting) == config._config[setting].default


def _innermost(backend: Any) -> Any:
    """Returns the function inside the wrappers of ``torch.compile``."""
    while True:
        for name in ("_torchdynamo_orig_backend", "compiler_fn"):
            inner = getattr(backend, name, None)
            if inner is not None:
                backend = inner
                break
        else:
            return backend
