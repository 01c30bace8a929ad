"""The function of dynamo that the frontend replaces, for frames that ``tt`` compiles and for no others.

It gives those frames settings of their own, and looks for them in a cache before dynamo traces them.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from types import CodeType
from typing import Any, NamedTuple, Protocol

from tt_xla.collector import collector_paused
from tt_xla.errors import TTXLAError
from tt_xla.frontends.torch.private.names import names_of
from tt_xla.stage_times import TRACING, stage

with names_of("dynamo_patches"):
    from torch._dynamo import config, convert_frame
    from torch._dynamo.symbolic_convert import InstructionTranslator

    _compile_frame = convert_frame._compile

_COMPILE = signature(_compile_frame)

REPLACED = ((convert_frame, "_compile"),)
"""Owner and name of each attribute that :func:`install` replaces."""

IS_CACHED = {"globals", "locals", "hooks", "cache_entries", "compile_id"} <= _COMPILE.parameters.keys()
"""Whether this version of PyTorch lets frames be found in a cache."""

Settings = Callable[[], Mapping[str, object]]
"""Returns values by name of a setting of ``torch._dynamo.config``."""

_NEW_SIZE = re.compile(r"size mismatch at index \d+\. expected \d+, actual (\d+)")

_MARK = "_tt_compiles_frames"
"""Attribute that marks what dynamo keeps for all frames of one call of ``torch.compile``, if its backend, such as a
wrapper of ``tt``, called :meth:`Compilation.apply`."""


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

    def unguarded(self, output: Any) -> Any:
        """Returns what a trace holds without a guard, while its graph is compiled; None if it cannot be stored."""
        ...

    def described(self, output: Any, unguarded: Any) -> Any:
        """Returns a description of a trace whose guards are made; None if it cannot be stored."""
        ...

    def store(self, key: str, described: Any, bytecode: CodeType, executor: Any) -> None:
        """Stores a frame with one graph."""
        ...


@dataclass
class Compilation:
    """A frame that dynamo compiles, and its settings, which end with it.

    Dynamo reads ``recompile_limit`` before, and ``record_runtime_overhead`` after, it calls a backend, so a backend
    itself cannot set them for its frames alone. Settings of ``torch._dynamo.config`` belong to a thread, and dynamo
    holds a lock while it compiles a frame, so nothing else sees them.

    Attributes:
        given: arguments of dynamo's compiler of frames, by name.
        settings: returns the settings.
        patches: the settings that hold now.
        own: mode and options of ``torch.compile``.
        cache: the cache of frames, in a frame that ``tt`` compiles.
        key: the frame's key there; None if it is not stored.
        graphs: the graphs of the frame as dynamo calls them; None for one that needs AOTAutograd's wrappers.
        described: description of the trace, once its guards are made.
    """

    given: Mapping[str, Any]
    settings: Settings
    patches: contextlib.ExitStack
    own: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cache: Frames | None = None
    key: str | None = None
    graphs: list[Any] = field(default_factory=list[Any])
    described: Any = None
    _output: Any = None
    _unguarded: Any = None

    @property
    def code(self) -> CodeType:
        """The code of the function whose frame is compiled."""
        return self.given["code"]

    @property
    def entries(self) -> Sequence[Any]:
        """The compilations of the function so far, for all backends."""
        return self.given.get("cache_entries", ())

    def apply(self) -> None:
        """Applies the settings. A setting that no longer has PyTorch's default stays."""
        box = self.given.get("convert_frame_box")
        if box is not None:
            setattr(box, _MARK, True)
        changes = {name: value for name, value in self.settings().items() if _has_default(name)}
        if changes:
            self.patches.enter_context(config.patch(changes))

    def add_graph(self, graph: Any) -> None:
        """Adds a graph that a backend has compiled, and notes what the trace holds, which dynamo drops afterwards."""
        self.graphs.append(graph)
        if self.cache is not None and self.key is not None and graph is not None:
            self._output = InstructionTranslator.current_tx().output
            self._unguarded = self.cache.unguarded(self._output)

    def describe(self, guards: Any) -> None:
        """Describes the trace. Dynamo calls this once the guards are made, and drops them afterwards."""
        if self.cache is not None and len(self.graphs) == 1 and self._unguarded is not None:
            self.described = self.cache.described(self._output, self._unguarded)

    @property
    def has_new_sizes(self) -> bool:
        """Whether the frame was compiled for other sizes before, so that dynamo now makes them symbols.

        Sizes 0 and 1 stay numbers.
        """
        match = _NEW_SIZE.search(self.failed_guard()) if self.entries else None
        return match is not None and int(match[1]) > 1

    def failed_guard(self) -> str:
        """Returns the guard of the latest compilation that does not hold in this frame; empty if unknown."""
        latest = max(self.entries, key=lambda entry: entry.compile_id.frame_compile_id or 0, default=None)
        parts = [] if latest is None else latest.guard_manager.check_verbose(self.given["locals"]).verbose_code_parts
        if len(parts) != 1:
            return ""
        text = " ".join(parts[0].split("\n")[0].partition(" (HINT")[0].split())
        return re.sub(r"L\['(\w+)'\]", r"\1", text)  # a local as the user wrote it


