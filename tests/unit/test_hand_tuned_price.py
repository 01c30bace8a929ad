"""The price of ResNet-50 in the form of tt-metal's demo on n150, whose time on silicon is public.

The demo (``models/demos/vision/classification/resnet50``, batch 16, 5,311 images/s of device time) keeps activations
of bfloat8_b in L1 on 56 cores, height-sharded in two stages and block-sharded in two, at lofi with 16-bit sums.
"""

from __future__ import annotations

from typing import Any

from tt_xla.cost import instruction_cost
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.target import load_target

N150 = load_target("n150")
BATCH = 16
STAGES = ((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3))
"""Size of the feature map, channels of the inner convolutions, and blocks."""
COMPUTE = {"math_fidelity": "lofi", "fp32_dest_acc_en": False, "packer_l1_acc": True}
SILICON_US = 1e6 * BATCH / 5311


def spec(shape: tuple[int, ...], dtype: DataType = DataType.BFP_BF8, **place: Any) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, dtype, **place))


def feature_map(size: int, channels: int, stage: int) -> TensorSpec:
    shape = (1, 1, BATCH * size * size, channels)
    memory, grid = (MemoryLayout.HEIGHT_SHARDED, (56, 1)) if stage < 2 else (MemoryLayout.BLOCK_SHARDED, (7, 8))
    return spec(shape, buffer=BufferType.L1, memory=memory, grid=grid)


def time(op: str, inputs: list[TensorSpec], output: TensorSpec, **attributes: Any) -> float:
    operands: dict[str, Operand] = {f"operand{number}": number for number in range(len(inputs))}
    return instruction_cost(
        Instruction(f"ttnn.{op}", operands, (len(inputs),), attributes), [*inputs, output], N150
    ).total_us


def convolution(stage: int, size: int, inputs: int, outputs: int, kernel: int, stride: int) -> float:
    source, result = feature_map(size, inputs, stage), feature_map(size // stride, outputs, stage)
    if kernel == stride == 1:
        wide = outputs // 32 if stage < 2 else -(-outputs // 256)
        config = {
            "config": "multi_cast_1d" if stage < 2 else "multi_cast",
            "per_core_m": result.layout.shard[0],
            "per_core_n": wide,
            "in0_block_w": inputs // 32 if stage < 2 else -(-inputs // 256),
            "out_subblock_h": 1,
            "out_subblock_w": max(columns for columns in range(1, 9) if wide % columns == 0),
        }
        weight = spec((inputs, outputs))
        return time("matmul", [source, weight], result, compute_config=COMPUTE, matmul_program_config=config)
    return time(
        "conv2d",
        [source, spec((1, 1, kernel * kernel * inputs, outputs))],
        result,
        compute_config=COMPUTE,
        kernel_size=[kernel, kernel],
        stride=[stride, stride],
        padding=[kernel // 2, kernel // 2],
        in_channels=inputs,
        input_width=size,
    )


def test_the_price_of_a_hand_tuned_network_is_near_its_time() -> None:
    image = (1, 1, BATCH * 115 * 115, 16)
    place = {"buffer": BufferType.L1, "memory": MemoryLayout.HEIGHT_SHARDED, "grid": (56, 1)}
    folded = spec(image, DataType.BF16, tiled=False, **place)
    first, pooled = feature_map(112, 64, 0), feature_map(56, 64, 0)
    window = {"kernel_size": [4, 4], "in_channels": 16, "input_width": 115}
    block = {"act_block_h_override": 49 * 32}
    total = time(
        "conv2d", [folded, spec((1, 1, 256, 64))], first, compute_config=COMPUTE, conv2d_config=block, **window
    )
    total += time("max_pool2d", [first], pooled, kernel_size=[3, 3])
    channels = 64
    for stage, (size, inner, blocks) in enumerate(STAGES):
        for number in range(blocks):
            stride = 2 if number == 0 and stage else 1
            before = size * stride
            total += convolution(stage, before, channels, inner, 1, 1)
            total += convolution(stage, before, inner, inner, 3, stride)
            total += convolution(stage, size, inner, 4 * inner, 1, 1)
            if number == 0:
                total += convolution(stage, before, channels, 4 * inner, 1, stride)
            channels = 4 * inner
            residual = feature_map(size, channels, stage)
            total += time("add", [residual, residual], residual, activations=[{"op_type": "relu"}])
    assert 0.95 * SILICON_US < total < 1.2 * SILICON_US
