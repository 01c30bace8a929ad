"""``MBartForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import text_pair
from ....sizes import SEQ2SEQ
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("MBartConfig", "MBartForConditionalGeneration", text_pair, SEQ2SEQ)
