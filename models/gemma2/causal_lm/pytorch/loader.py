"""``Gemma2ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Gemma2Config",
        "Gemma2ForCausalLM",
        text,
        GROUPED_TEXT | {"sliding_window": 16, "query_pre_attn_scalar": 32},
        {"num_hidden_layers": 4},
    )
