"""``torch_xla``: the package itself, with compile options, devices and ``sync``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch

from tt_xla.environment import launched_process as _launched_process
from tt_xla.frontends.torch import register as _register
from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch import settings as _settings
from tt_xla.frontends.torch.device import analysis as _analysis
from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import metrics as _metrics
from tt_xla.frontends.torch.device import synchronize as _synchronize
from tt_xla.frontends.torch.device import xla_type as _xla_type
from tt_xla.frontends.torch.device.mode import Mode as _Mode
from tt_xla.frontends.torch.device.streams import wait as _wait
from tt_xla.frontends.torch.xla_api.closures import StepClosures as _StepClosures
from tt_xla.frontends.torch.xla_api.donor_op import register as _register_donor_op
from tt_xla.frontends.torch.xla_api.finder import attribute as _attribute
from tt_xla.frontends.torch.xla_api.process_groups import register as _register_process_groups

__version__ = "2.10.0"
"""The version of torch_xla whose API this is. Libraries compare it with the version that they need."""

_register()
_xla_type.register()
_Mode.follow_torch_xla()
_register_process_groups()
_register_donor_op()


def set_custom_compile_options(options: Mapping[str, Any]) -> None:
    """Sets the compile options of all models from now on. They replace the options set before.

    Raises:
        OptionError: a name is unknown or a value is bad.
    """
    _settings.set_compile_options(options)


def device(index: int | None = None) -> torch.device:
    """Returns the torch device of a chip; by default that of the current one.

    Raises:
        IndexError: the system has no such chip.
    """
    _enter_spmd_if_asked()
    if index is None:
        return _chips.device(_chips.current())
    try:
        return _chips.device(_chips.chip_of(_chips.device(index)))
    except RuntimeError as error:
        raise IndexError(str(error)) from None


def devices() -> list[torch.device]:
    """Returns all devices: one for each chip, or a single one in SPMD mode."""
    _enter_spmd_if_asked()
    return [_chips.device(chip) for chip in range(_chips.device_count())]


def _enter_spmd_if_asked() -> None:
    """Makes all chips act as one device if ``XLA_USE_SPMD`` says so, which a script may set after its imports."""
    import torch_xla.runtime

    torch_xla.runtime.is_spmd()


def device_count() -> int:
    """Returns the number of chips, also in SPMD mode, where ``devices`` has a single entry. Meshes take their size."""
    return _chips.chip_count()


def real_devices() -> list[str]:
    """Returns the names of all chips, also in SPMD mode."""
    return [f"TT:{chip}" for chip in range(_chips.chip_count())]


def sync(wait: bool = False, reset_scope: bool = True) -> None:
    """Runs the ops recorded so far as one program, and then the closures of ``xm.add_step_closure``.

    Args:
        wait: whether to wait until a card has computed the results; the emulated card always has.
        reset_scope: whether the step ends here for the profiler, too, none of whose ranges may be open then.

    Raises:
        CompileError, ExecutionError, ResourceExhaustedError: an op cannot be compiled, or the program cannot run.
        RuntimeError: a range of the profiler is open.
    """
    if reset_scope:
        _session.current.mode.reset_scope()
    _metrics.count(_metrics.STEPS)
    with _session.current.mode.running_because(_analysis.USER_SYNC):
        _synchronize(ends_step=True)
    if wait:
        _wait()
    _session.current.part(_StepClosures).run()


def manual_seed(seed: int, device: torch.device | str | None = None) -> None:
    """Seeds the generator of one device; by default those of all devices and of the CPU."""
    if device is None:
        torch.manual_seed(seed)
    else:
        _chips.generator(_chips.chip_of(_chips.own(torch.device(device)))).manual_seed(seed)


def step() -> contextlib.AbstractContextManager[None]:
    """Context manager that runs all recorded ops before and after a block. It also decorates functions."""
    return _step(full_graph=False, limit=None, structures=set(), name="")


class _Structures(WeakKeyDictionary[Callable[..., Any], set[tuple[int, ...]]]):
    """Structures of the session's programs of each function that :func:`compile` took."""


