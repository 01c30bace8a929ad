"""Models of transformers with random weights, built from configurations: no network, equal numbers each time."""

from models.loader import Loader
from models.multimodal import MULTIMODAL
from models.sound import SERIES, SOUND
from models.text import DECODERS, ENCODER_DECODERS, ENCODERS, EXPERTS, STATE_SPACE
from models.vision import CLASSIFIERS, DETECTORS, SEGMENTERS, VIDEOS

FAMILIES = {
    "text encoders": ENCODERS,
    "text decoders": DECODERS,
    "mixtures of experts": EXPERTS,
    "state space models": STATE_SPACE,
    "encoder-decoders": ENCODER_DECODERS,
    "image classification": CLASSIFIERS,
    "detection": DETECTORS,
    "segmentation and depth": SEGMENTERS,
    "videos": VIDEOS,
    "sound": SOUND,
    "time series": SERIES,
    "images with text": MULTIMODAL,
}
LOADERS: dict[str, Loader] = {loader.name: loader for family in FAMILIES.values() for loader in family}

__all__ = ["FAMILIES", "LOADERS", "Loader"]
