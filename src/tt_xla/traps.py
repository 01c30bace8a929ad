"""Reads the compile option ``trap``, which names the faults at which the emulated card stops a program."""

from __future__ import annotations

import re
from dataclasses import dataclass

NAMES = ("nan", "inf", "index", "precision")
"""Faults in the order in which a value names them."""

EXPECTED = f"a list of {', '.join(NAMES)} or precision:BITS with 1 to 24 bits, such as nan,inf; or all"
"""Description of a valid value, for messages."""

MOST_BITS = 24
"""Significant bits of float32, which has the most among the chip's formats."""


@dataclass(frozen=True)
class Traps:
    """The faults at which a program stops."""

    nan: bool = False
    """Whether an op may make no NaN."""
    inf: bool = False
    """Whether an op may make no infinity."""
    index: bool = False
    """Whether no index may lie outside of the dimension that it indexes."""
    precision: bool = False
    """Whether an op may not lose more than :attr:`bits` of its result's format."""
    bits: int | None = None
    """Significant bits that an op may lose; None for all but one of those of the format."""

    @classmethod
    def parse(cls, text: str) -> Traps:
        """Reads a value of the option.

        Args:
            text: names separated by commas; empty for no traps.

        Raises:
            ValueError: the text has another form, see :data:`EXPECTED`.
        """
        faults: set[str] = set()
        bits: int | None = None
        for item in filter(None, (part.strip().lower() for part in text.split(","))):
            name, separator, number = item.partition(":")
            if separator:
                if name != "precision" or not re.fullmatch(r"\d{1,2}", number) or not 1 <= int(number) <= MOST_BITS:
                    raise ValueError(item)
                bits = int(number)
            if name not in (*NAMES, "all"):
                raise ValueError(item)
            faults.update(NAMES if name == "all" else [name])
        return cls(**dict.fromkeys(faults, True), bits=bits)

    def __str__(self) -> str:
        """Returns the value in its one spelling: equal traps have equal texts."""
        names = [name for name in NAMES if getattr(self, name)]
        return ",".join(f"{name}:{self.bits}" if name == "precision" and self.bits else name for name in names)

    def __bool__(self) -> bool:
        """Whether a program stops at any fault."""
        return self.nan or self.inf or self.index or self.precision

    @property
    def at_numbers(self) -> bool:
        """Whether a program stops at what an op computes."""
        return self.nan or self.inf or self.precision

    @property
    def in_program(self) -> Traps:
        """The traps that stand for these among programs: equal ones have equal programs.

        With traps at numbers the compiler leaves functions apart that it would fuse into other ops, so that the op and
        the line are the user's. With traps at indices it marks the limits of indices.
        """
        return Traps(nan=self.at_numbers, index=self.index)
