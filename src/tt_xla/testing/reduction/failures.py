"""The failures that a reduction keeps: what ``--fails`` means, and whether one run of a program shows it.

A text names one failure or several, separated by ``|``. ``differs>X`` compares with XLA on the CPU, in float32 in place
of 16 bits: the largest difference of two elements of a result, divided by the root mean square of the expected result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tt_xla.errors import OptionError

FORMS = (
    *("crash", "crash:TEXT", "error:TEXT", "hang", "differs", "differs>1e-3", "pcc<0.99", "host op", "host op:NAME"),
    *("slower than 2 s", "compiles slower than 2 s", "runs slower than 2 s"),
)
"""The forms of a failure. TEXT is a part of the error's message, NAME a part of the host op's name."""

LEAST_PCC = 0.99
"""Correlation below which results differ if the user names no bound."""


@dataclass(frozen=True)
class Outcome:
    """How one run of a program ended.

    Attributes:
        ending: ``ran``, ``error``, ``signal`` or ``hang``; ``unknown`` if there is nothing to judge, because the
            program is malformed or the reference has no result.
        reason: type and message of the error, or the signal's name.
        compile_s: seconds that compiling took.
        run_s: seconds that the run took.
        host_ops: names of the ops that the program runs on the host.
        difference: the largest difference over the size of the expected result; None if it was not compared.
        pcc: the smallest correlation; None if it was not compared.
        cause: type and message of the error behind the error, if there is one.
        details: the traceback of an error, or what the process wrote before a signal ended it.
    """

    ending: str
    reason: str = ""
    compile_s: float = 0.0
    run_s: float = 0.0
    host_ops: tuple[str, ...] = ()
    difference: float | None = None
    pcc: float | None = None
    cause: str = ""
    details: str = ""

    @property
    def crashed(self) -> bool:
        """Whether the run raised an error or ended its process."""
        return self.ending in ("error", "signal")

    @property
    def text(self) -> str:
        """A sentence on how the run ended, without its full stop."""
        first = self.reason.strip().splitlines()[0].rstrip(".") if self.reason.strip() else ""
        match self.ending:
            case "error":
                return f"it raises {first}"
            case "signal":
                return f"its process was killed by {first}"
            case "hang":
                return f"it takes more than {self.reason}"
            case "unknown":
                return f"it cannot be judged: {first}"
            case _:
                compared = "" if self.difference is None else f", difference {self.difference:.3g}, PCC {self.pcc:.5f}"
                hosted = f", on the host {', '.join(self.host_ops)}" if self.host_ops else ""
                return f"it runs: compiled in {self.compile_s:.2f} s, run in {self.run_s:.2f} s{compared}{hosted}"


Test = Callable[[Outcome], bool]


@dataclass(frozen=True)
class Failure:
    """One failure, or several of which one is enough.

    Attributes:
        text: the text that the user wrote.
        tests: whether an outcome shows the failure, by alternative.
        compares: whether results must be compared.
        hangs: whether a run beyond the limit is the failure.
        any_error: whether every error counts, so that it should be narrowed to the first one.
    """

    text: str
    tests: tuple[Test, ...]
    compares: bool = False
    hangs: bool = False
    any_error: bool = False

    @classmethod
    def parse(cls, text: str) -> Failure:
        """Reads a failure.

        Raises:
            OptionError: the text has another form than those of :data:`FORMS`.
        """
        tests: list[Test] = []
        kinds: set[str] = set()
        for part in text.split("|"):
            kind, test = _alternative(part.strip())
            kinds.add(kind)
            tests.append(test)
        return cls(text, tuple(tests), "differs" in kinds, "hang" in kinds, "crash" in kinds)

    def shown_by(self, outcome: Outcome) -> bool:
        """Returns whether an outcome shows the failure."""
        return outcome.ending != "unknown" and any(test(outcome) for test in self.tests)

    def narrowed(self, outcome: Outcome) -> Failure:
        """Returns the failure without errors of another kind than that of ``outcome``.

        A smaller program often fails for a reason of its own, such as a shape that does not fit. So an error counts
        only if type and message of its cause, apart from numbers and names of values, are those of the first one.
        """
        if not (self.any_error and outcome.crashed):
            return self
        kind = outcome.ending, _pattern(outcome.cause or outcome.reason)

        def fails_alike(other: Outcome) -> bool:
            return (other.ending, _pattern(other.cause or other.reason)) == kind

        others = tuple(test for test in self.tests if test is not _crashes)
        return replace(self, tests=(*others, fails_alike))


ANY = "crash|hang|differs"
"""The failures that are looked for if the user names none."""


def _crashes(outcome: Outcome) -> bool:
    return outcome.crashed


_PLAIN: dict[str, Test] = {
    "crash": _crashes,
    "hang": lambda outcome: outcome.ending == "hang",
    "differs": lambda outcome: outcome.pcc is not None and not outcome.pcc >= LEAST_PCC,
}
"""Tests of the alternatives without a number or a name."""


def _alternative(text: str) -> tuple[str, Test]:
    """Returns the trials that an alternative needs (``differs``: a comparison, ``hang``, ``crash``) and its test."""
    name, _, detail = (part.strip() for part in text.partition(":"))
    if name in ("crash", "error") and detail:
        return "", lambda outcome: outcome.crashed and detail in outcome.reason
    if name == "host op":
        return "", lambda outcome: any(detail in op for op in outcome.host_ops)
    if text in _PLAIN:
        return text, _PLAIN[text]
    number = r"\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?)"
    if found := re.fullmatch(rf"differs\s*>{number}", text):
        bound = float(found[1])
        return "differs", lambda outcome: outcome.difference is not None and not outcome.difference <= bound
    if found := re.fullmatch(rf"pcc\s*<{number}", text):
        least = float(found[1])
        return "differs", lambda outcome: outcome.pcc is not None and not outcome.pcc >= least
    if found := re.fullmatch(rf"(compiles |runs )?slower than{number}\s*s", text):
        return "", _slower(found[1] or "", float(found[2]))
    raise OptionError(f"--fails got {text!r}; expected one or several, separated by |, of: {', '.join(FORMS)}.")


def _slower(what: str, seconds: float) -> Test:
    """Returns a test of the seconds of compiling, of the run, or of both together; a hang is slower than any."""

    def test(outcome: Outcome) -> bool:
        parts = {"compiles ": outcome.compile_s, "runs ": outcome.run_s}
        return outcome.ending == "hang" or (outcome.ending == "ran" and parts.get(what, sum(parts.values())) > seconds)

    return test


def _pattern(reason: str) -> str:
    """Returns the first line of an error without what differs between programs of one fault: numbers, types, values."""
    line = reason.strip().splitlines()[0] if reason.strip() else ""
    line = re.sub(r"tensor<[^>]*>|memref<[^>]*>", "T", line)
    line = re.sub(r"%\w+(?:#\d+)?", "%", line)
    line = re.sub(r"\S*\.(?:py|mlir)\b\S*", "F", line)
    line = re.sub(r"[\[(][\d\sx,]*[\])]", "S", line)
    return re.sub(r"-?\d+(?:\.\d+)?(?:x\d+)*(?:x?[biu]?f?\d+)?", "N", line)
