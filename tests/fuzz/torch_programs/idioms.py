"""Groups of statements that the front end's patterns replace, and neighbours that the patterns must leave alone."""

from __future__ import annotations

import torch

from tests.fuzz.torch_programs.functions import Drawn, Writer, chosen

Lines = tuple[list[str], list[str]]

NORMS_OF_ROWS = """
    {weight} * ({normal}).to({dtype})
    ({normal}).to({dtype}) * {weight}
    {weight} * ({normal})
    ({weight} * ({normal})).to({dtype})
    (({normal}) * {weight}).to({dtype})
    (({normal}) * ({weight}.float() + 1.0)).type_as({x})
    (({normal}) * (1.0 + {weight}.float())).type_as({x})
    (({normal}) * ({weight}.float() + 2.0)).type_as({x})
    (({normal}) * {weight}.float()).type_as({x})
    ({normal}).type_as({x})
"""


def rms_norm(w: Writer) -> Lines:
    """The norms of Llama, GPT-OSS and Gemma, some with another power, axis, weight, epsilon or place of the cast."""
    type_ = w.one(torch.float32, torch.bfloat16, torch.float16)
    sizes = [w.int(1, 4), w.one(1, 5, 32, 33)] if w.flag() else [2, 3, w.one(4, 32)]
    x = w.of(lambda value: value.dtype is type_ and value.dim() > 1, lambda: sizes, type_)
    value, (n, s, r) = w.values[x], (w.new_name() for _ in range(3))
    width = value.shape[-1]
    plain, eps = w.chance(0.5), w.one(1e-5, 1e-6, 0.1, 1)
    weight = w.input([width] if plain else w.one([width], [1], [1, width], [value.shape[-2], 1]), value.dtype)
    power, dim = (2, -1) if plain else (w.one(2, 2, 3), w.one(-1, -1, -2))
    mean = f"{n}.pow({power}).mean({dim}, keepdim=True)"
    if not plain and w.chance(0.3):
        mean = f"{n}.abs().pow({power}).sum({dim}, keepdim=True)"
    root = f"torch.rsqrt({s} + {eps})"
    if w.chance(0.4):
        root = f"torch.pow({s} + {eps}, {-0.5 if plain else w.one(-0.5, -1.0)})"
    dtype = w.one(f"{x}.dtype", str(value.dtype)) if plain else w.one(f"{x}.dtype", "torch.float32")
    result = chosen(w, NORMS_OF_ROWS, x=x, weight=weight, normal=f"{n} * {root}", dtype=dtype)
    w.used |= {x, n}
    if w.chance(0.75):  # otherwise the mean of squares is returned too
        w.used.add(s)
    return [f"{n} = {x}.to(torch.float32)", f"{s} = {mean}", f"{r} = {result}"], [n, s, r]


ACTIVATIONS = """
    0.5 * {x} * (1 + torch.erf({x} / math.sqrt({two})))
    {x} * 0.5 * (1.0 + torch.erf({x} * {half}))
    0.5 * {x} * torch.erfc(-{x} * 0.7071067811865476)
    0.5 * {x} * (1 + torch.tanh({root} * ({x} + {cube} * torch.pow({x}, 3))))
    {x} * torch.sigmoid(1.702 * {x})
    {x} * torch.sigmoid({x})
    {x} * torch.tanh(F.softplus({x}))
    {x} * torch.tanh(torch.log(1 + torch.exp({x})))
    {x} * F.relu6({x} + 3) / {six}
    torch.clamp({x} + 3, 0, 6) / 6
    {x}.clamp(0, 6)
    torch.relu({x}).clamp(max={six})
    {x} / (1 + torch.exp(-{x}))
    F.silu({x}) * {y}
    F.gelu({y}) * {x}
    torch.where({x} > 0, {x}, {b} * {x})
    torch.log(1 + torch.exp({x}))
    1 / (1 + torch.exp(-{x}))
"""


def activation(w: Writer) -> Lines:
    """Activations that are written out, some with other constants."""
    x, name = w.float(), w.new_name()
    draws: dict[str, Drawn] = {
        "two": lambda: w.one(2.0, 2.0, 3.0),
        "half": lambda: w.one(0.7071067811865476, 0.5),
        "root": lambda: w.one("math.sqrt(2 / math.pi)", "math.sqrt(2 / math.pi)", "0.5"),
        "cube": lambda: w.one(0.044715, 0.044715, 0.05),
        "six": lambda: w.one(6, 6, 5),
        "y": lambda: w.like(x),
    }
    return [f"{name} = {chosen(w, ACTIVATIONS, x=x, **draws)}"], [name]


