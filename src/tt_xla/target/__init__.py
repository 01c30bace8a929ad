"""Facts about each system, as data. The compiler asks this package, never a device.

``load_target("n150")`` returns the facts of one system; :mod:`tt_xla.target.systems` holds them.
``arrange(target, (2, 4))`` places a mesh on its chips.
"""

from tt_xla.target.mesh_axis import Arrangement, MeshAxis
from tt_xla.target.systems import load_target, system_names
from tt_xla.target.target import Link, Target
from tt_xla.target.topology import arrange, bound_devices, device_chips, natural_shape

__all__ = [
    "Arrangement",
    "Link",
    "MeshAxis",
    "Target",
    "arrange",
    "bound_devices",
    "device_chips",
    "load_target",
    "natural_shape",
    "system_names",
]
