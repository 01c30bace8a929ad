"""Statements of drawn functions: PyTorch's functions and methods, with drawn arguments.

Each family is a text with one expression a line. What stands in braces is drawn only for the line that is chosen.
"""

from __future__ import annotations

import torch

from tests.fuzz.torch_programs.control import control
from tests.fuzz.torch_programs.functions import Drawn, Statement, Writer, chosen
from tests.fuzz.torch_programs.idioms import idiom
from tests.fuzz.torch_programs.networks import autocast, image, loss, product, sequence

UNARY = """
    torch.tanh({x})
    torch.sigmoid({x})
    torch.relu({x})
    F.gelu({x})
    F.gelu({x}, approximate='tanh')
    F.silu({x})
    F.mish({x})
    F.softplus({x}, beta={b}, threshold={t})
    F.elu({x}, alpha={b})
    F.selu({x})
    F.celu({x}, alpha={b})
    F.leaky_relu({x}, {c})
    F.hardtanh({x}, -0.5, 0.7)
    F.hardswish({x})
    F.hardsigmoid({x})
    F.relu6({x} * 4)
    F.softsign({x})
    F.tanhshrink({x})
    F.softshrink({x}, 0.3)
    F.hardshrink({x}, 0.3)
    F.threshold({x}, 0.1, -2.0)
    F.logsigmoid({x})
    torch.exp({x})
    torch.expm1({x})
    torch.log({x}.abs() + 0.5)
    torch.log1p({x}.abs())
    torch.sqrt({x}.abs() + 0.1)
    torch.rsqrt({x}.abs() + 0.1)
    torch.sin({x})
    torch.cos({x})
    torch.atan({x})
    torch.erf({x})
    torch.square({x})
    {x} ** 2
    {x} ** 3
    ({x}.abs() + 0.1) ** {c}
    {b} ** {x}
    {x}.abs()
    -{x}
    {x}.sign()
    {x}.clamp(-0.5, 0.8)
    {x}.clamp(min={c})
    {x}.clamp(max={c})
    {x}.reciprocal().clamp(-9, 9)
    {x} * {c}
    {c} - {x}
    {c} / ({x}.abs() + 0.5)
    {x} / {b}
    {x} + {c}
    {x}.sinh()
    {x}.frac()
    {x}.floor()
    {x}.round()
    {x}.trunc()
    torch.nan_to_num({x})
    torch.asinh({x})
    torch.atan2({x}, {x}.abs() + 1)
    torch.xlogy({x}.abs(), {x}.abs() + 1)
    {x}.logit(eps=0.1)
    F.dropout({x}, 0.5, training=False)
    torch.sinc({x})
    torch.erfc({x})
    torch.i0({x})
    {x}.exp2()
    torch.digamma({x}.abs() + 1)
    torch.lgamma({x}.abs() + 1)
    {x}.fmod(0.7)
    {x}.remainder(0.7)
    F.rrelu({x})
    {x}.to(torch.float32)
    {x}.to(torch.bfloat16)
    {x}.double()
    {x}.contiguous()
    {x}.clone()
    {x}.detach() * 2
    {x}.to(torch.int32)
    ({x} > {c})
    ({x} <= {c}).to({x}.dtype)
    {x}.isfinite()
"""


def unary(w: Writer) -> str:
    x = w.float(*(() if w.chance(0.9) else (0, 4)))
    return chosen(w, UNARY, x=x, t=lambda: w.one(1, 20))


