"""``Phi3ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("Phi3Config", "Phi3ForCausalLM", text, TEXT, {"num_hidden_layers": 2})
