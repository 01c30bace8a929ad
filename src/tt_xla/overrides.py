"""Override files: choices for single ops, as ``tt-xla explore`` writes them.

An op has the name ``matmul@model.py:12:8#0``: the TTNN op, its source line, and its position among the ops with that
name and line. A ``*`` in a name stands for any text, so ``matmul@model.py:12:8#*`` means that product in every layer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tt_xla.choice_files import by_name, check_names, read_file

_COMMAND = "tt-xla explore"


class OpOverride(BaseModel):
    """Choices for one op. A field that is None leaves the choice to the compiler."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    memory: Literal["dram", "l1"] | None = None
    """Memory of the result."""
    layout: Literal["interleaved", "height_sharded", "width_sharded", "block_sharded"] | None = None
    """Distribution of the result over banks or cores."""
    grid: tuple[int, int] | None = Field(default=None, strict=False)
    """Rows and columns of shards of the result."""
    dtype: Literal["f32", "bf16", "bfp_bf8", "bfp_bf4"] | None = None
    """Format of the result."""
    math_fidelity: Literal["lofi", "hifi2", "hifi3", "hifi4"] | None = None
    """Passes of the matrix unit over the bits of its sources."""
    fp32_dest_acc_en: bool | None = None
    """Whether the matrix unit accumulates in float32 instead of 16 bits."""
    config: dict[str, int | bool | str] | None = None
    """Fields of the program config of a product, or of the config of a convolution, under TT-NN's names."""

    @property
    def places(self) -> bool:
        """Whether a choice concerns the layout or the config, which the search for layouts decides."""
        return any(value is not None for value in (self.memory, self.layout, self.grid, self.config))


class Overrides(BaseModel):
    """Contents of an override file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Literal[1] = 1
    """Version of the file's format."""
    made_from: dict[str, Any] = Field(default_factory=dict)
    """Program, times and accuracy that the file was made from. The compiler does not read them."""
    options: dict[str, str | bool | int] = Field(default_factory=dict)
    """Compile options. Options that a user sets come first."""
    ops: dict[str, OpOverride] = Field(default_factory=dict)
    """Choices by name of an op."""
    several_programs: bool = False
    """Whether the ops are spread over several programs, so that each program may lack some of them."""

    def text(self) -> str:
        """Returns the compile option as JSON: equal overrides have equal texts."""
        return self.model_dump_json(include={"ops", "several_programs"}, exclude_none=True)

    def by_op(self, names: Iterable[str]) -> dict[str, OpOverride]:
        """Returns the choices for each op that has some.

        Args:
            names: Names of the ops of a program.

        Raises:
            OptionError: The program lacks an op; or it lacks all of them, if they are spread over several programs.
        """
        known = list(names)
        check_names(
            self.ops, known, file="override file", part="op", command=_COMMAND, several_programs=self.several_programs
        )
        return by_name(self.ops, known)


@functools.lru_cache(maxsize=64)
def parse_overrides(text: str) -> Overrides:
    """Returns the overrides of :meth:`Overrides.text`."""
    return Overrides.model_validate_json(text)


def read_overrides(value: object) -> Overrides:
    """Reads an override file.

    Args:
        value: Path of the file, its contents as a mapping, or its contents as text that begins with ``{``.

    Raises:
        OptionError: There is no such file, it is no YAML, or a field is unknown or has a wrong value.
    """
    return read_file(
        Overrides,
        value,
        file="override file",
        command=_COMMAND,
        fields="Its fields are version, made_from, options, ops and several_programs; an op has memory, layout, grid, "
        "dtype, math_fidelity, fp32_dest_acc_en and config.",
    )


__all__ = ["OpOverride", "Overrides", "parse_overrides", "read_overrides"]
