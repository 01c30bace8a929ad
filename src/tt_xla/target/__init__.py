"""What each system can do, as data. Compiling asks this package, never a device.

``load_target("n150")`` gives the facts of one system; its data is in :mod:`tt_xla.target.systems`.
"""

from tt_xla.target.systems import load_target, system_names
from tt_xla.target.target import Target

__all__ = ["Target", "load_target", "system_names"]