BINARY = """
    {x} + {y}
    {x} - {y}
    {x} * {y}
    {x} / ({y}.abs() + 0.5)
    torch.maximum({x}, {y})
    torch.minimum({x}, {y})
    torch.add({x}, {y}, alpha={c})
    torch.sub({x}, {y}, alpha={c})
    torch.where({x} > {y}, {x}, {y} * 2)
    torch.hypot({x}, {y})
    torch.lerp({x}, {y}, {c})
    ({x} < {y}) | ({x} > 1)
    torch.addcmul({x}, {y}, {y}, value={c})
    torch.addcdiv({x}, {y}, {y}.abs() + 1, value={c})
    torch.fmax({x}, {y})
    torch.logaddexp({x}, {y})
    torch.copysign({x}, {y})
    torch.dist({x}, {y})
    torch.eq({x}, {y})
    ({x} - {y}).pow(2)
    torch.rsub({x}, {y})
    torch.fmod({x}, {y}.abs() + 0.3)
    torch.remainder({x}, {y}.abs() + 0.3)
    torch.div({x}, {y}.abs() + 0.4, rounding_mode='floor')
    ({x}.abs() + 0.2) ** {y}
    torch.heaviside({x}, {y})
    torch.xlogy({x}.abs(), {y}.abs() + 0.2)
"""


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
    return chosen(w, BINARY, x=x, y=y)


REDUCTIONS = """
    {x}.sum()
    {x}.mean()
    {x}.sum({dims}, keepdim={flag})
    {x}.mean({dims}, keepdim={flag})
    {x}.amax({dims}, keepdim={flag})
    {x}.amin({dims}, keepdim={flag})
    {x}.prod({dim}, keepdim={flag})
    {x}.var({dims}, correction={bit}, keepdim={flag})
    {x}.logsumexp({dims}, keepdim={flag})
    ({x}.var({dims}, keepdim=True, unbiased={flag}) + 0.1).sqrt()
    torch.linalg.vector_norm({x}, {order}, {dims}, keepdim={flag})
    {x}.max({dim}, keepdim={flag}).values
    {x}.min({dim}, keepdim={flag}).values
    {x}.argmax({dim}, keepdim={flag})
    {x}.argmin({dim})
    {x}.cumsum({dim})
    {x}.cumprod({dim})
    {x}.cummax({dim}).values
    {x}.logcumsumexp({dim})
    {x}.softmax({dim})
    {x}.log_softmax({dim})
    F.softmin({x}, {dim})
    F.normalize({x}, dim={dim}, p={order})
    {x}.median({dim}).values
    torch.std_mean({x}, {dim})[1]
    {x}.nansum({dims})
    ({x} > 0).any({dim})
    ({x} > 0).all({dim}, keepdim={flag})
    ({x} > 0).sum({dim})
    {x}.norm()
    {x}.max()
    {x}.aminmax(dim={dim}).max
    {x}.sum({dim}, dtype=torch.float32)
    {x}.diff(dim={dim})
    {x}.trapezoid(dim={dim})
    torch.count_nonzero({x} > 0.2, {dim})
    {x}.std()
    {x}.quantile(0.3, {dim})
"""


def reduction(w: Writer) -> str:
    x = w.float(1, 2, 3, 4)
    rank = len(w.shape(x))
    dims = w.random.sample(range(rank), w.int(1, rank))
    dims = [dim - rank if w.chance(0.4) else dim for dim in dims]
    return chosen(w, REDUCTIONS, x=x, dims=dims, dim=dims[0], order=lambda: w.one(1, 2, 3, 0.5))


VIEWS = """
    {x}.transpose({dim}, {other})
    {x}.permute({order})
    {x}.reshape(-1)
    {x}.flatten({axis})
    {x}.unsqueeze({place})
    {x}.squeeze()
    {x}.flip({dim})
    {x}.roll({shift}, {dim})
    {x}.narrow({dim}, {start}, {length})
    {x}.select({dim}, {start})
    {x}.unflatten({dim}, ({divisor}, -1))
    {x}.chunk({few}, {dim})[-1]
    {x}.split({length}, {dim})[0]
    {x}.unsqueeze(0).expand({twice})
    {x}.repeat({repeats})
    {x}[{index}]
    {x}[{index}]
    {x}[{index}]
    {x}.diagonal(dim1=-2, dim2=-1)
    {x}.tril({shift})
    {x}.triu({shift})
    {x}.unfold({dim}, {length}, {few})
    torch.cat([{x}, {x} * 2], {dim})
    torch.stack([{x}, -{x}], {dim})
    {x}.movedim({dim}, {other})
    {x}.mT.contiguous()
    {x}.repeat_interleave(2, {dim})
    torch.rot90({x}, {few}, (-2, -1))
    {x}.swapaxes({dim}, -1).reshape(-1)
    {x}.tile(2)
    F.pad({x}, {padding}, value={c})
    {x}.view(-1)
    {x}.unbind({dim})[-1]
    torch.hstack([{x}, {x}])
    torch.diag_embed({x})
    {x}.as_strided(({few},), (1,))
    {x}.view_as({x})
    torch.atleast_3d({x})
"""


