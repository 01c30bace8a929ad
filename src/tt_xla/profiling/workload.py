"""What a benchmark runs: a script, or the YAML file of an experiment, which names its script and its settings."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, TypeVar

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


Kind = TypeVar("Kind", bound=Workload)


def begin(kind: type[Kind], description: str | None) -> Kind:
    """The settings that ``--config FILE`` names, in force: how the ``main`` of every experiment starts.

    Of the frameworks that the script has imported, torch is seeded and takes the compile options; JAX draws from
    generators that a script makes, and takes the options of each ``jax.jit``.

    Raises:
        SystemExit: the command line is wrong, or the file is not valid; what is wrong stands on standard error.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the experiment's YAML file")
    try:
        config = load(parser.parse_args().config, kind)
        if "torch_xla" in sys.modules:
            sys.modules["torch_xla"].set_custom_compile_options(config.compile_options)
    except OptionError as error:
        parser.error(str(error))
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(config.seed)
    return config


def load(path: Path, kind: type[Kind]) -> Kind:
    """An experiment's file, validated.

    Raises:
        OptionError: it is no YAML, or a field is missing, unknown or has a bad value.
    """
    try:
        return kind.model_validate(_mapping(path))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise OptionError(f"'{path}' is not valid: {wrong}.", hint=_LOOK) from error


_LOOK = "Look at one of experiments/."


def _mapping(path: Path) -> dict[str, Any]:
    """What a YAML file says, unvalidated."""
    import yaml

    if not path.is_file():
        raise OptionError(f"There is no file '{path}'.", hint="Check the path, relative to the current folder.")
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise OptionError(f"'{path}' is no YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(data, dict):
        raise OptionError(f"'{path}' is no mapping of names to values.", hint=_LOOK)
    return data


def resolve(path: str, arguments: list[str]) -> tuple[str, list[str]]:
    """The script and its arguments that a path means: a ``.py`` file, or an experiment's YAML file.

    Raises:
        OptionError: it is neither, is not valid, or is for more than one chip.
    """
    if not path.endswith((".yaml", ".yml")):
        return path, arguments
    file = Path(path)
    data = _mapping(file)
    if "script" not in data:
        raise OptionError(f"'{path}' names no script.", hint=_LOOK)
    if data.get("mesh_shape") is not None:
        raise OptionError(
            f"'{path}' is for several chips: mesh_shape is {json.dumps(data['mesh_shape'])}.",
            hint="This benchmarks a single chip: set mesh_shape to null.",
        )
    return str(file.parent / str(data["script"])), ["--config", path, *arguments]
