"""Statements of drawn functions: PyTorch's functions and methods, with drawn arguments."""

from __future__ import annotations


import torch

from tests.fuzz.torch_programs.functions import Statement, Writer
from tests.fuzz.torch_programs.idioms import IDIOMS

UNARY = (
    "torch.tanh({x})", "torch.sigmoid({x})", "torch.relu({x})", "F.gelu({x})", "F.gelu({x}, approximate='tanh')",
    "F.silu({x})", "F.mish({x})", "F.softplus({x}, beta={b}, threshold={t})", "F.elu({x}, alpha={b})", "F.selu({x})",
    "F.celu({x}, alpha={b})", "F.leaky_relu({x}, {c})", "F.hardtanh({x}, -0.5, 0.7)", "F.hardswish({x})",
    "F.hardsigmoid({x})", "F.relu6({x} * 4)", "F.softsign({x})", "F.tanhshrink({x})", "F.softshrink({x}, 0.3)",
    "F.hardshrink({x}, 0.3)", "F.threshold({x}, 0.1, -2.0)", "F.logsigmoid({x})", "torch.exp({x})", "torch.expm1({x})",
    "torch.log({x}.abs() + 0.5)", "torch.log1p({x}.abs())", "torch.sqrt({x}.abs() + 0.1)", "torch.rsqrt({x}.abs() + 0.1)",
    "torch.sin({x})", "torch.cos({x})", "torch.atan({x})", "torch.erf({x})", "torch.square({x})", "{x} ** 2", "{x} ** 3",
    "({x}.abs() + 0.1) ** {c}", "{b} ** {x}", "{x}.abs()", "-{x}", "{x}.sign()", "{x}.clamp(-0.5, 0.8)", "{x}.clamp(min={c})",
    "{x}.clamp(max={c})", "{x}.reciprocal().clamp(-9, 9)", "{x} * {c}", "{c} - {x}", "{c} / ({x}.abs() + 0.5)", "{x} / {b}",
    "{x} + {c}", "{x}.sinh()", "{x}.frac()", "{x}.floor()", "{x}.round()", "{x}.trunc()", "torch.nan_to_num({x})",
    "torch.asinh({x})", "torch.atan2({x}, {x}.abs() + 1)", "torch.xlogy({x}.abs(), {x}.abs() + 1)", "{x}.logit(eps=0.1)",
    "F.dropout({x}, {p}, training=False)", "torch.sinc({x})", "torch.erfc({x})", "torch.i0({x})", "{x}.exp2()",
    "torch.digamma({x}.abs() + 1)", "torch.lgamma({x}.abs() + 1)", "{x}.fmod(0.7)", "{x}.remainder(0.7)", "F.rrelu({x})",
    "{x}.to(torch.float32)", "{x}.to(torch.bfloat16)", "{x}.double()", "{x}.half().float()", "{x}.contiguous()", "{x}.clone()",
    "{x}.detach() * 2", "{x}.to(torch.int32)", "({x} > {c})", "({x} <= {c}).to({x}.dtype)", "{x}.isfinite()",
)  # fmt: skip
"""Expressions of one float variable, with drawn numbers: ``b`` and ``t`` are positive, ``c`` is any, ``p`` a share."""


def unary(w: Writer) -> str:
    x = w.float(*(() if w.chance(0.9) else (0, 4)))
    numbers = {"b": w.one(0.5, 1.0, 1.5, 2), "t": w.one(1, 20), "c": w.one(0.1, -0.3, 0.5, 2, -1), "p": w.one(0.1, 0.5)}
    return w.one(*UNARY).format(x=x, **numbers)


def _broadcast(w: Writer, x: str) -> str:
    """Returns an operand that broadcasts to a variable: a part of it, or a new input."""
    shape = w.shape(x)
    if shape and w.chance(0.3):
        dim = w.dim(x)
        return f"{x}.{w.one('sum', 'mean', 'amax')}({dim}, keepdim=True)" if w.flag() else f"{x}.narrow({dim}, 0, 1)"
    kept = [1 if w.chance(0.4) else size for size in shape]
    return w.input(kept[w.int(0, len(kept)) :])


