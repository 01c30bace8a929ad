"""``torch.distributed.checkpoint``: readers and writers of any file system, in a private module before PyTorch 2.15."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.distributed import checkpoint

from tt_xla.frontends.torch.private.names import names_of

with names_of("checkpoints"):
    if not TYPE_CHECKING and hasattr(checkpoint, "FsspecReader"):
        FsspecReader, FsspecWriter = checkpoint.FsspecReader, checkpoint.FsspecWriter
    else:
        from torch.distributed.checkpoint._fsspec_filesystem import FsspecReader, FsspecWriter

__all__ = ["FsspecReader", "FsspecWriter"]
