"""The project's log, whose level and file ``TTXLA_LOGGER_LEVEL`` and ``TTXLA_LOGGER_FILE`` say."""

from tt_xla.log import logger as _logger

logger = _logger()

__all__ = ["logger"]
