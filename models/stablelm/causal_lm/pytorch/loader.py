"""``StableLmForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "StableLmConfig", "StableLmForCausalLM", text, TEXT | {"num_key_value_heads": 4}, {"num_hidden_layers": 4}
    )
