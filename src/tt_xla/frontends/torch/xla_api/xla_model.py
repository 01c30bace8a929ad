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
    """The ``tt`` device, the only one this package has."""
    return torch_xla.device(n)


def get_xla_supported_devices(devkind: str | None = None) -> list[str]:
    return ["tt:0"] if devkind in (None, "TT") else []


def xla_device_hw(device: torch.device | str) -> str:
    return str(torch.device(device).type).upper()


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    torch_xla.sync(wait, reset_scope)


def wait_device_ops(devices: list[str] | None = None) -> None:
    """Waits for programs that run; here they are complete when ``sync`` returns. What is recorded stays so."""


def optimizer_step(
    optimizer: torch.optim.Optimizer, barrier: bool = False, optimizer_args: dict[str, Any] | None = None
) -> Any:
    """One step; with one device there are no gradients to bring together. ``barrier`` runs what is pending."""
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return loss


def reduce_gradients(optimizer: torch.optim.Optimizer, groups: Any = None, pin_layout: bool = True) -> None:
    """With one device there are no gradients to bring together."""


REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR, REDUCE_MIN, REDUCE_MAX = "sum", "mul", "and", "or", "min", "max"


def all_reduce(
    reduce_type: str,
    inputs: torch.Tensor | list[torch.Tensor],
    scale: float = 1.0,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> Any:
    """Over one device: the tensor itself, scaled; a list is scaled in place.

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
    """Over one device: a copy.

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
    """Over one device: the tensor, scaled.

    Raises:
        ValueError: more than one shard is asked for, or groups name another device.
    """
    _check_groups(groups)
    if shard_count != 1:
        raise ValueError(f"reduce_scatter(shard_count={shard_count}): there is one device.")
    return input * scale if output is None else output.copy_(input * scale)


def _check_groups(groups: list[list[int]] | None) -> None:
    if groups not in (None, [], [[0]]):
        raise ValueError(f"Groups {groups} name devices that are not there; the only one is 0.")


def mesh_reduce(tag: str, data: Any, reduce_fn: Callable[[list[Any]], Any]) -> Any:
    return reduce_fn([data])


def rendezvous(tag: str, payload: bytes = b"", replicas: list[int] | None = None) -> list[bytes]:
    """There is no one to wait for."""
    return [payload]


def broadcast_master_param(model: torch.nn.Module) -> None:
    """There is no one to send parameters to."""


def add_step_closure(closure: Callable[..., Any], args: tuple[Any, ...] = (), run_async: bool = False) -> None:
    """Runs what is pending, then the closure."""
    mark_step()
    closure(*args)


def get_num_cached_compilation_graph() -> int:
    """Programs that were compiled and are kept."""
    from tt_xla.frontends.torch.backend import compiled_programs

    return len(compiled_programs())


def get_memory_info(device: torch.device | str | None = None) -> dict[str, int]:
    """DRAM in bytes, under the real one's names."""
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
    """Saves with all tensors on the CPU."""
    torch.save(_tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), data), file_or_path)


def master_print(*args: Any, **options: Any) -> None:
    print(*args, **options)


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
