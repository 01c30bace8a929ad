"""``FunnelForMaskedLM`` of transformers."""

from ....inputs import text
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "FunnelConfig",
        "FunnelForMaskedLM",
        text,
        {"vocab_size": 512, "d_model": 64, "block_sizes": [1, 1], "n_head": 4, "d_head": 16, "d_inner": 128},
    )