def binary(w: Writer) -> str:
    x = w.float()
    y = w.like(x) if w.chance(0.6) else _broadcast(w, x)
    if w.flag():
        x, y = y, x
    forms = (
        "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / ({y}.abs() + 0.5)", "torch.maximum({x}, {y})", "torch.minimum({x}, {y})",
        "torch.add({x}, {y}, alpha={c})", "torch.sub({x}, {y}, alpha={c})", "torch.where({x} > {y}, {x}, {y} * 2)",
        "torch.hypot({x}, {y})", "torch.lerp({x}, {y}, {c})", "({x} < {y}) | ({x} > 1)", "torch.addcmul({x}, {y}, {y}, value={c})",
        "torch.addcdiv({x}, {y}, {y}.abs() + 1, value={c})", "torch.fmax({x}, {y})", "torch.logaddexp({x}, {y})",
        "torch.copysign({x}, {y})", "torch.dist({x}, {y})", "torch.eq({x}, {y})", "({x} - {y}).pow(2)", "torch.rsub({x}, {y})",
        "torch.fmod({x}, {y}.abs() + 0.3)", "torch.remainder({x}, {y}.abs() + 0.3)", "torch.div({x}, {y}.abs() + 0.4, rounding_mode='floor')",
        "({x}.abs() + 0.2) ** {y}", "torch.heaviside({x}, {y})", "torch.xlogy({x}.abs(), {y}.abs() + 0.2)",
    )  # fmt: skip
    return w.one(*forms).format(x=x, y=y, c=w.one(0.5, 2, -1, 0.1))


def reduction(w: Writer) -> str:
    x = w.float(1, 2, 3, 4)
    dims = w.random.sample(range(len(w.shape(x))), w.int(1, len(w.shape(x))))
    dims = [dim - len(w.shape(x)) if w.chance(0.4) else dim for dim in dims]
    keep, dim = w.flag(), dims[0]
    forms = (
        f"{x}.sum()", f"{x}.mean()", f"{x}.sum({dims}, keepdim={keep})", f"{x}.mean({dims}, keepdim={keep})",
        f"{x}.amax({dims}, keepdim={keep})", f"{x}.amin({dims}, keepdim={keep})", f"{x}.prod({dim}, keepdim={keep})",
        f"{x}.var({dims}, correction={w.int(0, 1)}, keepdim={keep})", f"{x}.logsumexp({dims}, keepdim={keep})",
        f"({x}.var({dims}, keepdim=True, unbiased={w.flag()}) + 0.1).sqrt()", f"torch.linalg.vector_norm({x}, {w.one(1, 2, 3, 0.5)}, {dims}, keepdim={keep})",
        f"{x}.max({dim}, keepdim={keep}).values", f"{x}.min({dim}, keepdim={keep}).values", f"{x}.argmax({dim}, keepdim={keep})",
        f"{x}.argmin({dim})", f"{x}.cumsum({dim})", f"{x}.cumprod({dim})", f"{x}.cummax({dim}).values", f"{x}.logcumsumexp({dim})",
        f"{x}.softmax({dim})", f"{x}.log_softmax({dim})", f"F.softmin({x}, {dim})", f"F.normalize({x}, dim={dim}, p={w.one(1, 2)})",
        f"{x}.median({dim}).values", f"torch.std_mean({x}, {dim})[1]", f"{x}.nansum({dims})", f"({x} > 0).any({dim})", f"({x} > 0).all({dim}, keepdim={keep})",
        f"({x} > 0).sum({dim})", f"{x}.norm()", f"{x}.max()", f"{x}.aminmax(dim={dim}).max", f"{x}.sum({dim}, dtype=torch.float32)",
        f"{x}.diff(dim={dim})", f"{x}.trapezoid(dim={dim})", f"torch.count_nonzero({x} > 0.2, {dim})", f"{x}.std()", f"{x}.quantile(0.3, {dim})",
    )  # fmt: skip
    return w.one(*forms)


