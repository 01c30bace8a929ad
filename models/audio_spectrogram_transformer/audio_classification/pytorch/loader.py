"""``ASTForAudioClassification`` of transformers, of two sizes."""

from ....inputs import patches_of_sound
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "ASTConfig",
        "ASTForAudioClassification",
        patches_of_sound,
        {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 128,
            "max_length": 64,
            "num_mel_bins": 32,
        },
    )
