"""``Olmo2ForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("Olmo2Config", "Olmo2ForCausalLM", text, TEXT, {"num_hidden_layers": 2})
