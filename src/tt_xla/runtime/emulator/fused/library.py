"""Functions of C++ that a thread compiles while torch computes the same bits."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tt_xla.log import logger
from tt_xla.runtime.emulator.fused import background
from tt_xla.runtime.emulator.fused.build import Build, compiler
from tt_xla.runtime.emulator.fused.calls import CppFunction, Parameter


class BackgroundFunction:
    """A function of C++, compiled in a thread that the constructor starts, unless the cache on disk has it.

    Args:
        source: the C++.
        name: the function's name.
        parameters: its parameters.
        without: what happens without it, as in "Attention computes its weights without C++".

    Attributes:
        function: the function; None until it is compiled, and where there is no compiler.
        built: set when the thread has ended.
    """

    def __init__(self, source: str, name: str, parameters: Sequence[Parameter], *, without: str) -> None:
        self._source, self._name, self._parameters, self._without = source, name, parameters, without
        self.function: CppFunction | None = None
        self.built = threading.Event()
        if compiler() is None:
            self.built.set()
        elif found := Build.found(source):
            self._use(found)
        else:
            background.start(self.build)

    def build(self) -> None:
        """Compiles the C++; without success, says so once."""
        try:
            self._use(Build.of(self._source))
        except Exception as error:
            if not threading.main_thread().is_alive():  # the program has ended, and with it the compiler's files
                return
            logger().warning("%s: %s.", self._without, error)
            self.built.set()

    def _use(self, build: Build) -> None:
        self.function = build.function(self._name, self._parameters)
        self.built.set()


__all__ = ["BackgroundFunction"]