def view(w: Writer) -> str:
    x = w.float(1, 2, 2, 3, 4)
    shape = w.shape(x)
    rank, dim, other = len(shape), w.dim(x), w.dim(x)
    size = shape[dim]
    start = w.int(0, size - 1)
    order = w.random.sample(range(rank), rank)
    divisor = w.one(*[each for each in range(1, size + 1) if size % each == 0])
    index = ", ".join(
        w.one(":", ":", "...", "None", "::2", "-1", "1:", ":-1", f"{w.int(-1, 0)}", "-2:") for _ in range(w.int(1, rank))
    )
    forms = (
        f"{x}.transpose({dim}, {other})", f"{x}.permute({order})", f"{x}.reshape(-1)", f"{x}.flatten({w.int(0, rank - 1)})",
        f"{x}.unsqueeze({w.int(-rank - 1, rank)})", f"{x}.squeeze()", f"{x}.flip({dim})", f"{x}.roll({w.int(-3, 3)}, {dim})",
        f"{x}.narrow({dim}, {start}, {w.int(1, size - start)})", f"{x}.select({dim}, {w.int(-size, size - 1)})",
        f"{x}.unflatten({dim}, ({divisor}, -1))", f"{x}.chunk({w.int(1, 3)}, {dim})[-1]", f"{x}.split({w.int(1, size)}, {dim})[0]",
        f"{x}.unsqueeze(0).expand({[2, *shape]})", f"{x}.repeat({[w.int(1, 2) for _ in shape]})", f"{x}[{index}]", f"{x}[{index}]", f"{x}[{index}]",
        f"{x}.diagonal(dim1=-2, dim2=-1)", f"{x}.tril({w.int(-1, 1)})", f"{x}.triu({w.int(-1, 1)})", f"{x}.unfold({dim}, {w.int(1, size)}, {w.int(1, 2)})",
        f"torch.cat([{x}, {x} * 2], {dim})", f"torch.stack([{x}, -{x}], {dim})", f"{x}.movedim({dim}, {other})", f"{x}.T.contiguous() if {x}.dim() == 2 else {x} + 0",
        f"{x}.repeat_interleave(2, {dim})", f"torch.rot90({x}, {w.int(1, 3)}, (-2, -1))", f"{x}.swapaxes({dim}, -1).reshape(-1)", f"{x}.tile(2)",
        f"F.pad({x}, {[w.int(-1, 2) for _ in range(2 * w.int(1, rank))]}, value={w.one(0.0, 1.5)})", f"{x}.view(-1)", f"{x}.unbind({dim})[-1]",
        f"torch.hstack([{x}, {x}])", f"torch.diag_embed({x})", f"{x}.as_strided(({w.int(1, 2)},), (1,))", f"{x}.view_as({x})", f"torch.atleast_3d({x})",
    )  # fmt: skip
    return w.one(*forms)


def joined(w: Writer) -> str:
    x = w.float(1, 2, 3)
    y, dim = w.like(x), w.dim(x)
    forms = (
        f"torch.cat([{x}, {y}], {dim})", f"torch.stack([{y}, {x}], {dim})", f"torch.cat([{x}, {y}, {x}[:0]], 0)", f"torch.outer({x}.flatten()[:9], {y}.flatten()[:7])",
        f"torch.einsum('...i,...i->...', {x}, {y})", f"torch.tensordot({x}, {y}, dims={w.int(1, len(w.shape(x)))})", f"F.cosine_similarity({x}, {y}, dim={dim})",
        f"F.pairwise_distance({x}, {y})", f"torch.vdot({x}.flatten(), {y}.flatten())", f"torch.block_diag({x}.reshape(1, -1)[:, :5], {y}.reshape(-1, 1)[:5])",
        f"F.cosine_embedding_loss({x}.reshape(1, -1), {y}.reshape(1, -1), torch.ones(1, device={x}.device))", f"torch.meshgrid({x}.flatten()[:5], {y}.flatten()[:4], indexing='ij')[1]",
    )  # fmt: skip
    return w.one(*forms)


