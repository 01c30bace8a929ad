"""The project's log; ``TTXLA_LOGGER_LEVEL`` and ``TTXLA_LOGGER_FILE`` select its level and file."""

from tt_xla.log import logger as _logger

logger = _logger()

__all__ = ["logger"]
