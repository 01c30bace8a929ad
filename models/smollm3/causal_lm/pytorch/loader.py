"""``SmolLM3ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import GROUPED_TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "SmolLM3Config", "SmolLM3ForCausalLM", text, GROUPED_TEXT | {"num_hidden_layers": 4}, {"num_hidden_layers": 4}
    )
