"""Statements of drawn functions that are layers of networks, in the form of :mod:`.statements`."""

from __future__ import annotations

import torch

from tests.fuzz.torch_programs.functions import Drawn, Writer, chosen

PRODUCTS = """
    F.linear({x}, {rows}, {bias})
    {x} @ {columns}
    torch.matmul({x}, {vector})
    {x} @ {x}.transpose(-2, -1)
    torch.einsum('...i,oi->...o', {x}, {rows})
    F.bilinear({x}, {x}, {cube})
"""

PRODUCTS_OF_MATRICES = """
    torch.addmm({added}, {x}, {columns}, beta={b}, alpha={c})
    torch.mm({x}.t(), {x})
    torch.cdist({x}, {x} + 1)
    torch.mv({x}, {vector})
    torch.kron({x}[:3, :3], {x}[-2:, :2])
"""

PRODUCTS_OF_BATCHES = """
    torch.bmm({x}, {batch})
    torch.baddbmm({bias}, {x}, {batch}, alpha=0.5)
"""


def product(w: Writer) -> str:
    x = w.float(1, 2, 2, 3, 4)
    shape = w.shape(x)
    inner, out = shape[-1], w.one(1, 2, 5, 8, 33)
    lines = PRODUCTS + {2: PRODUCTS_OF_MATRICES, 3: PRODUCTS_OF_BATCHES}.get(len(shape), "")
    draws: dict[str, Drawn] = {
        "rows": lambda: w.input([out, inner]),
        "columns": lambda: w.input([inner, out]),
        "vector": lambda: w.input([inner]),
        "bias": lambda: w.input([out]),
        "cube": lambda: w.input([3, inner, inner]),
        "added": lambda: w.input(w.one([out], [shape[0], out], [1, out])),
        "batch": lambda: w.input([shape[0], inner, out]),
    }
    return chosen(w, lines, x=x, **draws)


IMAGES = """
    F.conv2d({x}, {weight}, {bias}, stride={few}, padding={pad}, dilation={few}, groups={groups})
    F.conv2d({x}, {weight}, {bias}, padding='same', groups={groups})
    F.conv_transpose2d({x}, {transposed}, stride={few}, padding={bit}, output_padding={bit})
    F.max_pool2d({x}, {kernel}, stride={few}, padding={half}, ceil_mode={flag})
    F.avg_pool2d({x}, {kernel}, stride={few}, padding={half}, ceil_mode={flag}, count_include_pad={flag})
    F.adaptive_avg_pool2d({x}, {size})
    F.adaptive_max_pool2d({x}, 1)
    F.lp_pool2d({x}.abs() + 0.1, 2, {kernel})
    F.interpolate({x}, scale_factor={scale}, mode='{way}')
    F.interpolate({x}, size=({few}, 5), mode='bilinear', align_corners={flag})
    F.pad({x}, {padding}, mode='{border}')
    F.batch_norm({x}, None, None, {affine}, training=True, eps=0.01)
    F.batch_norm({x}, {affine}.detach(), {affine}.detach().abs() + 1, training=False)
    F.instance_norm({x}, eps=0.1)
    F.group_norm({x}, {groups}, {affine}, None, 0.1)
    F.group_norm({x}, {groups}, {affine}, {affine})
    F.local_response_norm({x}, 2)
    F.unfold({x}, {kernel})
    F.pixel_shuffle({x}, {few})
    F.pixel_unshuffle({x}, {few})
    F.channel_shuffle({x}, {groups})
    {x}.to(memory_format=torch.channels_last) * 2
    F.max_pool2d({x}, {kernel}, return_indices=True)[0]
    F.conv1d({x}.flatten(2), {line}, stride={few})
    F.avg_pool1d({x}.flatten(2), 2)
    F.conv3d({x}.unsqueeze(2), {cube})
    F.grid_sample({x}, torch.tanh({grid}), align_corners={flag}, padding_mode='zeros')
    F.glu({x}, {dim})
    F.max_unpool2d(*F.max_pool2d({x}, 2, return_indices=True), 2)
"""


