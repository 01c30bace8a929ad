"""What a benchmark runs: a script, or the YAML file of an experiment, which names its script and its settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tt_xla.errors import OptionError


class Workload(BaseModel):
    """What every experiment's YAML file has; experiments add fields of their own by subclassing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    script: str
    """Path of the training script, relative to the file. It is run with ``--config FILE``."""
    mesh_shape: tuple[int, ...] | None
    """None for a single chip, which is all that a benchmark takes."""
    seed: int = 0
    compile_options: dict[str, Any] = Field(default_factory=dict)


class TrainingWorkload(Workload):
    batch_size: int = Field(gt=0)
    learning_rate: float = Field(gt=0)
    max_steps: int = Field(gt=0)


def load(path: Path, kind: type[Workload] = TrainingWorkload) -> Workload:
    """An experiment's file, validated.

    Raises:
        OptionError: it is no YAML, or a field is missing, unknown or has a bad value.
    """
    import yaml

    try:
        data = yaml.safe_load(path.read_text())
        if not isinstance(data, dict):
            raise OptionError(f"'{path}' is no mapping of names to values.", hint="Look at one of experiments/.")
        return kind.model_validate(data)
    except yaml.YAMLError as error:
        raise OptionError(f"'{path}' is no YAML: {' '.join(str(error).split())}.") from error
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise OptionError(f"'{path}' is not valid: {wrong}.", hint="Look at one of experiments/.") from error


def resolve(path: str, arguments: list[str]) -> tuple[str, list[str]]:
    """The script and its arguments that a path means: a ``.py`` file, or an experiment's YAML file.

    Raises:
        OptionError: it is neither, is not valid, or is for more than one chip.
    """
    if not path.endswith((".yaml", ".yml")):
        return path, arguments
    file = Path(path)
    if not file.is_file():
        raise OptionError(f"There is no file '{path}'.", hint="Check the path, relative to the current folder.")
    import yaml

    try:
        data = yaml.safe_load(file.read_text())
    except yaml.YAMLError as error:
        raise OptionError(f"'{path}' is no YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(data, dict) or "script" not in data:
        raise OptionError(f"'{path}' names no script.", hint="Look at one of experiments/.")
    if data.get("mesh_shape") is not None:
        raise OptionError(
            f"'{path}' is for several chips: mesh_shape is {json.dumps(data['mesh_shape'])}.",
            hint="This benchmarks a single chip: set mesh_shape to null.",
        )
    return str(file.parent / str(data["script"])), ["--config", path, *arguments]
