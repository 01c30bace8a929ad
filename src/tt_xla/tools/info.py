"""Implements ``tt-xla info``. Versions come from package metadata, so no heavy library is imported."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tt_xla import __version__
from tt_xla.environment import (
    ENVIRONMENT,
    disk_cache_directory,
    log_directory,
    selected_system,
    variable,
    variables_in_force,
)
from tt_xla.target import Target, load_target, system_names

_PACKAGES = ("torch", "jax", "jaxlib", "xdsl", "numpy")
_MIB = 1 << 20


def lines() -> Iterator[str]:
    """Yields the lines of the command's output."""
    yield "Versions"
    yield f"  {'tt-xla':<10} {__version__}"
    yield f"  {'python':<10} {platform.python_version()}"
    for package in _PACKAGES:
        yield f"  {package:<10} {_version(package)}"

    selected = selected_system()
    selected_name = load_target(selected).name  # raises for an unknown system
    yield "Systems (* selected)"
    for name in dict.fromkeys((*system_names(), selected_name)):
        target = load_target(name)
        rows, columns = target.grid
        yield (
            f"{'* ' if name == selected_name else '  '}{name:<12} {target.chips} x {target.arch}, "
            f"grid {rows}x{columns}, "
            f"L1 {target.l1_usable_bytes / _MIB:.2f} MiB a core, "
            f"DRAM {target.dram_usable_bytes / (_MIB << 10):.1f} GiB a chip, {target.clock_hz / 1e9:.2f} GHz"
        )
        if target.chips > 1:
            yield f"  {'':<12} {links_text(target)}"
    cards = sorted(path.name for path in Path("/dev/tenstorrent").glob("*"))
    yield f"Cards in this machine: {', '.join(cards) if cards else 'none'}"

    yield "Folders"
    yield f"  {'cache':<10} {disk_cache_directory() or 'off'}"
    yield f"  {'logs':<10} {variable('TTXLA_LOGGER_FILE') or log_directory()}"

    yield "Environment variables in force"
    in_force = variables_in_force()
    for name, value in in_force.items():
        yield f"  {name}={value}    ({ENVIRONMENT[name].meaning})"
    if not in_force:
        yield f"  none; the known ones are {', '.join(ENVIRONMENT)}"


_PAIRS_SHOWN = 12


def links_text(target: Target) -> str:
    """Returns the links of a system in words: pairs of chips by number of channels, or how many if they are many."""
    gigabits = target.ethernet_bytes_per_second * 8 / 1e9
    by_channels: dict[int, list[str]] = {}
    for link in target.links:
        by_channels.setdefault(link.channels, []).append("-".join(map(str, link.chips)))
    parts: list[str] = []
    for channels, pairs in sorted(by_channels.items(), reverse=True):
        shown = f"{len(pairs)} links" if len(target.links) > _PAIRS_SHOWN else f"links {' '.join(pairs)}"
        parts.append(f"{shown} with {channels} x {gigabits:.0f} Gbit/s")
    return "; ".join(parts) if parts else "no links"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
