"""``Gemma3ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        text,
        GROUPED_TEXT | {"num_hidden_layers": 6, "sliding_window": 16, "query_pre_attn_scalar": 32},
        {
            "hidden_size": 640,
            "num_hidden_layers": 18,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "intermediate_size": 2048,
            "sliding_window": 64,
        },
    )
