"""A digest of all results that the emulated card returns while a case is judged."""

from __future__ import annotations

import hashlib
from typing import Any


class Digest:
    """Listens to the runs of programs in this process."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=8)

    def begin(self) -> None:
        """Begins a new digest."""
        self._hash = hashlib.blake2b(digest_size=8)

    def end(self) -> str:
        """Returns the digest in hexadecimal digits."""
        return self._hash.hexdigest()

    def listen(self) -> None:
        """Begins to listen to all runs, for as long as the process lives."""
        import torch

        from tt_xla.runtime.executable import Executable

        run = Executable.run

        def listening(executable: Executable, *args: Any, **kwargs: Any) -> Any:
            results = run(executable, *args, **kwargs)
            for tensor in results:
                self._hash.update(str((tensor.dtype, tuple(tensor.shape))).encode())
                self._hash.update(
                    tensor.detach()
                    .clone(memory_format=torch.contiguous_format)
                    .flatten()
                    .view(torch.uint8)
                    .numpy()
                    .tobytes()
                )
            return results

        Executable.run = listening


DIGEST = Digest()
