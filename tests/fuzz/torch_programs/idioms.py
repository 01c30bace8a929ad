"""Groups of statements that the front end's patterns replace, and their neighbours that the patterns must leave alone."""

from __future__ import annotations

from tests.fuzz.torch_programs.functions import Writer

Lines = tuple[list[str], list[str]]


def _rows(w: Writer) -> str:
    """Returns a variable of rows in one of the types of norms."""
    import torch

    dtype = w.one(torch.float32, torch.bfloat16, torch.float16)
    shape = [w.int(1, 4), w.one(1, 5, 32, 33)] if w.flag() else [2, 3, w.one(4, 32)]
    return w.of(lambda value: value.dtype is dtype and value.dim() > 1, lambda: shape)


def rms_norm(w: Writer) -> Lines:
    """The norms of Llama, GPT-OSS and Gemma, some with another power, axis, weight, epsilon or place of the cast."""
    x = _rows(w)
    value, (n, s, r) = w.values[x], (w.new_name() for _ in range(3))
    width = value.shape[-1]
    shapes = ([width], [width], [width], [1], [1, width], [value.shape[-2], 1])
    weight = w.input(w.one(*shapes), value.dtype)
    power, dim, eps = w.one(2, 2, 2, 2, 3), w.one(-1, -1, -1, -1, -2), w.one(1e-5, 1e-6, 0.1, 1)
    keep = "keepdim=True"
    lines = [f"{n} = {x}.to(torch.float32)", f"{s} = {n}.pow({power}).mean({dim}, {keep})"]
    if w.chance(0.15):
        lines[1] = f"{s} = {n}.abs().pow({power}).sum({dim}, {keep})"
    root = f"torch.rsqrt({s} + {eps})"
    if w.chance(0.4):
        root = f"torch.pow({s} + {eps}, {w.one(-0.5, -0.5, -0.5, -1.0)})"
    normal, order = f"{n} * {root}", w.flag()
    dtype = w.one(f"{x}.dtype", f"{x}.dtype", str(value.dtype), "torch.float32")

    def times(one: str, other: str) -> str:
        return f"{one} * {other}" if order else f"{other} * {one}"

    forms = (
        times(weight, f"({normal}).to({dtype})"), times(weight, f"({normal})") + "", f"({times(weight, f'({normal})')}).to({dtype})", f"(({normal}) * ({weight}.float() + {w.one('1.0', '1.0', '2.0')})).type_as({x})",
        f"(({normal}) * {weight}.float()).type_as({x})", f"({normal}).type_as({x})",
    )  # fmt: skip
    lines.append(f"{r} = {w.one(*forms)}")
    if w.chance(0.25):  # the mean of squares is used a second time
        w.outputs.append(s)
    w.used |= {x, n} | ({s} if s not in w.outputs else set())
    return lines, [n, s, r]


def gelu(w: Writer) -> Lines:
    """Gelu in its three forms, some with other constants."""
    x = w.float()
    name = w.new_name()
    root, cube = w.one("math.sqrt(2 / math.pi)", "math.sqrt(2 / math.pi)", "0.5"), w.one(0.044715, 0.044715, 0.05)
    forms = (
        f"0.5 * {x} * (1 + torch.erf({x} / math.sqrt({w.one(2.0, 2.0, 3.0)})))", f"{x} * 0.5 * (1.0 + torch.erf({x} * {w.one('0.7071067811865476', '0.5')}))", f"0.5 * {x} * torch.erfc(-{x} * 0.7071067811865476)",
        f"0.5 * {x} * (1 + torch.tanh({root} * ({x} + {cube} * torch.pow({x}, 3))))", f"{x} * torch.sigmoid({w.one(1.702, 1.0)} * {x})", f"{x} * torch.tanh(F.softplus({x}))", f"{x} * torch.tanh(torch.log(1 + torch.exp({x})))",
        f"{x} * F.relu6({x} + 3) / {w.one(6, 6, 5)}", f"torch.clamp({x} + 3, 0, 6) / 6", f"{x}.clamp(0, 6)", f"torch.relu({x}).clamp(max={w.one(6, 5)})", f"{x} / (1 + torch.exp(-{x}))", f"F.silu({x}) * {w.like(x)}", f"torch.where({x} > 0, {x}, {w.one(0.01, 0.3)} * {x})", f"torch.log(1 + torch.exp({x}))",
    )  # fmt: skip
    w.used.add(x)
    return [f"{name} = {w.one(*forms)}"], [name]