def view(w: Writer) -> str:
    x = w.float(1, 2, 2, 3, 4)
    shape = w.shape(x)
    rank, dim = len(shape), w.dim(x)
    size = shape[dim]
    start = w.int(0, size - 1)
    pieces = (":", ":", "...", "None", "::2", "-1", "1:", ":-1", "0", "-2:")
    draws: dict[str, Drawn] = {
        "other": lambda: w.dim(x),
        "order": lambda: w.random.sample(range(rank), rank),
        "axis": lambda: w.int(0, rank - 1),
        "place": lambda: w.int(-rank - 1, rank),
        "shift": lambda: w.int(-3, 3),
        "length": lambda: w.int(1, size - start),
        "divisor": lambda: w.one(*[each for each in range(1, size + 1) if size % each == 0]),
        "few": lambda: w.int(1, 3),
        "repeats": lambda: [w.int(1, 2) for _ in shape],
        "index": lambda: ", ".join(w.one(*pieces) for _ in range(w.int(1, rank))),
        "padding": lambda: [w.int(-1, 2) for _ in range(2 * w.int(1, rank))],
    }
    return chosen(w, VIEWS, x=x, dim=dim, start=start, twice=[2, *shape], **draws)


JOINED = """
    torch.cat([{x}, {y}], {dim})
    torch.stack([{y}, {x}], {dim})
    torch.cat([{x}, {y}, {x}[:0]], 0)
    torch.outer({x}.flatten()[:9], {y}.flatten()[:7])
    torch.einsum('...i,...i->...', {x}, {y})
    torch.tensordot({x}, {y}, dims={count})
    F.cosine_similarity({x}, {y}, dim={dim})
    F.pairwise_distance({x}, {y})
    torch.vdot({x}.flatten(), {y}.flatten())
    torch.block_diag({x}.reshape(1, -1)[:, :5], {y}.reshape(-1, 1)[:5])
    F.cosine_embedding_loss({x}.reshape(1, -1), {y}.reshape(1, -1), torch.ones(1, device={x}.device))
    torch.meshgrid({x}.flatten()[:5], {y}.flatten()[:4], indexing='ij')[1]
"""


def joined(w: Writer) -> str:
    x = w.float(1, 2, 3)
    return chosen(w, JOINED, x=x, y=w.like(x), dim=w.dim(x), count=lambda: w.int(1, len(w.shape(x))))


