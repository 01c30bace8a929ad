"""``WhisperForConditionalGeneration`` of transformers, of two sizes."""

from ....inputs import spectrogram
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture(
        "WhisperConfig",
        "WhisperForConditionalGeneration",
        spectrogram,
        {
            "vocab_size": 512,
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 128,
            "decoder_ffn_dim": 128,
            "num_mel_bins": 32,
            "max_source_positions": 64,
            "max_target_positions": 64,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "decoder_start_token_id": 1,
        },
    )