def norm(w: Writer) -> Lines:
    """Layer, group and batch norms that are written out, and whole ones with what composites have to leave alone."""
    x = w.float(2, 3)
    shape = w.shape(x)
    m, v, r = (w.new_name() for _ in range(3))
    dim, eps = w.one(-1, -1, -2), w.one(1e-5, 0.1)
    weight, bias = w.input([shape[-1]]), w.input([shape[-1]])
    if w.chance(0.5):
        lines = [f"{m} = {x}.mean({dim}, keepdim=True)", f"{v} = ({x} - {m}).pow(2).mean({dim}, keepdim=True)"]
        if w.flag():
            lines[1] = f"{v} = {x}.var({dim}, unbiased={w.flag()}, keepdim=True)"
        lines.append(f"{r} = ({x} - {m}) / torch.sqrt({v} + {eps}) * {weight} + {bias}")
        w.used |= {x, m, v}
        return lines, [m, v, r]
    affine = w.one("None, None", f"{weight}, None", f"None, {bias}", f"{weight}, {bias}")
    sizes = w.one(f"({shape[-1]},)", f"[{shape[-1]}]", f"{x}.shape[-1:]")
    forms = (
        f"F.layer_norm({x}, {sizes}, {affine}, {eps})", f"torch.layer_norm({x}, {sizes}, eps={eps})", f"F.rms_norm({x}, {sizes}, {w.one('None', weight)}, {w.one('None', eps)})", f"torch.rms_norm({x}, {sizes}, eps={eps})",
        f"F.layer_norm({x}, {tuple(shape[-2:])})", f"F.group_norm({x}, {w.one(*[g for g in range(1, shape[1] + 1) if shape[1] % g == 0])}, eps={eps})", f"F.rms_norm({x}, {tuple(shape[-2:])})",
    )  # fmt: skip
    w.used.add(x)
    return [f"{r} = {w.one(*forms)}"], [r]


def chosen(w: Writer) -> Lines:
    """Top-k, argmax and gather with one or both results used."""
    x = w.float(1, 2, 3)
    a, b = w.new_name(), w.new_name()
    dim, count = w.dim(x), 0
    count = w.shape(x)[dim]
    k = w.int(1, count)
    way = w.int(0, 3)
    w.used.add(x)
    if way == 0:
        return [f"{a}, {b} = {w.one(f'{x}.topk({k}, {dim})', f'torch.topk({x}, k={k}, dim={dim}, largest={w.flag()}, sorted=True)')}"], [a, b]
    if way == 1:
        return [f"{a} = torch.topk({x}, {k}, {dim}, {w.flag()})[{w.int(0, 1)}]"], [a]
    if way == 2:
        return [f"{a} = {w.one(f'{x}.argmax({dim}, keepdim={w.flag()})', f'torch.argmax({x})', f'torch.argmax(input={x}, dim={dim})')}"], [a]
    w.used.add(a)
    return [f"{a} = {x}.argmax({dim}, keepdim=True)", f"{b} = {w.one(f'{x}.gather({dim}, {a})', f'torch.gather({x}, dim={dim}, index={a})')}"], [a, b]


def pooled(w: Writer) -> Lines:
    """Adaptive pooling to one element and to more."""
    rank = w.one(1, 2)
    x = w.float(rank + 1, rank + 2)
    name = w.new_name()
    size = w.one(1, (1,) * rank, 2) if rank == 1 else w.one(1, (1, 1), (1, 2), [1, 1])
    w.used.add(x)
    return [f"{name} = {w.one(f'F.adaptive_avg_pool{rank}d({x}, {size})', f'torch.nn.AdaptiveAvgPool{rank}d({size})({x})', f'F.adaptive_avg_pool{rank}d({x}, output_size={size})')}"], [name]


def attention(w: Writer) -> Lines:
    """Attention with grouped heads, masks of each shape, scales, and modules of PyTorch that contain it."""
    import torch

    batch, groups, heads, length, keys, width = w.int(1, 2), w.int(1, 2), w.int(1, 3), w.int(1, 5), w.int(1, 6), w.one(4, 8, 32)
    name = w.new_name()
    query = w.input([batch, groups * heads, length, width])
    key, value = w.input([batch, heads, keys, width]), w.input([batch, heads, keys, width])
    shape = [w.one(1, batch), w.one(1, groups * heads), w.one(1, length), keys]
    mask = w.one("None", w.input(shape, torch.bool), w.input(shape, grad=False))
    causal = mask == "None" and w.flag()
    grouped = ", enable_gqa=True" if groups > 1 else ""
    w.used |= {query, key, value}
    return [f"{name} = F.scaled_dot_product_attention({query}, {key}, {value}, {mask}, is_causal={causal}, scale={w.one('None', 0.2)}{grouped})"], [name]


def IDIOMS(w: Writer) -> Lines:
    """Draws one of the groups."""
    return w.one(rms_norm, rms_norm, rms_norm, gelu, gelu, norm, norm, chosen, pooled, attention)(w)


__all__ = ["IDIOMS"]
