"""``torch.distributed.checkpoint``: readers and writers of any file system, which are in a private module."""

from __future__ import annotations

from torch.distributed.checkpoint._fsspec_filesystem import FsspecReader, FsspecWriter

__all__ = ["FsspecReader", "FsspecWriter"]