def indexed(w: Writer) -> str:
    x = w.float(1, 2, 3)
    shape = w.shape(x)
    dim = w.dim(x)
    count = shape[dim]
    few = w.positions(count, [w.int(1, 4)])
    sizes = [w.int(1, 5) if axis == dim % len(shape) else size for axis, size in enumerate(shape)]
    many = w.positions(count, sizes)
    y = w.input(sizes)
    forms = (
        f"{x}.index_select({dim}, {few})", f"{x}.gather({dim}, {many})", f"torch.gather({x}, {dim}, {many})", f"{x}.scatter_add({dim}, {many}, {y})",
        f"{x}.movedim({dim}, 0)[{few}]", f"{x}.movedim({dim}, -1)[..., {few}]", f"{x}.index_add({dim}, {few}, {x}.index_select({dim}, {few}), alpha={w.one(1, 0.5)})",
        f"{x}.index_fill({dim}, {few}, 0.5)", f"{x}.scatter_reduce({dim}, {many}, {y}, '{w.one('sum', 'mean', 'amax', 'amin')}', include_self={w.flag()})",
        f"{x}.scatter({dim}, {many}, 1.5)", f"torch.take({x}, {few})", f"torch.take_along_dim({x}, {many}, {dim})", f"{x}.index_put(({w.positions(shape[0], [2])},), torch.ones_like({x}[:1]), accumulate=True)",
        f"F.embedding({w.positions(shape[0], [2, 3])}, {x}.reshape({shape[0]}, -1))", f"F.one_hot({few}, {count}).to({x}.dtype) @ {x}.movedim({dim}, 0).reshape({count}, -1)",
        f"F.embedding_bag({w.positions(shape[0], [2, 3])}, {x}.reshape({shape[0]}, -1), mode='{w.one('sum', 'mean', 'max')}')", f"{x}.masked_fill({x} > 0.3, {w.one(0.0, -1.5)})",
        f"{x}.masked_fill({w.input(shape, torch.bool)}, -2.0)", f"torch.where({w.input(shape, torch.bool)}, {x}, {w.one(0.0, 3.0)})", f"{x}.topk({w.int(1, count)}, {dim}).values",
        f"{x}.topk({w.int(1, count)}, {dim}, largest=False).indices", f"torch.topk({x}, {w.int(1, count)}, dim={dim})[0]", f"{x}.sort({dim}, descending={w.flag()}).values",
        f"{x}.argsort({dim})", f"{x}.kthvalue({w.int(1, count)}, {dim}).values", f"torch.argmax({x}, {dim})", f"torch.bucketize({x}, torch.linspace(-1, 1, 5, device={x}.device, dtype={x}.dtype))",
        f"torch.searchsorted(torch.linspace(-1, 1, 5, device={x}.device, dtype={x}.dtype), {x})", f"{x}.select_scatter({x}.select({dim}, 0) * 2, {dim}, -1)",
        f"{x}.slice_scatter({x}.narrow({dim}, 0, 1), {dim}, {count - 1}, {count})", f"{x}.masked_scatter({x} > 0, {x}.flatten() * 2)",
    )  # fmt: skip
    return w.one(*forms)


