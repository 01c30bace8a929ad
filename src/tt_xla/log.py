"""The project's log. Environment variables select its level and file; level names are upstream's."""

from __future__ import annotations

import functools
import logging

from tt_xla.environment import variable
from tt_xla.errors import OptionError

VERBOSE = 5
_LEVELS = {
    "VERBOSE": VERBOSE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
}


@functools.cache
def logger() -> logging.Logger:
    """Returns the project's logger, which the first call sets up.

    Raises:
        OptionError: ``TTXLA_LOGGER_LEVEL`` is not one of the levels.
    """
    name = variable("TTXLA_LOGGER_LEVEL").upper()
    if name not in _LEVELS:
        raise OptionError(f"Invalid LOGGER_LEVEL: {name}. TTXLA_LOGGER_LEVEL takes {', '.join(_LEVELS)}.")
    logging.addLevelName(VERBOSE, "VERBOSE")
    log = logging.getLogger("tt_xla")
    path = variable("TTXLA_LOGGER_FILE")
    handler = logging.FileHandler(path) if path else logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s tt_xla: %(message)s"))
    log.addHandler(handler)
    log.setLevel(_LEVELS[name])
    log.propagate = False
    return log
