"""Runs generated source that the user may have edited, in place of the Program that it was generated from."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla import environment
from tt_xla.codegen.generator import Source
from tt_xla.codegen.languages import LANGUAGES
from tt_xla.codegen.saved_graphs import find
from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Program, TensorSpec
from tt_xla.runtime.ttnn.executable import LEAST_TRACE_REGION_BYTES, TTNNExecutable
from tt_xla.runtime.ttnn.here import here

if TYPE_CHECKING:
    import torch

    from tt_xla.runtime.device import Device
    from tt_xla.runtime.mesh.expansion import Expansion
    from tt_xla.runtime.transfer import Version


class SourceExecutable(TTNNExecutable):
    """An executable that runs the ``main.py`` in the folder of option ``export_path``.

    It runs in this process unless ``TTXLA_RUNTIME`` selects TT-NN, whose process runs it then.

    Raises:
        CompileError: the folder has no source of the Program's graph.
        RuntimeUnavailableError: TT-NN is not installed, or does not start.
    """

    def __init__(self, device: Device, program: Program, expansion: Expansion | None = None, chips: Any = ()) -> None:
        self._saved = find(Path(str(program.options["export_path"])), program)
        assert program.graph is not None
        self._exported = dict(zip(program.graph.used, self._saved.key.used, strict=True))
        """Position of each argument in the Program that the source was generated from; unused arguments are absent."""
        self._loaded_files = self._files()
        print(f"Codegen load: graph {self._saved.key.hash} -> {self._saved.folder}")
        super().__init__(device, program, expansion, chips)
        self.keeps_results = False  # the source may do with its results what it likes

    def _make_source(self, program: Program) -> Source:
        return Source(self._saved.main.read_text(), LANGUAGES["py"], {}, {}, (), {})

    def run(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[Version], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Runs the source, as it is now, as :meth:`TTNNExecutable.run` runs generated source."""
        if (files := self._files()) != self._loaded_files:
            self._loaded_files, self._loaded = files, 0
            self._source = self._make_source(self.program)
            self._lines = self._source.main.splitlines()
        return super().run(tensors, versions, donated)

    def _files(self) -> dict[str, tuple[int, int]]:
        """Returns the time of the last change and the size of each Python file in the folder."""
        entries = (entry for entry in os.scandir(self._saved.folder) if entry.name.endswith(".py"))
        return {entry.name: (entry.stat().st_mtime_ns, entry.stat().st_size) for entry in entries}

    def _make_worker(self) -> Any:
        return here() if environment.selected_runtime() == "emulated" else super()._make_worker()

    def _argument_name(self, position: int) -> str:
        return f"arg{self._exported[position]}" if position in self._exported else f"unused{position}"

    def _trace_region_bytes(self) -> int:
        needs = "utils.Trace(" in self._source.main
        return max(super()._trace_region_bytes(), LEAST_TRACE_REGION_BYTES if needs else 0)

    def _load_message(self) -> Mapping[str, Any]:
        return {**super()._load_message(), "folder": str(self._saved.folder.resolve())}

    def _failed(self, answer: Mapping[str, Any]) -> ExecutionError:
        line, file = int(answer["line"]), str(answer.get("file") or self._saved.main)
        own = Path(file) == self._saved.main.resolve()
        text = self._lines[line - 1].strip() if own and 0 < line <= len(self._lines) else ""
        at = f" at `{text}`" if text else ""
        return ExecutionError(
            f"The source of program '{self.program.name}' failed{at}: {answer['type']}: "
            f"{answer['error'].rstrip('.') or 'no message'}.",
            hint=f"Edit it, or run it alone with {self._saved.folder / 'run'}.",
            location=f"{file}:{line}" if line else file,
        )

    def _check_results(self, answer: Mapping[str, Any], arrays: Sequence[Any]) -> None:
        specs = [self._entry.values[value] for value in self._entry.results]
        if len(arrays) != len(specs):
            raise self._mismatch(f"returns {len(arrays)} results; the model has {len(specs)}")
        for index, (array, kind, spec) in enumerate(zip(arrays, answer["types"], specs, strict=True)):
            expected = _kinds(spec)
            if tuple(array.shape) != spec.shape or kind not in expected:
                raise self._mismatch(
                    f"returns {kind or array.dtype}{list(array.shape)} as result {index}; the model has "
                    f"{expected[0]}{list(spec.shape)}"
                )
        if "predicted_us" in answer:
            self.predicted_us = answer["predicted_us"]

    def _mismatch(self, what: str) -> ExecutionError:
        return ExecutionError(
            f"The source of program '{self.program.name}' {what}.",
            hint="Keep the number, shapes and data types of what forward returns.",
            location=str(self._saved.main),
        )


def _kinds(spec: TensorSpec) -> list[str]:
    """Returns the data types that a result may have: the Program's, or another of bfloat16 and the block floats."""
    element = spec.layout.dtype
    if element.is_host_only:
        return [""]
    narrow = [DataType.BF16, *(each for each in DataType if each.is_block_float)]
    return [_kind(each) for each in dict.fromkeys([element, *(narrow if element in narrow else ())])]


def _kind(element: DataType) -> str:
    return element.ttnn.upper()