def written(w: Writer) -> tuple[list[str], list[str]]:
    """Changes a copy of a variable in place, or an input."""
    x = w.float(1, 2, 3)
    name = w.new_name()
    shape = w.shape(x)
    mask = w.input(shape, torch.bool)
    forms = (
        "{v}[0] = 1.5", "{v}[..., 1:] = {v}[..., :-1].clone()", "{v}[::2] *= 2", "{v}[-1].copy_({v}[0])", "{v} += {x}", "{v}.mul_(0.5).add_({x})", "{v}[{m}] = 0.25",
        "{v}.masked_fill_({m}, -1.0)", "{v}.clamp_(-0.5, 0.5)", "{v}.relu_()", "F.relu({v}, inplace=True)", "{v}.zero_()", "{v}.fill_(0.3)", "{v}.tanh_()", "{v}.neg_()", "{v}[..., 0] += {x}.sum()",
        "{v}.index_add_(0, {i}, {x}[:2])", "{v}.index_copy_(0, {i}, {x}[:2])", "{v}.scatter_(0, {i}.reshape(-1, *[1] * ({v}.dim() - 1)), 0.75)", "{v}[{i}] = {x}[:2]", "{v}[{i}] += 1", "{v}.index_put_(({i},), {x}[:2], accumulate=True)",
        "{v}.transpose(0, -1).mul_(2)", "{v}.flatten()[1:].sub_(1)", "{v}.t_()", "{v}.squeeze_()", "{v}.diagonal(dim1=0, dim2=-1).fill_(0.5)", "{v}.unsqueeze_(0)", "{v}.lerp_({x}, 0.3)", "{v}.addcmul_({x}, {x}, value=0.5)",
        "torch.add({x}, 1, out={v})" if not w.values[x].requires_grad else "{v}.sub_(2)",
    )  # fmt: skip
    place = w.positions(shape[0], [min(2, shape[0])], repeated=False)
    begun = f"{name} = {x}.clone()" if w.chance(0.8) or w.values[x].requires_grad else f"{name} = {x} * 1"
    w.used.add(x)
    return [begun, w.one(*forms).format(v=name, x=x, m=mask, i=place)], [name]


def product(w: Writer) -> str:
    x = w.float(1, 2, 2, 3, 4)
    shape = w.shape(x)
    inner, out = shape[-1], w.one(1, 2, 5, 8, 33)
    forms = [
        lambda: f"F.linear({x}, {w.input([out, inner])}, {w.one('None', w.input([out]))})",
        lambda: f"{x} @ {w.input([inner, out])}",
        lambda: f"torch.matmul({x}, {w.input([inner])})",
        lambda: f"{x} @ {x}.transpose(-2, -1)",
        lambda: f"torch.einsum('...i,oi->...o', {x}, {w.input([out, inner])})",
        lambda: f"F.bilinear({x}, {x}, {w.input([3, inner, inner])})",
    ]
    if len(shape) == 2:
        bias = w.input(w.one([out], [shape[0], out], [1, out]))
        forms += [
            lambda: f"torch.addmm({bias}, {x}, {w.input([inner, out])}, beta={w.one(0.5, 1)}, alpha={w.one(1, 2)})",
            lambda: f"torch.mm({x}.t(), {x})",
            lambda: f"torch.cdist({x}, {x} + 1)",
            lambda: f"torch.mv({x}, {w.input([inner])})",
            lambda: f"torch.kron({x}[:3, :3], {x}[-2:, :2])",
        ]
    if len(shape) == 3:
        forms.append(lambda: f"torch.bmm({x}, {w.input([shape[0], inner, out])})")
        forms.append(lambda: f"torch.baddbmm({w.input([1, 1, out])}, {x}, {w.input([shape[0], inner, out])}, alpha=0.5)")
    return w.one(*forms)()


