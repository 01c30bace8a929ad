"""``T5ForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import text_pair
from ....sizes import T5
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "T5Config",
        "T5ForConditionalGeneration",
        text_pair,
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_layers": 8, "num_heads": 6},
    )
