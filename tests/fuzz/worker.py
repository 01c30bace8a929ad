"""A process that judges cases: it reads their names from standard input, and answers each with a line of JSON.

Its first line has the entries of the registries whose use it counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import time
import traceback
from typing import Any

LIMIT = 60
"""Seconds that a case may take, unless the command line gives another number."""


class TooLongError(BaseException):
    """A case takes longer than it may. No handler of the product catches it."""


def main() -> None:
    """Answers cases until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a program prints is no answer
    prepare()
    from tests.fuzz import reached, reference, results
    from tests.fuzz.cases import Case

    reference.STAGE.write_to(sys.argv[2])
    entries = reached.entries()
    results.DIGEST.listen()
    signal.signal(signal.SIGALRM, _stop)
    answers.write(json.dumps(entries) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(judged(Case.parse(line.strip()), int(sys.argv[1]))) + "\n")


def prepare() -> None:
    """Sets what a process needs before it imports JAX."""
    import logging
    import warnings

    from tests.fuzz import reference

    reference.set_flags()
    os.environ.setdefault("TTXLA_EMULATOR_CHAINS", "off")
    os.environ.setdefault("TTXLA_LOGGER_LEVEL", "ERROR")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import torch

    torch.set_num_threads(1)


def _stop(number: int, frame: Any) -> None:
    raise TooLongError


def judged(case: Any, limit: int = LIMIT) -> dict[str, Any]:
    """Draws a case and judges it.

    Returns:
        Its name, its verdict, the details, the seconds it took, what it reached, and a digest of all results that our
        card returned. The verdict is ``passed``, ``undrawn``, ``refused``, ``different``, ``error`` or ``hang``.
    """
    from tests.fuzz import reached, reference, results

    reached.taken()
    results.DIGEST.begin()
    reference.STAGE.set(False)
    start = time.perf_counter()
    signal.alarm(limit)
    try:
        verdict, details = _verdict(case)
    except TooLongError:
        is_ours = not reference.STAGE.is_running
        verdict, details = "hang" if is_ours else "undrawn", traceback.format_exc(limit=-12)
    finally:
        signal.alarm(0)
    seconds = round(time.perf_counter() - start, 3)
    return {
        "case": str(case),
        "verdict": verdict,
        "details": details,
        "seconds": seconds,
        "reached": reached.taken(),
        "results": results.DIGEST.end(),
    }


def _verdict(case: Any) -> tuple[str, str]:
    from tests.fuzz import kinds
    from tests.fuzz.cases import NotDrawnError
    from tt_xla.errors import ExecutionError, UnsupportedOpError

    try:
        subject = kinds.load(case.kind)(case.generator())
        found = "\n".join(f"{each.check}: {each.text}" for each in subject.check())
    except NotDrawnError as error:
        return "undrawn", str(error).partition("\n")[0][:300]
    except UnsupportedOpError as error:
        return "refused", f"{type(error).__name__}: {error}".partition("\n")[0][:300]
    except ExecutionError as error:
        if re.search(
            "does not fit|outside the range", str(error)
        ):  # a value that 32 bits do not hold, in an argument or from the host
            return "refused", str(error).partition("\n")[0][:300]
        return "error", traceback.format_exc(limit=-12)
    except Exception:
        return "error", traceback.format_exc(limit=-12)
    return ("different", found) if found else ("passed", "")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main()
