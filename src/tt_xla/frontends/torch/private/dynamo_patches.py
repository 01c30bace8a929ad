"""The function of dynamo that the frontend replaces: settings for frames that ``tt`` compiles, and for no others."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from torch._dynamo import config
from torch._dynamo.convert_frame import ConvertFrameAssert
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

REPLACED = ((ConvertFrameAssert, "__call__"),)
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


def install(backend: Callable[..., Any], settings: Settings) -> None:
    """Makes dynamo compile frames for one backend under settings of its own.

    Args:
        backend: the function that dynamo calls with a graph. Frames compiled for other backends keep the settings that
            they have, unless that backend calls :meth:`FrameSettings.apply`.
        settings: returns the settings.
    """
    compile_frame = ConvertFrameAssert.__call__

    @functools.wraps(compile_frame)
    def compile_frame_under_settings(self: ConvertFrameAssert, *args: Any, skip: int = 0, **kwargs: Any) -> Any:
        frame = FRAME_SETTINGS
        outer = frame.converter, frame.patches, frame.settings, frame.code
        with contextlib.ExitStack() as patches:
            frame.converter, frame.patches, frame.settings, frame.code = self, patches, settings, args[0].f_code
            try:
                if hasattr(self, _MARK) or _innermost(self._torchdynamo_orig_backend) is backend:
                    frame.apply()
                elif (count := _program_count(args[0].f_code, backend)) and _has_default("recompile_limit"):
                    # Dynamo counts the compilations of all backends together.
                    patches.enter_context(config.patch(recompile_limit=config.recompile_limit + count))
                return compile_frame(self, *args, skip=skip + 1, **kwargs)  # this function is one more stack frame
            finally:
                frame.converter, frame.patches, frame.settings, frame.code = outer

    ConvertFrameAssert.__call__ = compile_frame_under_settings


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
