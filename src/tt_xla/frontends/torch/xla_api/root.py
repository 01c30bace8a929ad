"""``torch_xla``: the package itself, with compile options, devices and ``sync``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from tt_xla import __version__ as __version__
from tt_xla.frontends.torch import register as _register
from tt_xla.frontends.torch import settings as _settings
from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import synchronize as _synchronize
from tt_xla.frontends.torch.device import xla_type as _xla_type
from tt_xla.frontends.torch.xla_api import finder as _finder

_register()
_xla_type.register()


def set_custom_compile_options(options: Mapping[str, Any]) -> None:
    """Sets the compile options of all models from now on. They replace the options set before.

    Raises:
        OptionError: a name is unknown or a value is bad.
    """
    _settings.set_compile_options(options)


def device(index: int | None = None) -> torch.device:
    """Returns the torch device of a chip; by default that of the current one.

    Raises:
        RuntimeError: the system has no such chip.
    """
    return _chips.device(_chips.current() if index is None else _chips.chip_of(_chips.device(index)))


def devices() -> list[torch.device]:
    """Returns all devices: one for each chip, or a single one in SPMD mode."""
    return [_chips.device(chip) for chip in range(_chips.device_count())]


def device_count() -> int:
    """Returns the number of chips, also in SPMD mode, where ``devices`` has a single entry. Meshes take their size."""
    return _chips.chip_count()


def real_devices() -> list[str]:
    """Returns the names of all chips, also in SPMD mode."""
    return [f"TT:{chip}" for chip in range(_chips.chip_count())]


def sync(wait: bool = False, reset_scope: bool = True) -> None:
    """Runs the ops recorded so far as one program. The results have been computed when this returns.

    Raises:
        CompileError, ExecutionError, ResourceExhaustedError: an op cannot be compiled, or the program cannot run.
    """
    _synchronize()


def manual_seed(seed: int, device: torch.device | str | None = None) -> None:
    """Seeds the generator of one device; by default those of all devices and of the CPU."""
    if device is None:
        torch.manual_seed(seed)
    else:
        _chips.generator(_chips.chip_of(torch.device(device))).manual_seed(seed)


@contextlib.contextmanager
def step() -> Iterator[None]:
    """Context manager that runs all recorded ops before and after a block."""
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
    """Returns ``f`` compiled for the device, or the context manager :func:`step` when there is no function.

    Args:
        f: the function.
        full_graph: whether a graph break is an error.
        name: ignored.
        num_different_graphs_allowed: limit of compilations; not supported.

    Raises:
        NotImplementedError: ``num_different_graphs_allowed`` is given.
    """
    if num_different_graphs_allowed is not None:
        raise NotImplementedError("torch_xla.compile(num_different_graphs_allowed=...) is not supported. Leave it out.")
    if f is None:
        return step()
    return torch.compile(f, backend="tt", fullgraph=bool(full_graph))


def launch(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), start_method: str = "spawn", debug_single_process: bool = False
) -> None:
    """Calls ``fn(0, *args)`` in this process, which drives the one device."""
    fn(0, *args)


def __getattr__(name: str) -> Any:
    return _finder.attribute(__name__, name)
