"""Programs whose number says what happens when they are judged."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.fuzz import reference
from tests.fuzz.cases import Case, Difference, NotDrawnError
from tt_xla.errors import ExecutionError, UnsupportedOpError

WAYS = (
    "passed",
    "different",
    "error",
    "crash",
    "hang",
    "refused",
    "undrawn",
    "too large",
    "hang that catches",
    "crash of XLA",
)


@dataclass(frozen=True)
class Fault:
    """A program that ends in one of ``WAYS``."""

    way: str

    @property
    def text(self) -> str:
        return self.way

    def check(self) -> Iterator[Difference]:
        match self.way:
            case "different":
                yield Difference("exact", "1 instead of 2")
            case "error":
                raise ZeroDivisionError("a fault of the product")
            case "crash":
                os.abort()
            case "hang":
                time.sleep(60)
            case "hang that catches":
                while True:
                    try:
                        time.sleep(60)
                    except BaseException:
                        continue
            case "crash of XLA":
                with reference.STAGE.running():
                    os.abort()
            case "refused":
                raise UnsupportedOpError("no such op")
            case "undrawn":
                raise NotDrawnError("means nothing")
            case "too large":
                raise ExecutionError("the value 1 does not fit si32")


def draw(random: random.Random) -> Fault:
    """Returns the fault whose number equals that of the case."""
    ways = {str(Case(__name__, "0", number).generator().getstate()): way for number, way in enumerate(WAYS)}
    return Fault(ways[str(random.getstate())])
