"""``MistralForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "MistralConfig", "MistralForCausalLM", text, GROUPED_TEXT | {"sliding_window": 16}, {"num_hidden_layers": 2}
    )
