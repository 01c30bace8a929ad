"""Upstream's helpers that depend on no framework.

ttir, ttnn, program = parse_executable(open("cache/...", "rb"))
"""

from ttxla_tools.logging import logger
from ttxla_tools.serialization import is_compile_only, parse_executable, save_system_descriptor_to_disk

__all__ = ["is_compile_only", "logger", "parse_executable", "save_system_descriptor_to_disk"]
