"""``ttnn.CONFIG``: TT-NN's settings, and functions that are called before and after each operation."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, cast

from tt_xla.environment import variable
from tt_xla.ttnn_api.errors import TTFatal

__all__ = [
    "CONFIG",
    "load_config_from_dictionary",
    "load_config_from_json_file",
    "manage_config",
    "register_post_operation_hook",
    "register_pre_operation_hook",
    "save_config_to_json_file",
]

_DEFAULTS: dict[str, Any] = {
    "cache_path": "~/.cache/ttnn",
    "model_cache_path": "~/.cache/ttnn/models",
    "tmp_dir": "/tmp/ttnn",
    "enable_model_cache": False,
    "enable_fast_runtime_mode": True,
    "validate_program_args": False,
    "throw_exception_on_fallback": False,
    "enable_logging": False,
    "enable_graph_report": False,
    "enable_graph_python_stack_traces": False,
    "enable_detailed_buffer_report": False,
    "enable_detailed_tensor_report": False,
    "enable_comparison_mode": False,
    "comparison_mode_should_raise_exception": False,
    "comparison_mode_pcc": 0.9999,
    "root_report_path": "generated/ttnn/reports",
    "report_name": None,
    "strict_ccl_topology": False,
}
_PATHS = ("cache_path", "model_cache_path", "tmp_dir", "root_report_path", "report_name")


class Config:
    """TT-NN's settings. They hold values; none of them changes how the emulated card computes."""

    def __init__(self) -> None:
        for name, value in _DEFAULTS.items():
            setattr(self, name, value)

    def keys(self) -> list[str]:
        """Returns the names of all settings."""
        return list(_DEFAULTS)

    @property
    def report_path(self) -> Path | None:
        """Folder of the report that ``report_name`` names; None without a name."""
        name = self.__dict__["report_name"]
        return None if name is None else self.__dict__["root_report_path"] / str(name).replace(" ", "_")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            known = ", ".join(_DEFAULTS)
            raise TTFatal(f"Invalid configuration key {name!r}", hint=f"TT-NN has {known}.")
        if name in _PATHS and value is not None:
            value = Path(value).expanduser()
        elif isinstance(_DEFAULTS[name], bool) and not isinstance(value, bool):
            raise TypeError(f"ttnn.CONFIG.{name} is a bool, got {value!r}")
        self.__dict__[name] = value

    def values(self) -> dict[str, Any]:
        """Returns the settings as JSON has them."""
        return {name: str(value) if isinstance(value, Path) else value for name, value in self.__dict__.items()}

    def __repr__(self) -> str:
        return f"Config{{{','.join(f'{name}={value}' for name, value in self.values().items())}}}"


CONFIG = Config()


def load_config_from_dictionary(config: dict[str, Any], from_file: bool = False, source: Any = None) -> None:
    """Sets the settings that a dictionary names."""
    for name, value in config.items():
        setattr(CONFIG, name, value)


def load_config_from_json_file(json_path: str | Path) -> None:
    """Sets the settings that a file names."""
    load_config_from_dictionary(json.loads(Path(json_path).read_text()))


def save_config_to_json_file(json_path: str | Path) -> None:
    """Writes all settings into a file."""
    Path(json_path).write_text(json.dumps(CONFIG.values(), indent=4))


def _load_from_environment() -> None:
    """Sets what ``TTNN_CONFIG_PATH`` and ``TTNN_CONFIG_OVERRIDES`` name, as TT-NN does when it is imported."""
    for name in ("TTNN_CONFIG_PATH", "TTNN_CONFIG_OVERRIDES"):
        value = variable(name)
        if not value:
            continue
        try:
            settings = json.loads(Path(value).expanduser().read_text() if name == "TTNN_CONFIG_PATH" else value)
        except (OSError, ValueError) as error:
            raise TTFatal(
                f"{name} holds no settings as JSON: {error}",
                hint=f'Got {value!r}; expected such as {{"enable_fast_runtime_mode": false}}.',
            ) from error
        if not isinstance(settings, dict):
            raise TTFatal(f"{name} holds no JSON object of settings", hint=f"Got {value!r}.")
        load_config_from_dictionary(cast("dict[str, Any]", settings))


_load_from_environment()


@contextlib.contextmanager
def manage_config(name: str, value: Any) -> Generator[None]:
    """Gives a setting another value for the body of the context."""
    before = getattr(CONFIG, name)
    setattr(CONFIG, name, value)
    try:
        yield
    finally:
        setattr(CONFIG, name, before)


PreHook = Callable[[Any, Sequence[Any], dict[str, Any]], Any]
PostHook = Callable[[Any, Sequence[Any], dict[str, Any], Any], Any]

PRE_HOOKS: list[PreHook] = []
"""Functions that take an operation, its arguments and keywords, before it is executed."""

POST_HOOKS: list[PostHook] = []
"""Functions that also take the output, after it was executed."""


@contextlib.contextmanager
def _registered(hooks: list[Any], hook: Callable[..., Any]) -> Generator[None]:
    hooks.append(hook)
    try:
        yield
    finally:
        hooks.remove(hook)


def register_pre_operation_hook(hook: PreHook) -> contextlib.AbstractContextManager[None]:
    """Calls a function before each operation for the body of the context."""
    return _registered(PRE_HOOKS, hook)


def register_post_operation_hook(hook: PostHook) -> contextlib.AbstractContextManager[None]:
    """Calls a function after each operation for the body of the context."""
    return _registered(POST_HOOKS, hook)
