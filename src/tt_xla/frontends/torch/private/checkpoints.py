"""``torch.distributed.checkpoint``: readers and writers of any file system, in a private module before PyTorch 2.15."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed.checkpoint._fsspec_filesystem import FsspecReader, FsspecWriter
else:
    try:
        from torch.distributed.checkpoint import FsspecReader, FsspecWriter
    except ImportError:
        from torch.distributed.checkpoint._fsspec_filesystem import FsspecReader, FsspecWriter

__all__ = ["FsspecReader", "FsspecWriter"]
