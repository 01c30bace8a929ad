"""``M2M100ForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import text_pair
from ....sizes import SEQ2SEQ
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "M2M100Config", "M2M100ForConditionalGeneration", text_pair, SEQ2SEQ, {"vocab_size": 32000}
    )
