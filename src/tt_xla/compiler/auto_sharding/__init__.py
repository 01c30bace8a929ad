"""Shardings of a module's arguments, chosen by predicted device time."""

from tt_xla.compiler.auto_sharding.modules import axis_names
from tt_xla.compiler.auto_sharding.search import Outcome, Search, Trial
from tt_xla.compiler.auto_sharding.text import jax_code, partition_spec, torch_code

__all__ = ["Outcome", "Search", "Trial", "axis_names", "jax_code", "partition_spec", "torch_code"]
