"""What an instruction of a Program costs on a chip: time and its parts, from arithmetic alone.

Used by the compiler to choose, by the Program to predict, by reports to explain. Never asks a device.
"""

from tt_xla.cost.model import instruction_cost
from tt_xla.cost.program import predicted_device_us

__all__ = ["instruction_cost", "predicted_device_us"]
