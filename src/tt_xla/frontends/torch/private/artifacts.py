"""``torch.compiler.save_cache_artifacts`` and ``load_cache_artifacts``: programs are one kind of artifact."""

from __future__ import annotations

from tt_xla import disk_cache
from tt_xla.frontends.torch.private.names import names_of

with names_of("artifacts"):
    from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheArtifactManager

_KIND = "programs"
"""Kind of the entries in the cache on disk."""

_TYPE = "tt_program"


@CacheArtifactFactory.register
class ProgramArtifact(CacheArtifact):
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
    CacheArtifactManager.record_artifact(_TYPE, key, contents)


__all__ = ["record_program"]