def image(w: Writer) -> str:
    x = w.float(4)
    _, channels, height, width = w.shape(x)
    groups = w.one(*[each for each in range(1, channels + 1) if channels % each == 0])
    out, kernel = groups * w.int(1, 3), [w.int(1, min(3, height)), w.int(1, min(3, width))]
    weight = w.input([out, channels // groups, *kernel])
    transposed = w.input([channels, w.int(1, 3), *kernel])
    bias = w.one("None", w.input([out]))
    pad, mode = [w.int(0, 2) for _ in range(4)], w.one("constant", "replicate", "reflect", "circular")
    forms = (
        f"F.conv2d({x}, {weight}, {bias}, stride={w.int(1, 2)}, padding={w.int(0, 2)}, dilation={w.int(1, 2)}, groups={groups})",
        f"F.conv2d({x}, {weight}, {bias}, padding='same', groups={groups})", f"F.conv_transpose2d({x}, {transposed}, stride={w.int(1, 2)}, padding={w.int(0, 1)}, output_padding={w.int(0, 1)})",
        f"F.max_pool2d({x}, {kernel}, stride={w.int(1, 2)}, padding={min(kernel) // 2}, ceil_mode={w.flag()})", f"F.avg_pool2d({x}, {kernel}, stride={w.int(1, 2)}, padding={min(kernel) // 2}, ceil_mode={w.flag()}, count_include_pad={w.flag()})",
        f"F.adaptive_avg_pool2d({x}, {w.one(1, (1, 1), (2, 1), (None, 1), 2)})", f"F.adaptive_max_pool2d({x}, 1)", f"F.lp_pool2d({x}.abs() + 0.1, 2, {kernel})",
        f"F.interpolate({x}, scale_factor={w.one(2, 0.5, 1.5)}, mode='{w.one('nearest', 'bilinear', 'bicubic', 'nearest-exact', 'area')}')", f"F.interpolate({x}, size=({w.int(1, 6)}, {w.int(1, 6)}), mode='bilinear', align_corners={w.flag()})",
        f"F.pad({x}, {pad}, mode='{mode}')", f"F.batch_norm({x}, None, None, {w.one('None', w.input([channels]))}, training=True, eps={w.one(1e-5, 0.1)})",
        f"F.batch_norm({x}, torch.zeros({channels}, device={x}.device), torch.ones({channels}, device={x}.device) * 2, training=False)", f"F.instance_norm({x}, eps=0.1)",
        f"F.group_norm({x}, {groups}, {w.one('None', w.input([channels]))}, {w.one('None', w.input([channels]))}, {w.one(1e-5, 0.1)})", f"F.local_response_norm({x}, 2)", f"F.unfold({x}, {kernel})",
        f"F.pixel_shuffle({x}, {w.one(1, 2)})", f"F.pixel_unshuffle({x}, {w.one(1, 2)})", f"F.channel_shuffle({x}, {groups})", f"{x}.to(memory_format=torch.channels_last) * 2", f"F.max_pool2d({x}, {kernel}, return_indices=True)[0]",
        f"F.conv1d({x}.flatten(2), {w.input([2, channels, 1])}, stride=1)", f"F.avg_pool1d({x}.flatten(2), 1)", f"F.conv3d({x}.unsqueeze(2), {w.input([2, channels, 1, *kernel])})",
        f"F.grid_sample({x}, torch.tanh({w.input([w.shape(x)[0], 2, 3, 2])}), align_corners={w.flag()}, padding_mode='{w.one('zeros', 'border')}')", f"F.glu({x}, {w.dim(x)})", f"F.max_unpool2d(*F.max_pool2d({x}, 2, return_indices=True), 2)",
    )  # fmt: skip
    return w.one(*forms)


def loss(w: Writer) -> str:
    x = w.float(2)
    rows, classes = w.shape(x)
    target, labels = w.input([rows, classes], grad=False), w.positions(classes, [rows])
    reduction = w.one("mean", "sum", "none")
    weight = w.one("None", f"{w.input([classes], grad=False)}.abs()")
    forms = (
        f"F.cross_entropy({x}, {labels}, weight={weight}, reduction='{reduction}', label_smoothing={w.one(0.0, 0.1)}, ignore_index={w.one(-100, 0)})", f"F.cross_entropy({x}, {target}.softmax(-1), reduction='{reduction}')",
        f"F.nll_loss({x}.log_softmax(-1), {labels}, weight={weight}, reduction='{reduction}', ignore_index={w.one(-100, 1)})", f"F.mse_loss({x}, {target}, reduction='{reduction}')", f"F.l1_loss({x}, {target}, reduction='{reduction}')",
        f"F.smooth_l1_loss({x}, {target}, beta={w.one(1.0, 0.3)}, reduction='{reduction}')", f"F.huber_loss({x}, {target}, delta={w.one(1.0, 0.3)}, reduction='{reduction}')", f"F.binary_cross_entropy({x}.sigmoid(), {target}.sigmoid(), reduction='{reduction}')",
        f"F.binary_cross_entropy_with_logits({x}, {target}.sigmoid(), pos_weight={weight}, reduction='{reduction}')", f"F.kl_div({x}.log_softmax(-1), {target}.softmax(-1), reduction='{w.one('batchmean', 'sum', 'none')}', log_target=False)",
        f"F.soft_margin_loss({x}, {target}.sign(), reduction='{reduction}')", f"F.margin_ranking_loss({x}, {target}, {target}.sign(), margin=0.1, reduction='{reduction}')", f"F.hinge_embedding_loss({x}, {target}.sign(), reduction='{reduction}')",
        f"F.poisson_nll_loss({x}, {target}.abs(), full={w.flag()}, reduction='{reduction}')", f"F.gaussian_nll_loss({x}, {target}, {target}.abs() + 0.1, reduction='{reduction}')", f"F.multi_margin_loss({x}, {labels}, reduction='{reduction}')",
        f"F.triplet_margin_loss({x}, {target}, {target} * 2 + 1, reduction='{reduction}')", f"F.multilabel_soft_margin_loss({x}, {target}.sigmoid(), reduction='{reduction}')",
    )  # fmt: skip
    return w.one(*forms)


def sequence(w: Writer) -> str:
    x = w.float(4)
    batch, heads, length, width = w.shape(x)
    keys = w.one(length, w.int(1, 7))
    key, value = w.input([batch, heads, keys, width]), w.input([batch, heads, keys, w.one(width, 3)])
    mask = w.one("None", "None", w.input([length, keys], torch.bool), w.input([batch, 1, length, keys], grad=False), w.input([1, keys], torch.bool))
    causal = mask == "None" and w.flag()
    scale = w.one("None", "None", 0.3)
    inner = w.one([width], [length, width])
    affine = w.one("None", w.input(inner))
    forms = (
        f"F.scaled_dot_product_attention({x}, {key}, {value}, attn_mask={mask}, is_causal={causal}, scale={scale})", f"F.layer_norm({x}, {inner}, {affine}, eps={w.one(1e-5, 0.1)})", f"F.rms_norm({x}, {inner}, {affine}, eps={w.one('None', 1e-5, 0.1)})",
        f"torch.softmax({x} @ {key}.transpose(-2, -1) * {w.one(0.3, 1.0)} + 0, -1) @ {value}",
        f"torch.softmax(({x} @ {key}.transpose(-2, -1)).masked_fill(torch.ones({length}, {keys}, dtype=torch.bool, device={x}.device).triu({w.int(0, 1)}), {w.one(-1e9, -5.0)}), -1) @ {value}",
    )  # fmt: skip
    return w.one(*forms)


def whole(w: Writer) -> str:
    """Integers and booleans."""
    shape = [w.one(1, 3, 4, 33) for _ in range(w.int(1, 2))]
    dtype = w.one(torch.int32, torch.int64, torch.uint8, torch.int8, torch.int16)
    x = w.of(lambda value: value.dtype is dtype and value.dim() > 0, lambda: shape) if w.chance(0.3) else w.input(shape, dtype)
    if w.values[x].dtype.is_floating_point:
        return f"{x}.abs().to({dtype})"
    y = w.input(w.shape(x), w.values[x].dtype)
    dim, c = w.dim(x), w.one(2, 3, 5)
    forms = (
        f"{x} + {y}", f"{x} * {y}", f"{x} - {y}", f"{x} // {c}", f"{x} % {c}", f"torch.div({x}, {c}, rounding_mode='trunc')", f"{x} & {y}", f"{x} | {y}", f"{x} ^ {y}", f"~{x}", f"{x} << 1", f"{x} >> 1", f"{x}.float() * 0.5", f"{x} / {c}",
        f"{x}.sum({dim})", f"{x}.cumsum({dim})", f"{x}.amax({dim})", f"{x}.argmax({dim})", f"{x}.sort({dim}, stable=True).values", f"{x} > {y}", f"torch.where({x} > {y}, {x}, {c})", f"{x}.clamp(-2, 3)", f"{x}.abs()", f"{x}.to(torch.bfloat16)", f"{x}.bool()",
        f"{x}.prod({dim})", f"({x} % 2).bool().float()", f"{x}.float().mean({dim})", f"{x} ** 2", f"torch.maximum({x}, {y})", f"torch.fmod({x}, {c})", f"{x}.float().cumsum({dim})", f"torch.eye({w.int(1, 5)}, device={x}.device) * {c}", f"torch.arange({w.int(1, 9)}, device={x}.device) * {c}",
        f"torch.bincount({x}.flatten().long().abs() % 5, minlength=5)", f"{x}.float().histc(5, -4, 4)", f"torch.nn.functional.one_hot({x}.long() % 4 + 0, 9)", f"{x}.unique_consecutive()[:0]",
    )  # fmt: skip
    return w.one(*forms)


def complexes(w: Writer) -> str:
    x = w.of(lambda value: value.dtype is torch.float32 and value.dim() > 0, lambda: [3, 4])
    y = w.like(x)
    n = w.shape(x)[-1]
    forms = (
        "torch.view_as_real(torch.complex({x}, {y}) * torch.complex({y}, {x}))", "torch.complex({x}, {y}).abs()", "(torch.polar({x}.abs() + 0.1, {y}) * 1j).real", "torch.fft.rfft({x}).abs()",
        "torch.fft.irfft(torch.fft.rfft({x}) * 0.5, n={n})", "torch.fft.fft({x}).imag", "torch.view_as_real(torch.complex({x}, {y}).conj())", "(torch.complex({x}, {y}) @ torch.complex({x}, {y}).mT).real" , "torch.complex({x}, {y}).sum(-1).real", "torch.view_as_real(torch.fft.fftn(torch.complex({x}, {y})))",
    )  # fmt: skip
    return w.one(*forms).format(x=x, y=y, n=n)


def autocast(w: Writer) -> tuple[list[str], list[str]]:
    x = w.of(lambda value: value.dtype is torch.float32 and value.dim() == 2, lambda: [w.int(1, 8), w.one(4, 33)])
    if w.values[x].dtype is not torch.float32:
        w.inputs[x] = w.values[x] = w.values[x].detach().float().requires_grad_(w.values[x].requires_grad)
    inner = w.shape(x)[-1]
    weight = w.input([5, inner], torch.float32)
    name = w.new_name()
    forms = (f"F.linear({x}, {weight})", f"({x} @ {weight}.t()).softmax(-1)", f"F.layer_norm(F.linear({x}, {weight}), (5,))", f"F.linear({x}, {weight}).float().sum() + {x}.sum()", f"F.cross_entropy(F.linear({x}, {weight}), torch.zeros({w.shape(x)[0]}, dtype=torch.long, device={x}.device))")
    return [f"with torch.autocast({x}.device.type, dtype=torch.bfloat16):", f"    {name} = {w.one(*forms)}"], [name]


STATEMENTS: list[tuple[float, Statement]] = [
    (5, unary), (5, binary), (3, reduction), (4, view), (1.5, joined), (3, indexed), (2.5, written), (2, product), (2, image), (1, loss),
    (1.2, sequence), (1, whole), (0.5, complexes), (0.4, autocast), (2, IDIOMS),
]  # fmt: skip
"""Statements with their weights."""

