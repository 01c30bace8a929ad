"""Finished plans in the cache on disk: a later process calls the fused kernels that an earlier one made and compared.

A plan follows from the program, from how its tensors lie, and from the bits of this CPU's libraries. So the key of an
entry has all of these; whatever is different has the plan made and compared anew.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from tt_xla import disk_cache, environment
from tt_xla.runtime.binding import Linked
from tt_xla.runtime.emulator.fused.build import Build, machine
from tt_xla.runtime.emulator.fused.plan import Plan
from tt_xla.runtime.emulator.report import cpu_model

KIND = "plans"
"""Kind of the entries of the cache on disk."""


def machine_and_libraries() -> object:
    """Returns the cache key of bits that this CPU's libraries and compiled C++ compute.

    The number of threads is part of it: oneDNN's convolutions depend on it.
    """
    return (
        machine(),
        cpu_model(),
        platform.libc_ver(),
        environment.settings_of_libraries(),
        torch.backends.cpu.get_cpu_capability(),
        torch.backends.mkldnn.is_available(),
        torch.get_float32_matmul_precision(),
        torch.get_num_threads(),
    )


class Keys(NamedTuple):
    """Keys of the plans of a program, which have to be taken before the plans are finished.

    Attributes:
        program: key of the program's steps.
        recorded: key of the steps and of how tensors lie, under which finished plans are stored.
    """

    program: str
    recorded: str


def keys_of(plans: Mapping[str, Plan]) -> Keys:
    """Returns the keys of recorded plans, whose C++ functions have names that begin with the mapping's keys."""
    recorded = [(prefix, plan.recorded) for prefix, plan in plans.items()]
    return Keys(_key_of_steps(plans.values()), disk_cache.key_of([machine_and_libraries(), recorded]))


def load(key: str, plans: Mapping[str, Plan]) -> dict[str, Linked] | None:
    """Returns the functions with calls of fused kernels, by name; None where no earlier process made them."""
    cache = disk_cache.current()
    contents = None if cache is None else cache.get(KIND, key)
    if contents is None:
        return None
    entry = _Entry(**json.loads(contents))
    if not entry.plans:
        return {}
    build = Build.kept(entry.library)
    if build is None:
        return None
    linked: dict[str, Linked] = {}
    for (prefix, plan), finished in zip(plans.items(), entry.plans, strict=True):
        linked[plan.name] = plan.finished_before(finished, build, prefix)
    return linked


def store(keys: Keys, plans: Iterable[Plan], build: Build | None) -> None:
    """Stores plans that are finished; without a library none of them has a fused kernel."""
    cache = disk_cache.current()
    if cache is not None:
        entry = _Entry("", []) if build is None else _Entry(build.key, [plan.finished for plan in plans])
        cache.put(KIND, keys.recorded, json.dumps(vars(entry)).encode())
        cache.put(KIND, keys.program, b"")


def were_made(plans: Iterable[Plan]) -> bool:
    """Whether an earlier process stored plans of these functions, for tensors that lay in one way or another."""
    cache = disk_cache.current()
    return cache is not None and cache.get(KIND, _key_of_steps(plans)) is not None


def _key_of_steps(plans: Iterable[Plan]) -> str:
    steps = [(plan.name, [step.key for step in plan.steps]) for plan in plans]
    return disk_cache.key_of([machine_and_libraries(), steps])


@dataclass
class _Entry:
    """The contents of an entry."""

    library: str
    """Key of the library of fused kernels; empty where there are none."""
    plans: list[dict[str, Any]]
    """Contents of the plans, each from :attr:`Plan.finished`."""


__all__ = ["KIND", "Keys", "keys_of", "load", "machine_and_libraries", "store", "were_made"]
