"""Times measured on silicon beside the cost model's: what ``tt-xla estimate --measured`` reads, prices and shows."""

from tt_xla.tools.measured.formats import read
from tt_xla.tools.measured.judge import Priced, Summary, price, show, summarise
from tt_xla.tools.measured.measurement import Measurement, Unpriced

__all__ = ["Measurement", "Priced", "Summary", "Unpriced", "price", "read", "show", "summarise"]
