"""``MarianMTModel`` of transformers, of two sizes."""

from ....inputs import text_pair
from ....sizes import SEQ2SEQ
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "MarianConfig", "MarianMTModel", text_pair, SEQ2SEQ, {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6}
    )
