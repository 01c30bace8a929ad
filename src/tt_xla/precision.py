"""Precision files: number formats, math fidelity and accumulation by layer, as ``tt-xla tune --accuracy`` writes them.

A layer is a weight of matrix products and convolutions. It has the name of the program's argument: in PyTorch the path
of the parameter, in JAX the name that ``tt_jax.mark_parameters`` gives it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tt_xla.choice_files import by_name, check_names, read_file

_COMMAND = "tt-xla tune --accuracy"


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
        """Returns the compile option as JSON: equal precisions have equal texts."""
        return self.model_dump_json(include={"layers", "several_programs"}, exclude_none=True)

    def by_layer(self, names: Iterable[str]) -> dict[str, LayerPrecision]:
        """Returns the precision of each layer that has one.

        Args:
            names: Names of the layers of a program.
        """
        return by_name(self.layers, names)

    def check(self, names: Iterable[str]) -> None:
        """Checks that a program has the layers.

        Args:
            names: Names of the program's layers. A program without layers passes: it may be a small one beside a model.

        Raises:
            OptionError: The program lacks a layer; or it lacks all of them, if they are spread over several programs.
        """
        check_names(
            self.layers,
            names,
            file="precision file",
            part="layer",
            command=_COMMAND,
            several_programs=self.several_programs,
        )


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
    return read_file(
        Precision,
        value,
        file="precision file",
        command=_COMMAND,
        fields="Its fields are version, made_from, options, layers and several_programs; a layer has weights, "
        "math_fidelity, fp32_dest_acc_en and fast_and_approximate_mode.",
    )


__all__ = ["LayerPrecision", "Precision", "parse_precision", "read_precision"]
