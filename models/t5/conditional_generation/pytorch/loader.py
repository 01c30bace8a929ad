"""``T5ForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import text_pair
from ....sizes import T5
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("T5Config", "T5ForConditionalGeneration", text_pair, T5)
