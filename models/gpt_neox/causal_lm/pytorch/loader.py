"""``GPTNeoXForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "GPTNeoXConfig",
        "GPTNeoXForCausalLM",
        text,
        TEXT,
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    )