def compile(
    f: Callable[..., Any] | None = None,
    full_graph: bool | None = False,
    name: str | None = None,
    max_different_graphs: int | None = None,
    custom_compile_options: Mapping[str, Any] | None = None,
    num_different_graphs_allowed: int | None = None,
) -> Any:
    """Makes the ops of each call of a function one program, also in eager mode.

    Args:
        f: the function or module; None for a context manager that does the same for a block, and that also decorates
            functions.
        full_graph: whether it is an error to read a result within the function, which would make two programs of it.
        name: name of the program in reports of ``PT_XLA_DEBUG``; that of the function by default.
        max_different_graphs: number of different programs that calls of the function may make.
        custom_compile_options: compile options of the process from now on, as :func:`set_custom_compile_options` takes
            them; None leaves them as they are.
        num_different_graphs_allowed: older name of ``max_different_graphs``.

    Returns:
        The function that runs ``f`` so, or the context manager.

    Raises:
        OptionError: a compile option is unknown or has a bad value.
    """
    if custom_compile_options is not None:
        set_custom_compile_options(custom_compile_options)
    limit = num_different_graphs_allowed if max_different_graphs is None else max_different_graphs
    structures = set[tuple[int, ...]]() if f is None else _session.current.part(_Structures).setdefault(f, set())
    name = getattr(f, "__name__", type(f).__name__) if name is None and f is not None else name or ""
    region = functools.partial(_step, full_graph=bool(full_graph), limit=limit, structures=structures, name=name)
    return region() if f is None else region()(f)


@contextlib.contextmanager
def _step(*, full_graph: bool, limit: int | None, structures: set[tuple[int, ...]], name: str) -> Iterator[None]:
    """Makes a block one program.

    Raises:
        RuntimeError: the block, or earlier ones, made more than ``limit`` programs together, or it reads a result
            though it is to be a full graph.
    """
    mode = _session.current.mode
    before = mode.eager, mode.may_run, mode.structures
    mode.eager = False
    with mode.running_because(_analysis.BEFORE_COMPILE, f"{name}_clear_pending" if name else ""):
        sync(reset_scope=False)
    mode.may_run = not full_graph
    mode.structures = structures if limit is not None else before[2]
    try:
        yield
    finally:
        mode.may_run = before[1]
        try:
            with mode.running_because(_analysis.COMPILE, name):
                sync(reset_scope=False)
        finally:
            mode.eager, _, mode.structures = before
    if limit is not None and len(structures) > limit:
        raise RuntimeError(
            f"The function made {len(structures)} different programs, and max_different_graphs is {limit}. Inputs of "
            "other shapes or types, and other branches, make other programs: give it inputs of few shapes, or raise "
            "the limit."
        )


_OF_SUBMODULES = dict.fromkeys(("save_as_stablehlo", "save_torch_model_as_stablehlo"), "stablehlo")


def __getattr__(name: str) -> Any:
    if name in _OF_SUBMODULES:
        return getattr(_attribute(__name__, _OF_SUBMODULES[name]), name)
    return _attribute(__name__, "core.xla_model" if name == "xm" else name)


def launch(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), start_method: str = "spawn", debug_single_process: bool = False
) -> None:
    """Calls ``fn(index, *args)`` for each device, as ``xmp.spawn`` does. A process of torchrun calls it for its own.

    Args:
        fn: the function.
        args: its further arguments.
        start_method: changes nothing: the devices belong to one process.
        debug_single_process: whether to call it for the first device alone.
    """
    import torch_xla.distributed.xla_multiprocessing as xmp

    process = _launched_process()
    if process is not None and process.size > 1:
        fn(process.local_rank, *args)
        return
    xmp.spawn(fn, args, nprocs=1 if debug_single_process else None, start_method=start_method)
