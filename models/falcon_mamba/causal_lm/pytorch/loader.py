"""``FalconMambaForCausalLM`` of transformers, of two sizes."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "FalconMambaConfig",
        "FalconMambaForCausalLM",
        text,
        {"vocab_size": 512, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 16},
        {"hidden_size": 1024, "num_hidden_layers": 8},
    )
