"""Steps of drawn programs, with a drawer for each op that has a sharding rule."""

from tests.fuzz.steps import contractions, control, elementwise, idioms, indexing, linear_algebra, structure
from tests.fuzz.steps.exchanges import EXCHANGES
from tests.fuzz.steps.registry import DRAWERS, UNREACHED

FAMILIES = (contractions, control, elementwise, idioms, indexing, linear_algebra, structure)

__all__ = ["DRAWERS", "EXCHANGES", "FAMILIES", "UNREACHED"]
