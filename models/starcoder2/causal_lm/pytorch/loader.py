"""``Starcoder2ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "Starcoder2Config", "Starcoder2ForCausalLM", text, GROUPED_TEXT, {"num_hidden_layers": 4}
    )