NORMS = """
    F.layer_norm({x}, ({width},), {affine}, {eps})
    F.layer_norm({x}, [{width}], {affine})
    torch.layer_norm({x}, {x}.shape[-1:], eps={eps})
    F.layer_norm({x}, {x}.shape[-2:])
    F.layer_norm({x}, ({width},), None, {weight})
    F.rms_norm({x}, ({width},), {weight}, {eps})
    F.rms_norm({x}, ({width},), {weight})
    F.rms_norm({x}, {x}.shape[-2:])
    torch.rms_norm({x}, [{width}], eps={eps})
    F.group_norm({x}, {groups}, eps={eps})
    torch.nn.LayerNorm({width}, elementwise_affine=False)({x})
"""


def norm(w: Writer) -> Lines:
    """Norms with what composites have to leave alone, or written out."""
    x = w.float(2, 3)
    shape = w.shape(x)
    m, v, r = (w.new_name() for _ in range(3))
    dim, eps = w.one(-1, -1, -2), w.one(1e-5, 0.1)
    w.used.add(x)
    if w.flag():
        weight, bias = w.input([shape[-1]]), w.input([shape[-1]])
        variance = w.one(f"({x} - {m}).pow(2).mean", f"{x}.var")
        options = f", unbiased={w.flag()}" if variance.endswith("var") else ""
        w.used |= {m, v}
        lines = [f"{m} = {x}.mean({dim}, keepdim=True)", f"{v} = {variance}({dim}, keepdim=True{options})"]
        return [*lines, f"{r} = ({x} - {m}) / torch.sqrt({v} + {eps}) * {weight} + {bias}"], [m, v, r]
    draws: dict[str, Drawn] = {
        "weight": lambda: w.input([shape[-1]]),
        "affine": lambda: f"{w.input([shape[-1]])}, {w.one(None, w.input([shape[-1]]))}",
        "groups": lambda: w.one(*[each for each in range(1, shape[1] + 1) if shape[1] % each == 0]),
    }
    return [f"{r} = {chosen(w, NORMS, x=x, width=shape[-1], eps=eps, **draws)}"], [r]


CHOICES = """
    {a}, {b} = {x}.topk({k}, {dim})
    {a}, {b} = torch.topk({x}, k={k}, dim={dim}, largest={flag}, sorted=True)
    {a} = torch.topk({x}, {k}, {dim}, {flag})[0]; {b} = {a} * 2
    {a} = torch.topk({x}, {k}, {dim}, {flag})[1]; {b} = {a} * 2
    {a} = {x}.argmax({dim}, keepdim={flag}); {b} = {a} + 1
    {a} = torch.argmax({x}); {b} = {a} * 2
    {a} = torch.argmax(input={x}, dim={dim}); {b} = {a} * 2
    {a} = {x}.argmax({dim}, keepdim=True); {b} = {x}.gather({dim}, {a})
    {a} = {x}.argmax({dim}, keepdim=True); {b} = torch.gather({x}, dim={dim}, index={a})
"""


def choice(w: Writer) -> Lines:
    """Top-k, argmax and gather with one or both results used."""
    x, (first, second) = w.float(1, 2, 3), (w.new_name() for _ in range(2))
    dim = w.dim(x)
    count = w.shape(x)[dim]
    return [chosen(w, CHOICES, x=x, a=first, b=second, dim=dim, k=lambda: w.int(1, count))], [first, second]


POOLING = """
    F.adaptive_avg_pool{rank}d({x}, {size})
    torch.nn.AdaptiveAvgPool{rank}d({size})({x})
    F.adaptive_avg_pool{rank}d({x}, output_size={size})
    F.adaptive_max_pool{rank}d({x}, {size})
"""


def pooling(w: Writer) -> Lines:
    """Adaptive pooling to one element and to more."""
    rank = w.one(1, 2)
    x, name = w.float(rank + 1, rank + 2), w.new_name()
    size = w.one(1, (1,), 2) if rank == 1 else w.one(1, (1, 1), (1, 2), [1, 1])
    return [f"{name} = {chosen(w, POOLING, x=x, rank=rank, size=size)}"], [name]


def attention(w: Writer) -> Lines:
    """Attention with grouped heads, masks of each shape, and scales."""
    batch, groups, heads, length, keys = (w.int(1, most) for most in (2, 2, 3, 5, 6))
    width, name = w.one(4, 8, 32), w.new_name()
    query = w.input([batch, groups * heads, length, width])
    key, value = w.input([batch, heads, keys, width]), w.input([batch, heads, keys, width])
    shape = [w.one(1, batch), w.one(1, groups * heads), w.one(1, length), keys]
    mask = w.one("attn_mask=None", "is_causal=True", lambda: w.input(shape, torch.bool), lambda: w.input(shape))
    mask = mask if isinstance(mask, str) else f"attn_mask={mask()}"
    options = f"{mask}, scale={w.one(None, 0.2)}, enable_gqa={groups > 1}"
    w.used |= {query, key, value}
    return [f"{name} = F.scaled_dot_product_attention({query}, {key}, {value}, {options})"], [name]


def idiom(w: Writer) -> Lines:
    """Draws one of the groups."""
    return w.one(rms_norm, rms_norm, rms_norm, activation, activation, norm, norm, choice, pooling, attention)(w)


__all__ = ["idiom"]
