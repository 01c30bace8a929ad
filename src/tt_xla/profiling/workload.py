"""Workloads of benchmarks: a script, or the YAML file of an experiment, which holds its script and its settings."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tt_xla.environment import selected_system
from tt_xla.errors import OptionError
from tt_xla.target import bound_devices, load_target

CONFIGURATIONS = (".yaml", ".yml")
"""Endings of experiments' files."""

MODULES = (".mlir", ".mlirbc", ".stablehlo")
"""Endings of files of StableHLO modules."""


class Workload(BaseModel):
    """Fields that every experiment's YAML file has. Experiments add fields by subclassing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    script: str
    """Path of the training script, relative to the YAML file. The script is run with ``--config FILE``."""
    mesh_shape: tuple[int, ...] | None
    """Shape of the mesh of chips that the script uses; None for a single chip."""
    seed: int = 0
    compile_options: dict[str, Any] = Field(default_factory=dict)


class TrainingWorkload(Workload):
    """Fields of configurations that train a model."""

    batch_size: int = Field(gt=0)
    learning_rate: float = Field(gt=0)
    max_steps: int = Field(gt=0)


_SHAPE = TypeAdapter(tuple[Annotated[int, Field(gt=0, strict=True)], ...])

Kind = TypeVar("Kind", bound=Workload)


def begin(kind: type[Kind], description: str | None) -> Kind:
    """Reads the settings of ``--config FILE`` and applies them; the ``main`` of every experiment starts with this.

    If the script has imported torch, its generator is seeded; if it has imported torch_xla, the compile options are
    set. JAX scripts create their own generators, and pass options to each ``jax.jit``.

    Args:
        kind: The class of the experiment's settings.
        description: Text of ``--help``.

    Raises:
        SystemExit: The command line or the file is not valid; the error is printed on standard error.
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
    """Reads and validates an experiment's file.

    Raises:
        OptionError: The file is no YAML, or a field is missing, unknown or has a wrong value.
    """
    try:
        return kind.model_validate(_mapping(path))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise OptionError(f"'{path}' is not valid: {wrong}.", hint=_EXAMPLES) from error


_EXAMPLES = "The folder examples/training/ has examples."


def _mapping(path: Path) -> dict[str, Any]:
    """Returns the contents of a YAML file without validation."""
    import yaml

    if not path.is_file():
        raise OptionError(f"The file '{path}' does not exist.", hint="Check the path, relative to the current folder.")
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise OptionError(f"'{path}' is not valid YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(data, dict):
        raise OptionError(f"'{path}' does not map names to values.", hint=_EXAMPLES)
    return data


def _check_mesh(path: str, shape: object) -> None:
    """Checks that the selected system can form the mesh of an experiment.

    Raises:
        OptionError: The shape is none.
        MeshError: The system has too few chips, or lacks a link.
    """
    if shape is None:
        return
    try:
        sizes = _SHAPE.validate_python(shape)
    except ValidationError as error:
        raise OptionError(
            f"'{path}' has mesh_shape {json.dumps(shape)}, expected null or the number of chips along each axis.",
            hint="For eight chips, [8] or [2, 4].",
        ) from error
    bound_devices(load_target(selected_system()), sizes)


def resolve(path: str, arguments: list[str]) -> tuple[str, list[str]]:
    """Returns the script to run and its arguments.

    Args:
        path: A script, or an experiment's YAML file.
        arguments: Further arguments of the script.

    Raises:
        OptionError: The YAML file is not valid.
        MeshError: The selected system has too few chips for the file's mesh, or lacks a link.
    """
    if not path.endswith(CONFIGURATIONS):
        return path, arguments
    file = Path(path)
    data = _mapping(file)
    script = file.parent / str(data["script"]) if "script" in data else _script_of(file)
    _check_mesh(path, data.get("mesh_shape"))
    return str(script), ["--config", path, *arguments]


def _script_of(file: Path) -> Path:
    """Returns the script of a YAML file without a field ``script``, as tt-blacksmith's are.

    It is the only Python file that runs as a program and has an option ``--config``, in the folder of the YAML file or
    in the nearest of the two folders above.

    Raises:
        OptionError: There is none, or more than one.
    """
    folders = [file.resolve().parent, *file.resolve().parents[1:3]]
    for folder in folders:
        scripts = [path for path in sorted(folder.glob("*.py")) if _takes_config(path)]
        if len(scripts) == 1:
            return scripts[0]
        if scripts:
            names = ", ".join(path.name for path in scripts)
            raise OptionError(
                f"'{file}' has no field 'script', and several scripts of {folder} take --config: {names}.",
                hint="Add 'script: NAME' to the file, or name the script: tt-xla bench SCRIPT --config FILE.",
            )
    raise OptionError(
        f"'{file}' has no field 'script', and no Python file in {', '.join(map(str, folders))} takes --config.",
        hint=_EXAMPLES,
    )


def _takes_config(path: Path) -> bool:
    """Returns whether a Python file is a program with an option ``--config``; tt-blacksmith's ask a helper for it."""
    text = path.read_text(errors="replace")
    return "__main__" in text and any(word in text for word in ("--config", "parse_cli_options", "TrainingWorkload"))