def image(w: Writer) -> str:
    x = w.float(4)
    batch, channels, height, width = w.shape(x)
    groups = w.one(*[each for each in range(1, channels + 1) if channels % each == 0])
    out, kernel = groups * w.int(1, 3), [w.int(1, min(3, height)), w.int(1, min(3, width))]
    draws: dict[str, Drawn] = {
        "weight": lambda: w.input([out, channels // groups, *kernel]),
        "bias": lambda: w.one("None", w.input([out])),
        "transposed": lambda: w.input([channels, w.int(1, 3), *kernel]),
        "line": lambda: w.input([2, channels, 1]),
        "cube": lambda: w.input([2, channels, 1, *kernel]),
        "affine": lambda: w.input([channels]),
        "grid": lambda: w.input([batch, 2, 3, 2]),
        "few": lambda: w.int(1, 2),
        "pad": lambda: w.int(0, 2),
        "padding": lambda: [w.int(0, 2) for _ in range(4)],
        "border": lambda: w.one("constant", "replicate", "reflect", "circular"),
        "size": lambda: w.one(1, (1, 1), (2, 1), (None, 1), 2),
        "scale": lambda: w.one(2, 0.5, 1.5),
        "way": lambda: w.one("nearest", "bilinear", "bicubic", "nearest-exact", "area"),
    }
    return chosen(w, IMAGES, x=x, groups=groups, kernel=kernel, half=min(kernel) // 2, dim=w.dim(x), **draws)


LOSSES = """
    F.cross_entropy({x}, {labels}, {weight}, reduction='{kind}', label_smoothing={smooth}, ignore_index={ignored})
    F.cross_entropy({x}, {y}.softmax(-1), reduction='{kind}')
    F.nll_loss({x}.log_softmax(-1), {labels}, {weight}, reduction='{kind}', ignore_index={ignored})
    F.mse_loss({x}, {y}, reduction='{kind}')
    F.l1_loss({x}, {y}, reduction='{kind}')
    F.smooth_l1_loss({x}, {y}, beta={b}, reduction='{kind}')
    F.huber_loss({x}, {y}, delta={b}, reduction='{kind}')
    F.binary_cross_entropy({x}.sigmoid(), {y}.sigmoid(), reduction='{kind}')
    F.binary_cross_entropy_with_logits({x}, {y}.sigmoid(), pos_weight={weight}, reduction='{kind}')
    F.kl_div({x}.log_softmax(-1), {y}.softmax(-1), reduction='{kind}')
    F.kl_div({x}.log_softmax(-1), {y}.log_softmax(-1), reduction='batchmean', log_target=True)
    F.soft_margin_loss({x}, {y}.sign(), reduction='{kind}')
    F.margin_ranking_loss({x}, {y}, {y}.sign(), margin=0.1, reduction='{kind}')
    F.hinge_embedding_loss({x}, {y}.sign(), reduction='{kind}')
    F.poisson_nll_loss({x}, {y}.abs(), full={flag}, reduction='{kind}')
    F.gaussian_nll_loss({x}, {y}, {y}.abs() + 0.1, reduction='{kind}')
    F.multi_margin_loss({x}, {labels}, reduction='{kind}')
    F.triplet_margin_loss({x}, {y}, {y} * 2 + 1, reduction='{kind}')
    F.multilabel_soft_margin_loss({x}, {y}.sigmoid(), reduction='{kind}')
"""


def loss(w: Writer) -> str:
    x = w.float(2)
    rows, classes = w.shape(x)
    draws: dict[str, Drawn] = {
        "y": lambda: w.input([rows, classes], grad=False),
        "labels": lambda: w.positions(classes, [rows]),
        "weight": lambda: w.one("None", f"{w.input([classes], grad=False)}.abs()"),
        "kind": lambda: w.one("mean", "sum", "none"),
        "smooth": lambda: w.one(0.0, 0.1),
        "ignored": lambda: w.one(-100, 0, 1),
    }
    return chosen(w, LOSSES, x=x, **draws)


SEQUENCES = """
    F.scaled_dot_product_attention({x}, {key}, {value}, attn_mask={mask}, scale={scale})
    F.scaled_dot_product_attention({x}, {key}, {value}, is_causal=True, scale={scale})
    F.layer_norm({x}, {inner}, {affine}, eps={eps})
    F.layer_norm({x}, {inner}, {affine}, {affine})
    F.rms_norm({x}, {inner}, {affine}, eps={eps})
    F.rms_norm({x}, {inner})
    torch.softmax({x} @ {key}.transpose(-2, -1) * {b}, -1) @ {value}
    torch.softmax(({x} @ {key}.mT).masked_fill({causal}.to({x}.device), {low}), -1) @ {value}
"""


def sequence(w: Writer) -> str:
    x = w.float(4)
    batch, heads, length, width = w.shape(x)
    keys = w.one(length, w.int(1, 7))
    inner = w.one([width], [length, width])
    draws: dict[str, Drawn] = {
        "key": lambda: w.input([batch, heads, keys, width]),
        "value": lambda: w.input([batch, heads, keys, w.one(width, 3)]),
        "mask": lambda: w.one(
            lambda: w.input([length, keys], torch.bool),
            lambda: w.input([batch, 1, length, keys], grad=False),
            lambda: w.input([1, keys], torch.bool),
            lambda: None,
        )(),
        "affine": lambda: w.input(inner),
        "scale": lambda: w.one(None, 0.3),
        "eps": lambda: w.one(1e-5, 0.1),
        "causal": f"torch.ones({length}, {keys}, dtype=torch.bool).triu(1)",
        "low": lambda: w.one(-1e9, -5.0),
    }
    return chosen(w, SEQUENCES, x=x, inner=inner, **draws)


# PyTorch's lists of ops that autocast computes in float32 differ between the CPU and other devices.
AUTOCAST = """
    F.linear({x}, {weight})
    ({x} @ {weight}.t()).float().softmax(-1)
    F.layer_norm(F.linear({x}, {weight}).float(), (5,))
    F.linear({x}, {weight}).float().sum() + {x}.sum()
    F.cross_entropy(F.linear({x}, {weight}).float(), {labels})
"""


def autocast(w: Writer) -> tuple[list[str], list[str]]:
    x = w.of(
        lambda value: value.dtype is torch.float32 and value.dim() == 2,
        lambda: [w.int(1, 8), w.one(4, 33)],
        torch.float32,
    )
    rows, inner = w.shape(x)
    name, weight = w.new_name(), w.input([5, inner], torch.float32)
    line = chosen(w, AUTOCAST, x=x, weight=weight, labels=lambda: w.positions(5, [rows]))
    return [f"with torch.autocast({x}.device.type, dtype=torch.bfloat16):", f"    {name} = {line}"], [name]


__all__ = ["autocast", "image", "loss", "product", "sequence"]
