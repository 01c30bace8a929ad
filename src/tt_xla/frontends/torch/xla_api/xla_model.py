"""``torch_xla.core.xla_model``, which scripts import as ``xm``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch_xla

from tt_xla.frontends.torch.private.functions import tree_map_only as _tree_map_only
from tt_xla.frontends.torch.xla_api import finder as _finder


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """Returns the device ``tt``, the only one of this package."""
    return torch_xla.device(n)


def get_xla_supported_devices(devkind: str | None = None) -> list[str]:
    return ["tt:0"] if devkind in (None, "TT") else []


def xla_device_hw(device: torch.device | str) -> str:
    return str(torch.device(device).type).upper()


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    torch_xla.sync(wait, reset_scope)


def wait_device_ops(devices: list[str] | None = None) -> None:
    """Waits for running programs: does nothing, because programs have finished when ``sync`` returns."""


def optimizer_step(
    optimizer: torch.optim.Optimizer, barrier: bool = False, optimizer_args: dict[str, Any] | None = None
) -> Any:
    """Steps the optimizer. With one device there are no gradients to reduce. ``barrier`` runs all recorded ops."""
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return loss


def reduce_gradients(optimizer: torch.optim.Optimizer, groups: Any = None, pin_layout: bool = True) -> None:
    """Does nothing: with one device there are no gradients to reduce."""


REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR, REDUCE_MIN, REDUCE_MAX = "sum", "mul", "and", "or", "min", "max"


def all_reduce(
    reduce_type: str,
    inputs: torch.Tensor | list[torch.Tensor],
    scale: float = 1.0,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> Any:
    """Reduces over one device: returns the tensor, scaled. A list of tensors is scaled in place.

    Raises:
        ValueError: groups name another device.
    """
    _check_groups(groups)
    if isinstance(inputs, torch.Tensor):
        return inputs * scale
    for tensor in inputs:
        if scale != 1.0:
            tensor.mul_(scale)
    return None


def all_gather(
    value: torch.Tensor,
    dim: int = 0,
    groups: list[list[int]] | None = None,
    output: torch.Tensor | None = None,
    pin_layout: bool = True,
) -> torch.Tensor:
    """Gathers over one device: returns a copy.

    Raises:
        ValueError: groups name another device.
    """
    _check_groups(groups)
    return value.clone() if output is None else output.copy_(value)


def reduce_scatter(
    reduce_type: str,
    input: torch.Tensor,
    scale: float,
    scatter_dim: int,
    shard_count: int,
    groups: list[list[int]] | None = None,
    output: torch.Tensor | None = None,
    pin_layout: bool = True,
) -> torch.Tensor:
    """Reduces and scatters over one device: returns the tensor, scaled.

    Raises:
        ValueError: ``shard_count`` is not 1, or groups name another device.
    """
    _check_groups(groups)
    if shard_count != 1:
        raise ValueError(f"reduce_scatter(shard_count={shard_count}): there is one device.")
    return input * scale if output is None else output.copy_(input * scale)


def _check_groups(groups: list[list[int]] | None) -> None:
    if groups not in (None, [], [[0]]):
        raise ValueError(f"Groups {groups} name devices that do not exist. The only device is 0.")


def mesh_reduce(tag: str, data: Any, reduce_fn: Callable[[list[Any]], Any]) -> Any:
    return reduce_fn([data])


def rendezvous(tag: str, payload: bytes = b"", replicas: list[int] | None = None) -> list[bytes]:
    """Returns at once: there is no other process to wait for."""
    return [payload]


def broadcast_master_param(model: torch.nn.Module) -> None:
    """Does nothing: there is no other process to send parameters to."""


def add_step_closure(closure: Callable[..., Any], args: tuple[Any, ...] = (), run_async: bool = False) -> None:
    """Runs all recorded ops, then the closure."""
    mark_step()
    closure(*args)


def get_num_cached_compilation_graph() -> int:
    """Returns the number of compiled programs that are kept."""
    from tt_xla.frontends.torch.backend import compiled_programs

    return len(compiled_programs())


def get_memory_info(device: torch.device | str | None = None) -> dict[str, int]:
    """Returns the use of DRAM in bytes, under the names of the real package."""
    from tt_xla.runtime import get_device

    report = get_device().memory()
    used = report.resident
    return {"bytes_used": used, "bytes_limit": report.usable, "peak_bytes_used": used + report.program_peak}


def get_rng_state(device: str | None = None) -> int:
    return torch.initial_seed()


def get_ordinal() -> int:
    return 0


def is_master_ordinal(local: bool = True) -> bool:
    return True


def xrt_world_size() -> int:
    return 1


def set_rng_state(seed: int, device: str | None = None) -> None:
    torch.manual_seed(seed)


def save(
    data: Any, file_or_path: str | os.PathLike[str], master_only: bool = True, global_master: bool = False
) -> None:
    """Saves data with all its tensors on the CPU."""
    torch.save(_tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), data), file_or_path)


def master_print(*args: Any, **options: Any) -> None:
    print(*args, **options)


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
