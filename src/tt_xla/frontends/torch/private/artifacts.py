"""``torch.compiler.save_cache_artifacts`` and ``load_cache_artifacts``: programs are one kind of artifact."""

from __future__ import annotations

from typing import Any

from torch.compiler import _cache

from tt_xla import disk_cache

_KIND = "programs"
"""Kind of the entries in the cache on disk."""

_TYPE = "tt_program"


@_cache.CacheArtifactFactory.register
class ProgramArtifact(_cache.CacheArtifact):
    """A compiled program among the artifacts of a process."""

    def populate_cache(self) -> None:
        """Stores the program in the cache on disk."""
        cache = disk_cache.current()
        if cache is not None:
            cache.put(_KIND, self.key, self.content)

    @staticmethod
    def type() -> str:
        """Returns the name of the kind of artifact."""
        return _TYPE


def record_program(key: str, contents: bytes) -> None:
    """Adds a program to the artifacts that ``torch.compiler.save_cache_artifacts`` returns."""
    recorder: Any = getattr(_cache, "CacheArtifactRecorder", None)
    if recorder is not None:
        recorder(_TYPE, key).record(contents)
    else:
        _cache.CacheArtifactManager.record_artifact(_TYPE, key, contents)


__all__ = ["record_program"]
