"""Compares times measured on silicon with predictions of the cost model: ``python -m benchmarks.measured FILE.csv``."""

from benchmarks.measured.formats import read
from benchmarks.measured.judge import Priced, Summary, by_family, price, record, show, summarise
from benchmarks.measured.measurement import Measurement, Unpriced

__all__ = [
    "Measurement",
    "Priced",
    "Summary",
    "Unpriced",
    "by_family",
    "price",
    "read",
    "record",
    "show",
    "summarise",
]
