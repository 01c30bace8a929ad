"""``Qwen2ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Qwen2Config",
        "Qwen2ForCausalLM",
        text,
        GROUPED_TEXT,
        {
            "hidden_size": 896,
            "num_hidden_layers": 24,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "intermediate_size": 4864,
        },
    )
