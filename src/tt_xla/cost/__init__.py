"""The cost model: device time of an instruction of a Program, and its parts, from arithmetic only.

The compiler chooses layouts by it, Programs carry its predictions, and reports explain them. It never asks a device.
"""

from tt_xla.cost.model import instruction_cost
from tt_xla.cost.program import predicted_device_us

__all__ = ["instruction_cost", "predicted_device_us"]
