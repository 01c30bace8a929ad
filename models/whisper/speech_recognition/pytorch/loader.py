"""``WhisperForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import spectrogram
from ....sizes import SEQ2SEQ
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "WhisperConfig",
        "WhisperForConditionalGeneration",
        spectrogram,
        SEQ2SEQ
        | {"num_mel_bins": 32, "max_source_positions": 64, "max_target_positions": 64, "decoder_start_token_id": 1},
    )
