"""Models of images and videos: classification, detection, segmentation, depth."""

from __future__ import annotations

from models.inputs import images, video
from models.loader import Loader

_VIT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 64,
    "patch_size": 16,
}
_SWIN = {
    "image_size": 64,
    "patch_size": 4,
    "embed_dim": 32,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 4,
}
_RESNET = {"embedding_size": 32, "hidden_sizes": [64, 128, 256, 512], "depths": [1, 1, 1, 1]}
_BACKBONE = {"backbone": None, "use_timm_backbone": False, "use_pretrained_backbone": False}
_STAGES = {"out_features": ["stage4"]}
_DETR = _BACKBONE | {
    "backbone_config": ("ResNetConfig", _RESNET | _STAGES),
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "num_queries": 16,
    "init_std": 0.1,  # with 0.02 all boxes are one, to bfloat16
}

CLASSIFIERS = [
    Loader("beit", "BeitConfig", "BeitForImageClassification", images(64), _VIT | {"use_relative_position_bias": True}),
    Loader(
        "bit",
        "BitConfig",
        "BitForImageClassification",
        images(64),
        {"embedding_size": 32, "hidden_sizes": [128, 256], "depths": [1, 2]},
    ),
    Loader(
        "convnext",
        "ConvNextConfig",
        "ConvNextForImageClassification",
        images(64),
        {"hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 2, 1]},
    ),
    Loader(
        "convnextv2",
        "ConvNextV2Config",
        "ConvNextV2ForImageClassification",
        images(64),
        {"hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 2, 1]},
    ),
    Loader(
        "cvt",
        "CvtConfig",
        "CvtForImageClassification",
        images(64),
        {"embed_dim": [32, 64, 96], "num_heads": [1, 2, 3], "depth": [1, 2, 3]},
    ),
    Loader("deit", "DeiTConfig", "DeiTForImageClassificationWithTeacher", images(64), _VIT),
    Loader("dinov2", "Dinov2Config", "Dinov2ForImageClassification", images(64), _VIT),
    Loader(
        "efficientnet",
        "EfficientNetConfig",
        "EfficientNetForImageClassification",
        images(64),
        {"width_coefficient": 0.5, "depth_coefficient": 0.5, "hidden_dim": 640, "image_size": 64},
        {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280, "image_size": 224},
    ),
    Loader(
        "focalnet",
        "FocalNetConfig",
        "FocalNetForImageClassification",
        images(64),
        {
            "image_size": 64,
            "embed_dim": 32,
            "hidden_sizes": [32, 64],
            "depths": [1, 1],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
        },
    ),
    Loader(
        "levit",
        "LevitConfig",
        "LevitForImageClassification",
        images(64),
        {"image_size": 64, "hidden_sizes": [32, 64, 96], "num_attention_heads": [2, 4, 6], "depths": [1, 1, 1]},
    ),
    Loader(
        "mobilenet-v1", "MobileNetV1Config", "MobileNetV1ForImageClassification", images(64), {"depth_multiplier": 0.25}
    ),
    Loader(
        "mobilenet-v2", "MobileNetV2Config", "MobileNetV2ForImageClassification", images(64), {"depth_multiplier": 0.35}
    ),
    Loader(
        "mobilevit",
        "MobileViTConfig",
        "MobileViTForImageClassification",
        images(64, 256),
        {"image_size": 64, "hidden_sizes": [32, 48, 64], "neck_hidden_sizes": [8, 16, 24, 32, 48, 64, 128]},
    ),
    Loader(
        "mobilevitv2",
        "MobileViTV2Config",
        "MobileViTV2ForImageClassification",
        images(64, 256),
        {"width_multiplier": 0.25, "image_size": 64},
    ),
    Loader(
        "poolformer",
        "PoolFormerConfig",
        "PoolFormerForImageClassification",
        images(64),
        {"hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 1, 1]},
    ),
    Loader(
        "pvt-v2",
        "PvtV2Config",
        "PvtV2ForImageClassification",
        images(64),
        {"hidden_sizes": [16, 32, 80, 128], "depths": [1, 1, 1, 1], "image_size": 64},
    ),
    Loader(
        "regnet",
        "RegNetConfig",
        "RegNetForImageClassification",
        images(64),
        {"embedding_size": 32, "hidden_sizes": [32, 64, 96, 128], "depths": [1, 1, 2, 1], "groups_width": 16},
    ),
    Loader("resnet", "ResNetConfig", "ResNetForImageClassification", images(64), _RESNET),
    Loader("swin", "SwinConfig", "SwinForImageClassification", images(64), _SWIN),
    Loader(
        "swinv2",
        "Swinv2Config",
        "Swinv2ForImageClassification",
        images(64, 256),
        _SWIN,
        {"image_size": 256, "window_size": 8},
    ),
    Loader("vit", "ViTConfig", "ViTForImageClassification", images(64), _VIT),
    Loader("vit-msn", "ViTMSNConfig", "ViTMSNForImageClassification", images(64), _VIT),
]

DETECTORS = [
    Loader(
        "conditional-detr",
        "ConditionalDetrConfig",
        "ConditionalDetrForObjectDetection",
        images(96, 320),
        _DETR,
        _BACKBONE | {"backbone_config": ("ResNetConfig", _STAGES), "init_std": 0.1},
    ),
    Loader(
        "detr",
        "DetrConfig",
        "DetrForObjectDetection",
        images(96, 320),
        _DETR,
        _BACKBONE | {"backbone_config": ("ResNetConfig", _STAGES), "init_std": 0.1},
    ),
    Loader(
        "deformable-detr",
        "DeformableDetrConfig",
        "DeformableDetrForObjectDetection",
        images(96, 320),
        _DETR | {"backbone_config": ("ResNetConfig", _RESNET | {"out_features": ["stage2", "stage3", "stage4"]})},
        _BACKBONE | {"backbone_config": ("ResNetConfig", {"out_features": ["stage2", "stage3", "stage4"]})},
    ),
    Loader(
        "yolos",
        "YolosConfig",
        "YolosForObjectDetection",
        images(64, 224),
        _VIT | {"image_size": [64, 64], "num_detection_tokens": 16},
        {"hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768, "image_size": [224, 224]},
    ),
]

SEGMENTERS = [
    Loader(
        "dpt",
        "DPTConfig",
        "DPTForDepthEstimation",
        images(64, 384),
        _VIT
        | {
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [16, 32, 48, 64],
            "fusion_hidden_size": 32,
            "is_hybrid": False,
        },
        {"is_hybrid": False},
    ),
    Loader(
        "glpn",
        "GLPNConfig",
        "GLPNForDepthEstimation",
        images(64),
        {"hidden_sizes": [16, 32, 80, 96], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32, "initializer_range": 0.1},
    ),
    Loader(
        "mobilevit-segmentation",
        "MobileViTConfig",
        "MobileViTForSemanticSegmentation",
        images(64, 256),
        {"image_size": 64, "hidden_sizes": [32, 48, 64], "neck_hidden_sizes": [8, 16, 24, 32, 48, 64, 128]},
    ),
    Loader(
        "segformer",
        "SegformerConfig",
        "SegformerForSemanticSegmentation",
        images(64),
        {"hidden_sizes": [16, 32, 80, 96], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32},
    ),
    Loader(
        "upernet",
        "UperNetConfig",
        "UperNetForSemanticSegmentation",
        images(64),
        {
            "backbone_config": (
                "ConvNextConfig",
                {
                    "hidden_sizes": [16, 32, 48, 64],
                    "depths": [1, 1, 1, 1],
                    "out_features": ["stage1", "stage2", "stage3", "stage4"],
                },
            ),
            "hidden_size": 32,
            "auxiliary_in_channels": 48,
            "auxiliary_channels": 32,
        },
        {
            "backbone_config": ("ConvNextConfig", {"out_features": ["stage1", "stage2", "stage3", "stage4"]}),
            "hidden_size": 256,
            "auxiliary_in_channels": 384,
        },
    ),
    Loader(
        "swin2sr",
        "Swin2SRConfig",
        "Swin2SRForImageSuperResolution",
        images(32, 64),
        {"image_size": 32, "embed_dim": 32, "depths": [2, 2], "num_heads": [2, 2]},
    ),
]

VIDEOS = [
    Loader(
        "timesformer",
        "TimesformerConfig",
        "TimesformerForVideoClassification",
        video(32),
        _VIT | {"image_size": 32, "num_frames": 4},
    ),
    Loader(
        "videomae",
        "VideoMAEConfig",
        "VideoMAEForVideoClassification",
        video(32),
        _VIT | {"image_size": 32, "num_frames": 4},
    ),
]