class _Current(threading.local):
    compilation: Compilation | None = None


_CURRENT = _Current()


def current_compilation() -> Compilation | None:
    """Returns the frame that dynamo compiles in this thread; None if it compiles none."""
    return _CURRENT.compilation


def install(backend: Callable[..., Any], settings: Settings, frames: Frames | None) -> None:
    """Makes dynamo compile frames for one backend under settings of its own.

    Args:
        backend: the function that dynamo calls with a graph. Frames compiled for other backends keep the settings that
            they have, unless that backend calls :meth:`Compilation.apply`.
        settings: returns the settings.
        frames: finds frames that were traced before; None if nothing does.
    """
    compile_frame = convert_frame._compile

    @functools.wraps(compile_frame)
    def compile_under_settings(*args: Any, skip: int = 0, **kwargs: Any) -> Any:
        given = _COMPILE.bind(*args, **kwargs).arguments
        outer = _CURRENT.compilation
        with contextlib.ExitStack() as patches:
            _CURRENT.compilation = compilation = Compilation(given, settings, patches)
            try:
                ours = _innermost(given["compiler_fn"]) is backend
                if ours or hasattr(given.get("convert_frame_box"), _MARK):
                    compilation.apply()
                    patches.enter_context(stage(TRACING))
                    patches.enter_context(collector_paused())
                elif (count := _program_count(compilation.entries, backend)) and _has_default("recompile_limit"):
                    # Dynamo counts the compilations of all backends together.
                    patches.enter_context(config.patch(recompile_limit=config.recompile_limit + count))
                if ours:
                    compilation.own = _options(given["compiler_fn"])
                    compilation.cache = frames if IS_CACHED and not _is_watched(compilation) else None
                return _find_or_compile(compilation, functools.partial(compile_frame, skip=skip + 2))
            except Exception as error:
                inner = getattr(error, "inner_exception", None)
                if isinstance(inner, TTXLAError):  # in dynamo's BackendCompilerFailed
                    raise inner from None
                raise
            finally:
                _CURRENT.compilation = outer

    convert_frame._compile = compile_under_settings


def _find_or_compile(compilation: Compilation, compile_frame: Callable[..., Any]) -> Any:
    """Returns dynamo's result for a frame from the cache, or has dynamo make it and stores it there."""
    given, cache = compilation.given, compilation.cache
    if cache is None:
        return compile_frame(**given)
    compilation.key = None if compilation.has_new_sizes else cache.key(compilation.code, compilation.own)
    if compilation.key is None:
        return compile_frame(**given)
    frame = Installed(*(given[name] for name in ("code", "locals", "globals", "compile_id", "cache_entries")))
    found = cache.loaded(compilation.key, compilation.own, frame)
    if found is not None:
        return found
    made = compile_frame(**{**given, "hooks": replace(given["hooks"], guard_export_fn=compilation.describe)})
    if compilation.described is not None:
        cache.store(compilation.key, compilation.described, made.guarded_code.code, compilation.graphs[0])
    return made


def _is_watched(compilation: Compilation) -> bool:
    """Returns whether somebody wants to see or limit what dynamo does."""
    given, compilations = compilation.given, len(compilation.entries)
    hooks = given["hooks"]
    watching = (hooks.guard_export_fn, hooks.guard_fail_fn, hooks.guard_filter_fn)
    limited = config.error_on_recompile or compilations >= config.recompile_limit
    is_exported = given.get("export") or given.get("package") is not None
    return any(watching) or is_exported or bool(convert_frame._bytecode_hooks) or (compilations > 0 and limited)


def _options(backend: Any) -> Mapping[str, Any]:
    """Returns mode and options that ``torch.compile`` received."""
    while backend is not None:
        if isinstance(kwargs := getattr(backend, "kwargs", None), Mapping):
            return dict(kwargs)
        backend = getattr(backend, "_torchdynamo_orig_backend", None) or getattr(backend, "compiler_fn", None)
    return {}


def _program_count(entries: Sequence[Any], backend: Callable[..., Any]) -> int:
    """Returns how many compilations of a function are those of one backend."""
    return sum(_innermost(entry.backend) is backend for entry in entries)


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


__all__ = ["Compilation", "Frames", "Installed", "current_compilation", "install"]
