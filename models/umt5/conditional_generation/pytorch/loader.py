"""``UMT5ForConditionalGeneration`` of transformers."""

from ....inputs import text_pair
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "UMT5Config",
        "UMT5ForConditionalGeneration",
        text_pair,
        {"vocab_size": 512, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4},
    )