INDEXED = """
    {x}.index_select({dim}, {few})
    {x}.gather({dim}, {many})
    torch.gather({x}, {dim}, {many})
    {x}.scatter_add({dim}, {many}, {y})
    {x}.movedim({dim}, 0)[{few}]
    {x}.movedim({dim}, -1)[..., {few}]
    {x}.index_add({dim}, {few}, {x}.index_select({dim}, {few}), alpha={c})
    {x}.index_fill({dim}, {few}, 0.5)
    {x}.scatter_reduce({dim}, {many}, {y}, '{combined}', include_self={flag})
    {x}.scatter({dim}, {many}, 1.5)
    torch.take({x}, {few})
    torch.take_along_dim({x}, {many}, {dim})
    {x}.index_put(({rows},), torch.ones_like({x}[:1]), accumulate=True)
    F.embedding({rows}, {x}.reshape({x}.shape[0], -1))
    F.one_hot({few}, {count}).to({x}.dtype) @ {x}.movedim({dim}, 0).reshape({count}, -1)
    F.embedding_bag({rows}.reshape(-1, 2), {x}.reshape({x}.shape[0], -1), mode='{bag}')
    {x}.masked_fill({x} > 0.3, {c})
    {x}.masked_fill({mask}, -2.0)
    torch.where({mask}, {x}, {c})
    {x}.topk({k}, {dim}).values
    {x}.topk({k}, {dim}, largest=False).indices
    torch.topk({x}, {k}, dim={dim})[0]
    {x}.sort({dim}, descending={flag}).values
    {x}.argsort({dim})
    {x}.kthvalue({k}, {dim}).values
    torch.argmax({x}, {dim})
    torch.bucketize({x}, torch.linspace(-1, 1, 5, device={x}.device, dtype={x}.dtype))
    torch.searchsorted(torch.linspace(-1, 1, 5, device={x}.device, dtype={x}.dtype), {x})
    {x}.select_scatter({x}.select({dim}, 0) * 2, {dim}, -1)
    {x}.slice_scatter({x}.narrow({dim}, 0, 1), {dim}, {count} - 1, {count})
    {x}.masked_scatter({x} > 0, {x}.flatten() * 2)
"""


def indexed(w: Writer) -> str:
    x = w.float(1, 2, 3)
    shape = w.shape(x)
    dim = w.dim(x)
    count = shape[dim]
    sizes = [w.int(1, 5) if axis == dim % len(shape) else size for axis, size in enumerate(shape)]
    draws: dict[str, Drawn] = {
        "few": lambda: w.positions(count, [w.int(1, 4)]),
        "many": lambda: w.positions(count, sizes),
        "rows": lambda: w.positions(shape[0], [2]),
        "y": lambda: w.input(sizes),
        "mask": lambda: w.input(shape, torch.bool),
        "k": lambda: w.int(1, count),
        "combined": lambda: w.one("sum", "mean", "amax", "amin"),
        "bag": lambda: w.one("sum", "mean", "max"),
    }
    return chosen(w, INDEXED, x=x, dim=dim, count=count, **draws)


WRITTEN = """
    {v}[0] = 1.5
    {v}[..., 1:] = {v}[..., :-1].clone()
    {v}[::2] *= 2
    {v}[-1].copy_({v}[0])
    {v} += {x}
    {v}.mul_(0.5).add_({x})
    {v}[{mask}] = 0.25
    {v}.masked_fill_({mask}, -1.0)
    {v}.clamp_(-0.5, 0.5)
    {v}.relu_()
    F.relu({v}, inplace=True)
    {v}.zero_()
    {v}.fill_(0.3)
    {v}.tanh_()
    {v}.neg_()
    {v}[..., 0] += {x}.sum()
    {v}.index_add_(0, {rows}, {x}[:2])
    {v}.index_copy_(0, {rows}, {x}[:2])
    {v}.scatter_(0, {rows}.reshape(-1, *[1] * ({v}.dim() - 1)), 0.75)
    {v}[{rows}] = {x}[:2]
    {v}[{rows}] += 1
    {v}.index_put_(({rows},), {x}[:2], accumulate=True)
    {v}.transpose(0, -1).mul_(2)
    {v}.flatten()[1:].sub_(1)
    {v}.t_()
    {v}.squeeze_()
    {v}.diagonal(dim1=0, dim2=-1).fill_(0.5)
    {v}.unsqueeze_(0)
    {v}.lerp_({x}, 0.3)
    {v}.addcmul_({x}, {x}, value=0.5)
    torch.add({x}.detach(), 1, out={v})
"""


