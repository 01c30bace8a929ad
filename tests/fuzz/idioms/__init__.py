"""Idioms that the compiler's patterns match, in JAX, with parameters that a guard must notice.

The modules add their idioms to the table when they are imported, as they are here.
"""

from tests.fuzz.idioms import activations as activations
from tests.fuzz.idioms import arithmetic as arithmetic
from tests.fuzz.idioms import attention as attention
from tests.fuzz.idioms import integers as integers
from tests.fuzz.idioms import moves as moves
from tests.fuzz.idioms import norms as norms
from tests.fuzz.idioms import products as products
from tests.fuzz.idioms.drawing import IDIOMS as IDIOMS
from tests.fuzz.idioms.drawing import Idiom as Idiom
from tests.fuzz.idioms.drawing import built as built
