"""``Wav2Vec2ForCTC`` of transformers, of two sizes."""

from ....inputs import waveform
from ....sizes import WAVE
from ....transformers_models import Architecture, TransformersLoader


class ModelLoader(TransformersLoader):
    architecture = Architecture("Wav2Vec2Config", "Wav2Vec2ForCTC", waveform, WAVE)
