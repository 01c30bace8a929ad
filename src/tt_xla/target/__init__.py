"""Facts about each system, as data. The compiler asks this package, never a device.

``load_target("n150")`` returns the facts of one system; :mod:`tt_xla.target.systems` holds them.
"""

from tt_xla.target.systems import load_target, system_names
from tt_xla.target.target import Target

__all__ = ["Target", "load_target", "system_names"]
