"""An adapter for Model Explorer's own command: ``model-explorer --extensions=tt_xla.tools.explorer model.mlir``.

It has the graphs of all stages. Overlays, choices and runs are in ``tt-xla explore``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model_explorer import Adapter, AdapterMetadata
from model_explorer.graph_builder import GraphCollection

from tt_xla.environment import selected_system
from tt_xla.errors import OptionError
from tt_xla.tools.explorer.compiling import Compiled, compiled, converted, known
from tt_xla.tools.explorer.graphs import graph_of
from tt_xla.tools.explorer.subjects import STAGES, Subject, is_script, subjects_of


class TenstorrentAdapter(Adapter):
    """Converts modules of StableHLO, TTIR and TTNN, ``.ttnn`` files and folders of dumps."""

    metadata = AdapterMetadata(
        id="tenstorrent",
        name="Tenstorrent",
        description="Graphs of all stages of StableHLO, TTIR, TTNN and .ttnn programs",
        source_repo="https://github.com/tenstorrent/tt-xla",
        fileExts=["mlir", "ttnn"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> Any:
        """Returns the graphs of each stage of each program in a file.

        Args:
            model_path: path of the file or folder.
            settings: ``constants`` shows constants and deallocations; ``optimization_level`` is that of the compiler.

        Raises:
            TTXLAError: the file holds no program.
            OSError: the file cannot be read.
        """
        path = Path(model_path)
        if is_script(path):
            raise OptionError(f"'{path}' is a script.", hint=f"Run and explore it with: tt-xla explore {path}")
        constants = bool(settings.get("constants"))
        options = {"optimization_level": settings.get("optimization_level", 0)}
        collections: list[GraphCollection] = []
        for subject in subjects_of(path):
            arch = selected_system()
            outcome = known(subject, arch) or compiled(subject, options, arch, lambda line: None)
            for stage in STAGES:
                functions = _functions(subject, outcome, stage)
                names = {function.name: function.name for function in functions}
                graphs = [graph_of(function, function.name, names, constants=constants) for function in functions]
                if graphs:
                    collections.append(GraphCollection(f"{subject.name} {stage}", graphs))
        return {"graphCollections": collections}


def _functions(subject: Subject, outcome: Compiled, stage: str) -> Any:
    if stage == "ttnn" and outcome.functions:
        return outcome.functions
    return converted(stage, outcome.stages[stage], subject.name) if stage in outcome.stages else []