def written(w: Writer) -> tuple[list[str], list[str]]:
    """Changes a copy of a variable in place."""
    x = w.float(1, 2, 3)
    name, shape = w.new_name(), w.shape(x)
    w.used.add(x)
    draws: dict[str, Drawn] = {
        "mask": lambda: w.input(shape, torch.bool),
        "rows": lambda: w.positions(shape[0], [min(2, shape[0])], repeated=False),
    }
    return [f"{name} = {x}.{w.one('clone()', 'mul(1)')}", chosen(w, WRITTEN, v=name, x=x, **draws)], [name]


INTEGERS = """
    {x} + {y}
    {x} * {y}
    {x} - {y}
    {x} // {n}
    {x} % {n}
    torch.div({x}, {n}, rounding_mode='trunc')
    {x} & {y}
    {x} | {y}
    {x} ^ {y}
    ~{x}
    {x} << 1
    {x} >> 1
    {x}.float() * 0.5
    {x} / {n}
    {x}.sum({dim})
    {x}.cumsum({dim})
    {x}.amax({dim})
    {x}.argmax({dim})
    {x}.sort({dim}, stable=True).values
    {x} > {y}
    torch.where({x} > {y}, {x}, {n})
    {x}.clamp(-2, 3)
    {x}.abs()
    {x}.to(torch.bfloat16)
    {x}.bool()
    {x}.prod({dim})
    ({x} % 2).bool().float()
    {x}.float().mean({dim})
    {x} ** 2
    torch.maximum({x}, {y})
    torch.fmod({x}, {n})
    {x}.float().cumsum({dim})
    torch.eye({n}, device={x}.device) * {n}
    torch.arange({n}, device={x}.device) * {n}
    torch.bincount({x}.flatten().long().abs() % 5, minlength=5)
    {x}.float().histc(5, -4, 4)
    F.one_hot({x}.long() % 4, 9)
"""


def whole(w: Writer) -> str:
    """Integers."""
    dtype = w.one(torch.int32, torch.int64, torch.uint8, torch.int8, torch.int16)
    known = [name for name, value in w.values.items() if value.dtype is dtype and value.dim() > 0 and value.numel()]
    x = w.one(*known) if known and w.flag() else w.input([w.one(1, 3, 4, 33) for _ in range(w.int(1, 2))], dtype)
    w.used.add(x)
    return chosen(w, INTEGERS, x=x, y=lambda: w.input(w.shape(x), dtype), dim=w.dim(x), n=lambda: w.one(2, 3, 5))


COMPLEX = """
    torch.view_as_real(torch.complex({x}, {y}) * torch.complex({y}, {x}))
    torch.complex({x}, {y}).abs()
    (torch.polar({x}.abs() + 0.1, {y}) * 1j).real
    torch.fft.rfft({x}).abs()
    torch.fft.irfft(torch.fft.rfft({x}) * 0.5, n={x}.shape[-1])
    torch.fft.fft({x}).imag
    torch.view_as_real(torch.complex({x}, {y}).conj())
    (torch.complex({x}, {y}) @ torch.complex({x}, {y}).mT).real
    torch.complex({x}, {y}).sum(-1).real
    torch.view_as_real(torch.fft.fftn(torch.complex({x}, {y})))
"""


def complexes(w: Writer) -> str:
    x = w.of(lambda value: value.dtype is torch.float32 and value.dim() > 0, lambda: [3, 4], torch.float32)
    return chosen(w, COMPLEX, x=x, y=w.like(x))


STATEMENTS: list[tuple[float, Statement]] = [
    (5, unary),
    (5, binary),
    (3, reduction),
    (4, view),
    (1.5, joined),
    (3, indexed),
    (2.5, written),
    (2, product),
    (2, image),
    (1, loss),
    (1.2, sequence),
    (1, whole),
    (0.5, complexes),
    (0.4, autocast),
    (2, idiom),
    (0.5, control),
]
"""Statements with their weights."""

__all__ = ["STATEMENTS"]
