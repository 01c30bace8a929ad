"""``BloomForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "BloomConfig",
        "BloomForCausalLM",
        text,
        {"vocab_size": 512, "hidden_size": 64, "n_layer": 2, "n_head": 4},
        {"hidden_size": 1024, "n_layer": 24, "n_head": 16},
    )
