"""Implements ``tt-xla cache``."""

from __future__ import annotations

import click

from tt_xla import disk_cache

_MIB = 1 << 20


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove all entries.")
def cache_command(clear: bool) -> None:
    """Show what the cache on disk holds, or empty it.

    TTXLA_CACHE selects its folder, or turns it off.
    """
    cache = disk_cache.current()
    if cache is None:
        click.echo("The cache on disk is off (TTXLA_CACHE).")
        return
    click.echo(f"{cache.folder}, at most {cache.limit / _MIB:.0f} MiB")
    if clear:
        cache.clear()
    for kept in cache.kept():
        click.echo(f"  {kept.kind:<10} {kept.entries:6} entries {kept.size / _MIB:9.1f} MiB")
    if not cache.kept():
        click.echo("  It has no entries.")
