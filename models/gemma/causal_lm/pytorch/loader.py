"""``GemmaForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "GemmaConfig",
        "GemmaForCausalLM",
        text,
        GROUPED_TEXT | {"num_key_value_heads": 1},
        {"hidden_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 1},
    )
