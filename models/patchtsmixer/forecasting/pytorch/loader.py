"""``PatchTSMixerForPrediction`` of transformers, of two sizes."""

from ....inputs import series
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "PatchTSMixerConfig",
        "PatchTSMixerForPrediction",
        series,
        {
            "context_length": 64,
            "patch_length": 8,
            "patch_stride": 8,
            "d_model": 32,
            "num_layers": 2,
            "num_input_channels": 3,
        },
        {"context_length": 512, "num_input_channels": 7},
    )
