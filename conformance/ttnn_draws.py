"""Draws calls of TT-NN's functions: shapes, data types, layouts, memories and numbers, by a seed.

A call is text, such as ``ttnn.add(ttnn_tensor((2, 64, 96), "float32", "tile", "dram"), 2.0)``. ``ttnn_run_calls.py``
executes it with our ``ttnn`` and with the real one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

SIZES = (1, 3, 31, 32, 33, 64, 96, 128)
FLOATS = ("bfloat16", "bfloat16", "bfloat16", "float32", "bfloat8_b")
INTEGERS = ("int32", "int32", "uint32", "uint16")
LAYOUTS = ("tile", "tile", "tile", "tile", "row_major")
MEMORIES = (*["dram"] * 8, *["l1"] * 3, "height", "width", "block")
NUMBERS = ("2.0", "0.5", "-1.0", "3", "0")


class Draw:
    """Draws arguments.

    Args:
        seed: what decides the draws.
    """

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one(self, values: Sequence[str]) -> str:
        return self.random.choice(values)

    def size(self) -> int:
        return self.random.choice(SIZES)

    def shape(self, low: int = 1, high: int = 5) -> tuple[int, ...]:
        """Returns a shape whose leading dimensions are small."""
        rank = self.random.choice([each for each in (1, 2, 2, 3, 4, 4, 4, 5) if low <= each <= high])
        leading = [self.random.choice((1, 1, 2, 3)) for _ in range(max(rank - 2, 0))]
        return (*leading, *(self.size() for _ in range(min(rank, 2))))

    def broadcast(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Returns a shape that mostly broadcasts to another one."""
        if self.chance(0.08):
            return self.shape()
        kept = [1 if self.chance(0.2) else size for size in shape]
        return tuple(kept[self.random.choice((0, 0, 0, len(kept) // 2)) :])

    def kind(self, dtypes: Sequence[str] = FLOATS, layouts: Sequence[str] = LAYOUTS) -> tuple[str, str, str]:
        """Returns a data type, a layout and a memory."""
        dtype = self.one(INTEGERS if self.chance(0.06) else dtypes)
        layout = "tile" if dtype == "bfloat8_b" else self.one(layouts)
        return dtype, layout, "host" if self.chance(0.02) else self.one(MEMORIES)

    def tensor(
        self, shape: Sequence[int], dtypes: Sequence[str] = FLOATS, layouts: Sequence[str] = LAYOUTS, high: int = 0
    ) -> str:
        """Returns a tensor; ``high`` limits integers."""
        dtype, layout, memory = self.kind(dtypes, layouts)
        limit = f", high={high}" if high else ""
        return f'ttnn_tensor({tuple(shape)}, "{dtype}", "{layout}", "{memory}"{limit})'

    def like(self, shape: Sequence[int], tensor: str) -> str:
        """Returns a tensor that mostly has the kind of another one."""
        if self.chance(0.25):
            return self.tensor(shape)
        return re.sub(r"\(\([^)]*\)", f"({tuple(shape)}", tensor, count=1)

    def axis(self, rank: int) -> int:
        return self.random.randint(-rank, rank - 1) if self.chance(0.96) else rank + 1

    def options(self, **values: Sequence[str]) -> str:
        """Returns keyword arguments, each of which is mostly absent."""
        chosen = {name: self.one(texts) for name, texts in values.items() if self.chance(0.25)}
        return "".join(f", {name}={text}" for name, text in chosen.items())

    def memory(self, probability: float = 0.25) -> str:
        """Returns a memory config for a result, which is mostly absent."""
        if not self.chance(probability):
            return ""
        return f", memory_config={self.one(('ttnn.L1_MEMORY_CONFIG', 'ttnn.DRAM_MEMORY_CONFIG'))}"


Drawer = Callable[[Draw], str]
"""Returns the arguments of a call."""

DTYPES = ("ttnn.float32", "ttnn.bfloat16", "ttnn.bfloat8_b")


def unary(draw: Draw) -> str:
    return draw.tensor(draw.shape()) + draw.memory()


def unary_number(draw: Draw) -> str:
    return f"{draw.tensor(draw.shape())}, {draw.one(NUMBERS)}{draw.memory()}"


def binary(draw: Draw, dtypes: Sequence[str] = FLOATS) -> str:
    shape = draw.shape()
    a = draw.tensor(shape, dtypes)
    b = draw.one(NUMBERS) if draw.chance(0.25) else draw.like(draw.broadcast(shape), a)
    return f"{a}, {b}{draw.memory()}"


def binary_typed(draw: Draw) -> str:
    return binary(draw) + draw.options(dtype=DTYPES)


def binary_tensors(draw: Draw) -> str:
    shape = draw.shape()
    a = draw.tensor(shape)
    return f"{a}, {draw.like(draw.broadcast(shape), a)}{draw.memory()}"


def integers(draw: Draw) -> str:
    return binary(draw, INTEGERS).replace("2.0", "2").replace("0.5", "1").replace("-1.0", "3")


def integer_tensors(draw: Draw) -> str:
    shape = draw.shape()
    a = draw.tensor(shape, INTEGERS)
    return f"{a}, {draw.like(draw.broadcast(shape), a)}"


def ternary(draw: Draw) -> str:
    shape = draw.shape()
    a = draw.tensor(shape)
    others = [draw.like(draw.broadcast(shape) if draw.chance(0.3) else shape, a) for _ in range(2)]
    return f"{a}, {', '.join(others)}{draw.memory()}"


def scaled(draw: Draw) -> str:
    """Returns two tensors and a number."""
    shape = draw.shape()
    a = draw.tensor(shape)
    return f"{a}, {draw.like(draw.broadcast(shape), a)}, {draw.one(NUMBERS)}{draw.memory()}"


def clamp(draw: Draw) -> str:
    return f"{draw.tensor(draw.shape())}, min={draw.one(('-1.0', '0.0'))}, max=1.0{draw.memory()}"


def clamp_gradient(draw: Draw) -> str:
    return f"{gradient(draw)}, min={draw.one(('-1.0', '0', '-2'))}, max=1.0"


def where(draw: Draw) -> str:
    shape = draw.shape()
    a = draw.tensor(shape)
    others = [
        draw.one(NUMBERS) if draw.chance(0.3) else draw.like(draw.broadcast(shape) if draw.chance(0.3) else shape, a)
        for _ in range(2)
    ]
    return f"{a}, {', '.join(others)}{draw.memory()}"


def reduction(draw: Draw) -> str:
    shape = draw.shape()
    options = ""
    if draw.chance(0.8):
        axes = sorted({draw.axis(len(shape)) for _ in range(2)})
        options = f", dim={axes if draw.chance(0.25) else draw.axis(len(shape))}"
    return draw.tensor(shape) + options + draw.options(keepdim=("True", "False")) + draw.memory()


def reduction_of_one(draw: Draw) -> str:
    shape = draw.shape()
    tensor = draw.tensor(shape)
    return f"{tensor}, dim={draw.axis(len(shape))}{draw.options(keepdim=('True', 'False'))}{draw.memory()}"


def along(draw: Draw) -> str:
    shape = draw.shape()
    return f"{draw.tensor(shape)}, dim={draw.axis(len(shape))}{draw.memory()}"


def scan(draw: Draw) -> str:
    return along(draw) + draw.options(reverse_order=("True",), dtype=DTYPES)


def topk(draw: Draw) -> str:
    shape = (*draw.shape(2, 4)[:-1], draw.random.choice((32, 64, 96, 128)))
    tensor = draw.tensor(shape)
    return (
        f"{tensor}, {draw.one(('1', '8', '32', '40'))}, dim={draw.axis(len(shape))}{draw.options(largest=('False',))}"
    )


def product(draw: Draw) -> str:
    inner = draw.size()
    batch = draw.shape(2, 4)[:-2]
    a = (*batch, draw.size(), inner)
    b = (*(batch if draw.chance(0.5) else ()), inner if draw.chance(0.95) else draw.size(), draw.size())
    options = ""
    if draw.chance(0.2):
        a, options = (*a[:-2], a[-1], a[-2]), options + ", transpose_a=True"
    if draw.chance(0.2):
        b, options = (*b[:-2], b[-1], b[-2]), options + ", transpose_b=True"
    first = draw.tensor(a)
    options += draw.options(dtype=DTYPES, activation=('"relu"', '"gelu"'))
    return f"{first}, {draw.like(b, first)}{options}{draw.memory()}"


def linear(draw: Draw) -> str:
    text = product(draw)
    if draw.chance(0.5):
        width = re.findall(r"\(\(([^)]*)\)", text)[1].rstrip(",").split(",")
        columns = int(width[-2] if "transpose_b" in text and len(width) > 1 else width[-1])
        text += f", bias={draw.tensor((1, columns) if draw.chance(0.7) else (columns,))}"
    return text


def reshape(draw: Draw) -> str:
    shape = draw.shape()
    count = 1
    for size in shape:
        count *= size
    divisors = [each for each in (1, 2, 3, 4, 8, 16, 32, 64) if count % each == 0]
    first = draw.random.choice(divisors)
    rest = count // first
    second = draw.random.choice([each for each in divisors if rest % each == 0])
    sizes = [[first, rest], [first, second, rest // second], [count], [1, first, -1], [first, second, -1, 1]]
    wanted = draw.random.choice(sizes) if draw.chance(0.95) else [5, 7]
    return f"{draw.tensor(shape)}, {wanted}{draw.memory()}"


def view(draw: Draw) -> str:
    shape = draw.shape(2)
    wanted = draw.random.choice([[1, *shape], [-1, shape[-1]], [*shape[:-2], 1, *shape[-2:]], [shape[-1], -1]])
    return f"{draw.tensor(shape)}, {wanted}"


def permute(draw: Draw) -> str:
    shape = draw.shape()
    axes = list(range(len(shape)))
    draw.random.shuffle(axes)
    if draw.chance(0.05):
        axes[0] = axes[-1]
    return f"{draw.tensor(shape)}, {axes}{draw.memory()}"


def transpose(draw: Draw) -> str:
    shape = draw.shape(2)
    return f"{draw.tensor(shape)}, {draw.axis(len(shape))}, {draw.axis(len(shape))}{draw.memory()}"


def concat(draw: Draw) -> str:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    first = draw.tensor(shape)
    others: list[str] = []
    for _ in range(draw.random.choice((1, 1, 2))):
        sizes = list(shape)
        if axis < len(shape):
            sizes[axis] = draw.size()
        if draw.chance(0.05):
            sizes[0] += 1
        others.append(draw.like(sizes, first))
    return f"[{first}, {', '.join(others)}], dim={axis}{draw.memory()}"


def slice_(draw: Draw) -> str:
    shape = draw.shape()
    begins = [draw.random.randint(0, size - 1) // draw.random.choice((1, 32)) * 1 for size in shape]
    ends = [draw.random.randint(begin + 1, size) for begin, size in zip(begins, shape, strict=True)]
    if draw.chance(0.06):
        ends[0] = shape[0] + 2
    steps = f", {[draw.random.choice((1, 1, 2)) for _ in shape]}" if draw.chance(0.3) else ""
    return f"{draw.tensor(shape)}, {begins}, {ends}{steps}{draw.memory()}"


def pad(draw: Draw) -> str:
    shape = draw.shape()
    pairs = [
        (draw.random.choice((0, 0, 0, 1, 32)), draw.random.choice((0, 1, 32)))
        for _ in range(len(shape) if draw.chance(0.8) else 1)
    ]
    return f"{draw.tensor(shape)}, {pairs}, {draw.one(('0.0', '1.0'))}{draw.memory()}"


def repeat(draw: Draw) -> str:
    shape = draw.shape()
    return f"{draw.tensor(shape)}, {[draw.random.choice((1, 1, 2, 3)) for _ in shape]}{draw.memory()}"


def repeat_interleave(draw: Draw) -> str:
    shape = draw.shape()
    return f"{draw.tensor(shape)}, {draw.one(('1', '2', '3'))}, {draw.axis(len(shape))}{draw.memory()}"


def split(draw: Draw) -> str:
    shape = draw.shape()
    return f"{draw.tensor(shape)}, {draw.one(('1', '2', '32', '[1, 2]'))}, {draw.axis(len(shape))}{draw.memory()}"


def chunk(draw: Draw) -> str:
    shape = draw.shape()
    return f"{draw.tensor(shape)}, {draw.one(('1', '2', '3'))}, {draw.axis(len(shape))}"


def stack(draw: Draw) -> str:
    shape = draw.shape(1, 4)
    first = draw.tensor(shape)
    return f"[{first}, {draw.like(shape, first)}], {draw.axis(len(shape))}"


def axis_only(draw: Draw) -> str:
    shape = draw.shape()
    return f"{draw.tensor(shape)}, {draw.axis(len(shape))}"


def expand(draw: Draw) -> str:
    shape = [1 if draw.chance(0.4) else size for size in draw.shape(2, 4)]
    wanted = [draw.random.choice((2, 32)) if size == 1 else draw.random.choice((size, size, -1)) for size in shape]
    return f"{draw.tensor(shape)}, {wanted}{draw.memory()}"


def roll(draw: Draw) -> str:
    shape = draw.shape()
    return f"{draw.tensor(shape)}, {draw.one(('1', '-3', '40'))}, {draw.axis(len(shape))}"


def gather(draw: Draw) -> str:
    shape = draw.shape(2, 4)
    axis = draw.axis(len(shape))
    index = [max(1, size - draw.random.choice((0, 0, 1))) for size in shape]
    kinds = ("uint16", "uint32", "uint32")
    tensor = draw.tensor(shape)
    return f"{tensor}, {axis}, {draw.tensor(index, kinds, high=shape[axis % len(shape)])}"


def scatter(draw: Draw) -> str:
    shape = draw.shape(2, 4)
    axis = draw.axis(len(shape))
    size = shape[axis % len(shape)]
    tensor = draw.tensor(shape)
    index = draw.tensor(shape, ("int32", "uint32", "uint16"), high=size)
    return f"{tensor}, {axis}, {index}, {draw.like(shape, tensor)}"


def layout(draw: Draw) -> str:
    options = draw.options(dtype=DTYPES)
    return f"{draw.tensor(draw.shape())}, {draw.one(('ttnn.TILE_LAYOUT', 'ttnn.ROW_MAJOR_LAYOUT'))}{options}"


def typecast(draw: Draw) -> str:
    wanted = draw.one((*DTYPES, "ttnn.int32", "ttnn.uint32", "ttnn.uint16", "ttnn.bfloat4_b"))
    return f"{draw.tensor(draw.shape(), (*FLOATS, *INTEGERS))}, {wanted}{draw.memory()}"


def moved(draw: Draw) -> str:
    return f"{draw.tensor(draw.shape())}, {draw.one(('ttnn.L1_MEMORY_CONFIG', 'ttnn.DRAM_MEMORY_CONFIG'))}"


def tilize(draw: Draw) -> str:
    return (
        draw.tensor(draw.shape(), ("bfloat16", "float32", "int32"), ("row_major", "row_major", "tile")) + draw.memory()
    )


def to_rows(draw: Draw) -> str:
    return draw.tensor(draw.shape()) + draw.memory()


def unpadding(draw: Draw) -> str:
    shape = draw.shape(2)
    ends = [size - 1 if draw.chance(0.6) else max(0, size - 3) for size in shape]
    return f"{draw.tensor(shape)}, {ends}{draw.memory()}"


def val_padding(draw: Draw) -> str:
    shape = draw.shape(2)
    padded = [*shape[:-2], *(-(-size // 32) * 32 for size in shape[-2:])]
    return (
        f"{draw.tensor(shape, ('bfloat16', 'float32', 'int32'), ('row_major',))}, {padded}, {draw.one(('0.0', '1.0'))}"
    )


def normalized(draw: Draw) -> str:
    shape = draw.shape()
    text = draw.tensor(shape) + draw.options(epsilon=("1e-5",))
    for name in ("weight", "bias"):
        if draw.chance(0.4):
            text += f", {name}={draw.tensor((1, shape[-1]) if draw.chance(0.5) else (shape[-1],))}"
    if draw.chance(0.15):
        text += f", residual_input_tensor={draw.tensor(shape)}"
    return text + draw.memory()


def batch_norm(draw: Draw) -> str:
    shape = draw.shape(4, 4)
    channels = (1, shape[1], 1, 1)
    first = draw.tensor(shape)
    text = first
    names = ("running_mean", "running_var", "weight", "bias")
    for name in names:
        if draw.chance(0.8):
            text += f", {name}={draw.like(channels, first)}"
    return text + draw.options(training=("True",))


def group_norm(draw: Draw) -> str:
    batch, rows, channels = draw.random.choice((1, 2)), draw.random.choice((32, 64, 128)), draw.random.choice((64, 320))
    text = f"{draw.tensor((batch, 1, rows, channels))}, num_groups={draw.one(('2', '4', '32', '3'))}"
    text += ", inplace=False" if draw.chance(0.7) else ""
    return text + draw.options(core_grid=("ttnn.CoreGrid(y=1, x=1)",), epsilon=("1e-5",))


def attention(draw: Draw) -> str:
    batch, heads = draw.random.choice((1, 2)), draw.random.choice((1, 4, 8))
    length, width = draw.random.choice((32, 64, 96, 128, 33)), draw.random.choice((32, 64, 48))
    shared = heads if draw.chance(0.7) else max(1, heads // 2)
    q = draw.tensor((batch, heads, length, width))
    other = (batch, shared, length, width)
    text = f"{q}, {draw.like(other, q)}, {draw.like(other, q)}"
    if draw.chance(0.4):
        return f"{text}, is_causal=False, attn_mask={draw.tensor((batch, 1, length, length))}"
    return text + draw.options(is_causal=("True", "False"), scale=("0.125",))


def attention_decode(draw: Draw) -> str:
    batch, heads, shared = draw.random.choice((1, 2, 8)), draw.random.choice((8, 16, 32)), draw.random.choice((1, 2, 8))
    length, width = draw.random.choice((64, 128, 256)), draw.random.choice((64, 128))
    q = draw.tensor((1, batch, heads, width))
    other = (batch, shared, length, width)
    text = f"{q}, {draw.like(other, q)}, {draw.like(other, q)}"
    return f"{text}, cur_pos={[draw.random.randint(0, length - 1) for _ in range(batch)]}"


def heads(draw: Draw) -> str:
    return draw.tensor(
        (draw.random.choice((1, 2)), draw.random.choice((2, 4)), draw.size(), draw.random.choice((32, 64, 48)))
    )


def split_heads(draw: Draw) -> str:
    number, width = draw.random.choice((2, 4)), draw.random.choice((32, 64, 48))
    shape = (draw.random.choice((1, 2)), draw.random.choice((32, 64, 33)), 3 * number * width)
    return f"{draw.tensor(shape)}, num_heads={number}{draw.options(transpose_key=('True', 'False'))}"


def create_heads(draw: Draw) -> str:
    number, shared, width = draw.random.choice((2, 4)), draw.random.choice((1, 2)), draw.random.choice((32, 64, 48))
    shape = (draw.random.choice((1, 2)), 1, draw.random.choice((32, 64, 33)), (number + 2 * shared) * width)
    options = draw.options(transpose_k_heads=("False",))
    return f"{draw.tensor(shape)}, num_heads={number}, num_kv_heads={shared}{options}"


def rotary(draw: Draw) -> str:
    length, width = draw.random.choice((32, 64)), draw.random.choice((64, 128))
    x = draw.tensor((1, draw.random.choice((1, 4)), length, width))
    table = (1, 1, draw.random.choice((length, 128)), width)
    return f"{x}, {draw.like(table, x)}, {draw.like(table, x)}"


def window(draw: Draw) -> tuple[int, int, int, int, str]:
    """Returns batch, height, width and channels of images, and a tensor of them."""
    batch, height, channels = (
        draw.random.choice((1, 2)),
        draw.random.choice((8, 14, 16)),
        draw.random.choice((16, 32, 64)),
    )
    shape = (1, 1, batch * height * height, channels)
    return batch, height, height, channels, draw.tensor(shape, ("bfloat16", "bfloat16", "bfloat8_b", "float32"))


def pool(draw: Draw, *, dilation: bool) -> str:
    batch, height, width, channels, tensor = window(draw)
    kernel, stride = draw.random.choice((2, 3)), draw.random.choice((1, 2))
    padding = draw.random.choice((0, 1))
    window_ = f"[{kernel}, {kernel}], [{stride}, {stride}], [{padding}, {padding}]"
    text = f"{tensor}, {batch}, {height}, {width}, {channels}, {window_}"
    return text + (", [1, 1]" if dilation else "") + draw.options(ceil_mode=("True",))


def max_pool(draw: Draw) -> str:
    return pool(draw, dilation=True)


def avg_pool(draw: Draw) -> str:
    return pool(draw, dilation=False) + draw.options(count_include_pad=("False",))


def images(draw: Draw) -> str:
    shape = (
        draw.random.choice((1, 2)),
        draw.random.choice((4, 8)),
        draw.random.choice((4, 8)),
        draw.random.choice((32, 64, 16)),
    )
    return draw.tensor(shape, ("bfloat16", "bfloat16", "float32"), ("row_major", "row_major", "tile"))


def upsample(draw: Draw) -> str:
    mode = draw.options(mode=('"bilinear"',))
    return f"{images(draw)}, {draw.one(('2', '[2, 3]', '3'))}{mode}"


_WEIGHTS = ('"bfloat16"', '"float32"')


def convolution(draw: Draw, *, transposed: bool = False) -> str:
    batch, height, channels = (
        draw.random.choice((1, 2)),
        draw.random.choice((8, 14, 16)),
        draw.random.choice((3, 16, 32, 64)),
    )
    filters, kernel = draw.random.choice((16, 32, 64)), draw.random.choice((1, 3))
    groups = channels if draw.chance(0.1) and filters % channels == 0 else 1
    kinds = ("bfloat16", "bfloat16", "float32", "bfloat8_b")
    x = draw.tensor((1, 1, batch * height * height, channels), kinds)
    first, second = (channels, filters) if transposed else (filters, channels)
    shape, host = (first, second // groups, kernel, kernel), '"row_major", "host"'
    w = f"ttnn_tensor({shape}, {draw.one(_WEIGHTS)}, {host})"
    text = f"input_tensor={x}, weight_tensor={w}, device=device, in_channels={channels}, out_channels={filters}, "
    text += f"batch_size={batch}, input_height={height}, input_width={height}, kernel_size=({kernel}, {kernel})"
    if draw.chance(0.5):
        text += f", bias_tensor=ttnn_tensor({(1, 1, 1, filters)}, {draw.one(_WEIGHTS)}, {host})"
    text += f", groups={groups}" if groups > 1 else ""
    return text + draw.options(stride=("(2, 2)",), padding=("(1, 1)",), dtype=DTYPES, dilation=("(2, 2)",))


def embedding(draw: Draw) -> str:
    vocabulary, width = draw.random.choice((32, 100, 128)), draw.random.choice((32, 64, 96, 33))
    rows = draw.shape(1, 2)
    index = draw.tensor(
        rows, ("uint32", "uint32", "uint32", "int32", "bfloat16"), ("row_major", "row_major", "tile"), high=vocabulary
    )
    table = draw.tensor((vocabulary, width), ("bfloat16", "bfloat16", "float32"), ("row_major", "row_major", "tile"))
    options = draw.options(layout=("ttnn.TILE_LAYOUT", "ttnn.ROW_MAJOR_LAYOUT"), dtype=DTYPES)
    return f"{index}, {table}{options}{draw.memory()}"


def fill_cache(draw: Draw) -> str:
    users, heads_, length, width = (
        draw.random.choice((1, 2)),
        draw.random.choice((1, 4)),
        128,
        draw.random.choice((32, 64)),
    )
    cache = draw.tensor((users, heads_, length, width))
    given = draw.like((1, heads_, draw.random.choice((32, 64, 33)), width), cache)
    return f"{cache}, {given}, {draw.random.choice((0, 0, users - 1, users))}"


def update_cache(draw: Draw) -> str:
    users, heads_, length, width = (
        draw.random.choice((1, 8, 32)),
        draw.random.choice((1, 4)),
        128,
        draw.random.choice((32, 64)),
    )
    cache = draw.tensor((users, heads_, length, width))
    given = draw.like((1, heads_, users, width), cache)
    return f"{cache}, {given}, {draw.random.choice((0, 5, 127))}"


def creation(draw: Draw) -> str:
    dtypes = (*DTYPES, "ttnn.int32", "ttnn.uint32")
    options = draw.options(dtype=dtypes, layout=("ttnn.TILE_LAYOUT", "ttnn.ROW_MAJOR_LAYOUT"))
    return f"{list(draw.shape())}{options}{', device=device' if draw.chance(0.8) else ''}{draw.memory()}"


def empty(draw: Draw) -> str:
    dtype, layout = draw.one((*DTYPES, "ttnn.int32")), draw.one(("ttnn.TILE_LAYOUT", "ttnn.ROW_MAJOR_LAYOUT"))
    memory = draw.one(("ttnn.DRAM_MEMORY_CONFIG", "ttnn.L1_MEMORY_CONFIG"))
    return f"{list(draw.shape())}, {dtype}, {layout}, device, {memory}"


def full(draw: Draw) -> str:
    text = creation(draw)
    return text.replace("]", f"], {draw.one(('1.5', '3', '-2'))}", 1)


def arange(draw: Draw) -> str:
    start, end = draw.one(("0, ", "3, ", "")), draw.one(("10", "64", "33"))
    step = f", {draw.one(('1', '2', '-1'))}" if start and draw.chance(0.5) else ""
    options = draw.options(dtype=("ttnn.int32", "ttnn.float32", "ttnn.uint32"), layout=("ttnn.TILE_LAYOUT",))
    return f"{start}{end}{step}{options}{', device=device' if draw.chance(0.8) else ''}"


def like(draw: Draw) -> str:
    return draw.tensor(draw.shape()) + draw.options(dtype=DTYPES, layout=("ttnn.TILE_LAYOUT", "ttnn.ROW_MAJOR_LAYOUT"))


def full_like(draw: Draw) -> str:
    return f"{draw.tensor(draw.shape())}, {draw.one(('1.5', '3'))}{draw.options(dtype=DTYPES)}"


def loss(draw: Draw) -> str:
    shape = draw.shape()
    a = draw.tensor(shape)
    reductions = tuple(f"ttnn.LossReductionMode.{name}" for name in ("NONE", "SUM", "MEAN"))
    return f"{a}, {draw.like(shape, a)}{draw.options(reduction=reductions)}"


def gradient(draw: Draw) -> str:
    shape = draw.shape()
    a = draw.tensor(shape)
    return f"{a}, {draw.like(shape, a)}{draw.memory()}"


def gradient_of_two(draw: Draw) -> str:
    shape = draw.shape()
    a = draw.tensor(shape)
    return f"{a}, {draw.like(shape, a)}, {draw.like(shape, a)}{draw.memory()}"


def moreh_axis(draw: Draw) -> str:
    shape = draw.shape(2, 4)
    return f"{draw.tensor(shape)}, dim={draw.axis(len(shape))}"


def moreh_softmax(draw: Draw) -> str:
    shape = draw.shape(2, 4)
    return f"{draw.tensor(shape)}, {draw.axis(len(shape)) % len(shape)}"
