"""A StableHLO module that is parsed when something needs it: a graph from the cache on disk seldom does."""

from __future__ import annotations

import functools
import hashlib
import io
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir


@dataclass(frozen=True)
class SavedModule:
    """A StableHLO module as bytes.

    Attributes:
        digest: digest of its text without locations.
        bytecode: the module with its locations.
    """

    digest: str
    bytecode: bytes

    @property
    def located_digest(self) -> str:
        """Digest of the module with its locations."""
        return hashlib.sha256(self.bytecode).hexdigest()

    def parsed(self) -> ir.Module:
        """Returns the module."""
        from tt_xla.compiler.mlir_context import context

        with context(len(self.bytecode)):
            return ir.Module.parse(self.bytecode)


@functools.singledispatch
def saved(module: Any) -> SavedModule:
    """Returns a module, or one that is saved already, as bytes."""
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return SavedModule(hashlib.sha256(str(module).encode()).hexdigest(), written.getvalue())


@saved.register
def _(module: SavedModule) -> SavedModule:
    return module


__all__ = ["SavedModule", "saved"]
