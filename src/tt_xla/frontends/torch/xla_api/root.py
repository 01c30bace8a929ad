"""``torch_xla``: compile options, devices, sync."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from tt_xla import __version__ as __version__
from tt_xla.frontends.torch import register as _register
from tt_xla.frontends.torch import settings as _settings
from tt_xla.frontends.torch.device import synchronize as _synchronize
from tt_xla.frontends.torch.xla_api import finder as _finder

_register()


def set_custom_compile_options(options: Mapping[str, Any]) -> None:
    """Compile options of all models from here on; they replace those given before.

    Raises:
        OptionError: a name is unknown or a value is bad.
    """
    _settings.set_compile_options(options)


def device(index: int | None = None) -> torch.device:
    """The device that models and inputs go to."""
    if index not in (None, 0):
        raise ValueError(f"torch_xla.device({index}): there is one torch device, of index 0.")
    return torch.device("tt", 0)


def devices() -> list[torch.device]:
    return [device()]


def device_count() -> int:
    return 1


def real_devices() -> list[str]:
    return ["TT:0"]


def sync(wait: bool = False, reset_scope: bool = True) -> None:
    """Runs the ops recorded so far as one program; results are complete when this returns.

    Raises:
        CompileError, ExecutionError, ResourceExhaustedError: an op cannot be compiled, or the program cannot run.
    """
    _synchronize()


def manual_seed(seed: int, device: torch.device | str | None = None) -> None:
    torch.manual_seed(seed)


@contextlib.contextmanager
def step() -> Iterator[None]:
    """What is pending is run before and after the block."""
    sync()
    try:
        yield
    finally:
        sync()


def compile(
    f: Callable[..., Any] | None = None,
    full_graph: bool | None = False,
    name: str | None = None,
    num_different_graphs_allowed: int | None = None,
) -> Any:
    """``f`` compiled for the device; without a function, the context manager :func:`step`.

    Raises:
        NotImplementedError: a limit of graphs is asked for.
    """
    if num_different_graphs_allowed is not None:
        raise NotImplementedError("torch_xla.compile(num_different_graphs_allowed=...) is not there yet; leave it out.")
    if f is None:
        return step()
    return torch.compile(f, backend="tt", fullgraph=bool(full_graph))


def launch(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), start_method: str = "spawn", debug_single_process: bool = False
) -> None:
    """Calls ``fn(0, *args)``: one process drives the one device."""
    fn(0, *args)


def __getattr__(name: str) -> Any:
    return _finder.attribute(__name__, name)
