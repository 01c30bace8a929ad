"""The error for a choice of an override file that TT-NN or the chip refuses."""

from __future__ import annotations

from collections.abc import Iterable

from tt_xla.errors import OptionError


def refused(what: str, location: str, reason: str, possible: Iterable[str] = ()) -> OptionError:
    """Returns the error.

    Args:
        what: name of the op.
        location: the user's source line.
        reason: why the choice is refused.
        possible: choices that are possible, in words.
    """
    names = ", ".join(dict.fromkeys(possible))
    hint = f"Possible are: {names}." if names else "Change or remove its entry in the override file."
    return OptionError(f"The override of '{what}' is refused: {reason}.", hint=hint, location=location)
