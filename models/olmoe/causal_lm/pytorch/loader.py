"""``OlmoeForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....sizes import EXPERTS, TEXT
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("OlmoeConfig", "OlmoeForCausalLM", text, TEXT | EXPERTS, {"num_hidden_layers": 2})
