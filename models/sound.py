"""Models of sound and of time series."""

from __future__ import annotations

from models.inputs import patches_of_sound, series, spectrogram, waveform
from models.loader import Loader

_WAVE = {
    "vocab_size": 32,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "conv_dim": [32, 32, 32],
    "conv_kernel": [10, 3, 3],
    "conv_stride": [5, 4, 4],
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}

SOUND = [
    Loader(
        "audio-spectrogram-transformer",
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
    ),
    Loader("hubert", "HubertConfig", "HubertForCTC", waveform, _WAVE),
    Loader("wav2vec2", "Wav2Vec2Config", "Wav2Vec2ForCTC", waveform, _WAVE),
    Loader("wavlm", "WavLMConfig", "WavLMForCTC", waveform, _WAVE),
    Loader(
        "whisper",
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
    ),
]

SERIES = [
    Loader(
        "patchtst",
        "PatchTSTConfig",
        "PatchTSTForPrediction",
        series,
        {
            "context_length": 64,
            "patch_length": 8,
            "patch_stride": 8,
            "d_model": 32,
            "num_hidden_layers": 2,
            "num_input_channels": 3,
        },
        {"context_length": 512, "patch_length": 16, "patch_stride": 16, "num_input_channels": 7},
    ),
    Loader(
        "patchtsmixer",
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
    ),
]
