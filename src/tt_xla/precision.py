"""Precision files: number formats, math fidelity and accumulation by layer, as ``tt-xla tune --accuracy`` writes them.

A layer is a weight of matrix products and convolutions. It has the name of the program's argument: in PyTorch the path
of the parameter, in JAX the name that ``tt_jax.mark_parameters`` gives it.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tt_xla.errors import OptionError


class LayerPrecision(BaseModel):
    """Precision of one layer. A field that is None leaves the choice to the compile options."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    weights: Literal["bf16", "bfp_bf8", "bfp_bf4"] | None = None
    """Format in which the device stores the weight."""
    math_fidelity: Literal["lofi", "hifi2", "hifi3", "hifi4"] | None = None
    """Passes of the matrix unit over the bits of its sources."""
    fp32_dest_acc_en: bool | None = None
    """Whether the matrix unit accumulates in float32 instead of 16 bits."""
    fast_and_approximate_mode: bool | None = None
    """Whether the function that the layer's product ends with is computed in TT-NN's coarse, fast form."""


class Precision(BaseModel):
    """Contents of a precision file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Literal[1] = 1
    """Version of the file's format."""
    made_from: dict[str, Any] = Field(default_factory=dict)
    """Program, inputs, accuracy and predicted times that the file was made from. The compiler does not read them."""
    options: dict[str, str | bool | int] = Field(default_factory=dict)
    """Compile options that concern precision, for all layers and all other ops. Options that a user sets come first."""
    layers: dict[str, LayerPrecision] = Field(default_factory=dict)
    """Precision by name of a layer. A ``*`` in a name stands for any text. Of several names that fit, each field takes
    the value of the last."""
    several_programs: bool = False
    """Whether the layers are spread over several programs, so that each program may lack some of them."""

    def text(self) -> str:
        """Returns what the compiler needs, as JSON: equal precisions have equal texts."""
        return self.model_dump_json(include={"layers", "several_programs"}, exclude_none=True)

    def by_layer(self, names: Iterable[str]) -> dict[str, LayerPrecision]:
        """Returns the precision of each layer that has one.

        Args:
            names: Names of the layers of a program.
        """
        chosen: dict[str, LayerPrecision] = {}
        for pattern, precision in self.layers.items():
            for name in _fitting(pattern, names):
                before = chosen.get(name, precision)
                chosen[name] = before.model_copy(update=precision.model_dump(exclude_none=True))
        return chosen

    def check(self, names: Iterable[str]) -> None:
        """Checks that a program has the layers.

        Args:
            names: Names of the program's layers. A program without layers passes: it may be a small one beside a model.

        Raises:
            OptionError: The program lacks a layer; or it lacks all of them, if they are spread over several programs.
        """
        known = sorted(names)
        unknown = [pattern for pattern in self.layers if not _fitting(pattern, known)]
        if not known or not unknown or (self.several_programs and len(unknown) < len(self.layers)):
            return
        near = difflib.get_close_matches(unknown[0], known, n=1, cutoff=0.0)
        others = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise OptionError(
            f"The precision file names layer '{unknown[0]}'{others}, which the program lacks.",
            hint=f"The program has {len(known)} layers, such as '{near[0]}'. Correct the names, make the file again "
            "with `tt-xla tune --accuracy`, or set several_programs: true if the model compiles to several programs.",
        )


def _fitting(pattern: str, names: Iterable[str]) -> list[str]:
    """Returns the names that a pattern fits."""
    if "*" not in pattern:
        return [pattern] if pattern in names else []
    expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return [name for name in names if expression.fullmatch(name)]


@functools.lru_cache(maxsize=64)
def parse_precision(text: str) -> Precision:
    """Returns the precision of :meth:`Precision.text`."""
    return Precision.model_validate_json(text)


def read_precision(value: object) -> Precision:
    """Reads a precision file.

    Args:
        value: Path of the file, its contents as a mapping, or its contents as text that begins with ``{``.

    Raises:
        OptionError: There is no such file, it is no YAML, or a field is unknown or has a wrong value.
    """
    if isinstance(value, Mapping):
        return _validated(value, "The precision")
    text = str(value)
    if text.lstrip().startswith("{"):
        return _validated(_parsed(text, "The precision"), "The precision")
    try:
        contents = Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or "it is no text"
        raise OptionError(
            f"The precision file '{text}' cannot be read: {reason}.",
            hint="Check the path, relative to the current folder. `tt-xla tune --accuracy` writes such files.",
        ) from error
    return _validated(_parsed(contents, f"The precision file '{text}'"), f"The precision file '{text}'")


def _parsed(text: str, what: str) -> object:
    import yaml

    try:
        _check_keys(yaml.compose(text, yaml.SafeLoader), what)
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise OptionError(f"{what} is not valid YAML: {' '.join(str(error).split())}.") from error


def _check_keys(node: Any, what: str) -> None:
    """Checks that no mapping of a YAML document has a key twice, of which YAML's reader keeps the last.

    Raises:
        OptionError: A mapping has a key twice.
    """
    children: list[Any] = node.value if node is not None and isinstance(node.value, list) else []
    seen: set[str] = set()
    for child in children:
        if not isinstance(child, tuple):
            _check_keys(child, what)
            continue
        key, value = child
        if str(key.value) in seen:
            raise OptionError(f"{what} has '{key.value}' twice, in line {key.start_mark.line + 1}.", hint="Keep one.")
        seen.add(str(key.value))
        _check_keys(value, what)


def _validated(data: object, what: str) -> Precision:
    """Checks the contents of a precision file against the fields that it may have."""
    if not isinstance(data, Mapping):
        raise OptionError(f"{what} does not map names to values.", hint="Its fields are version, options and layers.")
    try:
        return Precision.model_validate(dict(cast("Mapping[Any, Any]", data)))
    except ValidationError as error:
        wrong = "; ".join(f"{': '.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:3])
        raise OptionError(
            f"{what} is not valid: {wrong}.",
            hint="Its fields are version, made_from, options, layers and several_programs; a layer has weights, "
            "math_fidelity, fp32_dest_acc_en and fast_and_approximate_mode. Values that YAML would read as numbers or "
            "booleans need quotes.",
        ) from error


__all__ = ["LayerPrecision", "Precision", "parse_precision", "read_precision"]
