"""Drawers of loops, branches, calls, tuples, tokens, annotations, and exchanges between chips of which there is one."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.stablehlo.builder import ANY, Builder, Elements
from tests.fuzz.stablehlo.drawers import draws
from tests.fuzz.stablehlo.indexing import SENT, combiner, combining
from tests.fuzz.stablehlo.structure import ALL
from tests.fuzz.stablehlo.types import BOOL, COMPLEX, Value, is_float, is_integer, longs

SMALL = ("f32", "f32", "bf16", "i32", "i8", "ui8", "i1", "f16", "i64", "ui32", "f64")


def state(b: Builder, most: int = 3) -> list[Value]:
    """Returns operands of a loop, a branch or a call."""
    shape = b.shape(most=512)
    count = b.random.randint(1, most)
    return [b.operand(shape if b.chance(0.6) else b.shape(most=512), b.element(SMALL)) for _ in range(count)]


def types(operands: Sequence[Value]) -> list[tuple[Sequence[int], str]]:
    return [(value.shape, value.element) for value in operands]


def step(b: Builder, value: Value, others: Sequence[Value]) -> Value:
    """Returns a value of the same type that is computed of it, and perhaps of others."""
    for _ in range(b.random.randint(1, 3)):
        alike = [other for other in others if other.type == value.type] or [value]
        other = (
            b.random.choice(alike) if b.chance(0.5) else b.splat(value.shape, value.element, b.notable(value.element))
        )
        names = ("and", "or", "xor") if value.element in BOOL else ("add", "multiply", "subtract", "maximum", "minimum")
        way = b.random.random()
        if way < 0.6:
            value = b.one(f"stablehlo.{b.random.choice(names)}", [value, other], value.shape, value.element)
        elif way < 0.75 and value.element not in BOOL:
            mask = b.compare(value, other, b.random.choice(("LT", "GE", "EQ", "NE")))
            value = b.one("stablehlo.select", [mask, value, other], value.shape, value.element)
        elif way < 0.9 and len(value.shape):
            dims = longs(b.some(1, len(value.shape)))
            value = b.one("stablehlo.reverse", [value], value.shape, value.element, f"dimensions = {dims}")
        elif is_float(value.element):
            value = b.one("stablehlo.tanh", [value], value.shape, value.element)
        else:
            value = b.one(
                "stablehlo.not" if not is_float(value.element) else "stablehlo.negate",
                [value],
                value.shape,
                value.element,
            )
    return value


@draws("stablehlo.while")
def while_(b: Builder, name: str) -> list[Value]:
    """Draws a loop with a counter of any integer type, which runs up or down and may wrap, or with a computed end."""
    kind = b.element(("i32", "i32", "i64", "i8", "ui8", "ui32", "i16", "ui16"))
    count, stride = b.random.randint(0, 6), b.random.choice((1, 1, 1, 2, 3))
    low = b.random.choice((0, 0, 1, 5))
    down = b.chance(0.2) and not kind.startswith("u")
    first, last = (low + count * stride, low) if down else (low, low + count * stride)
    off = b.random.randint(0, stride - 1) if count else 0  # XLA counts unsigned rounds below zero
    start = b.scalar(kind, first)
    if b.chance(0.3):
        start = b.operand((), kind, Elements(low=first, high=first))
    limit_outside = b.scalar(kind, last - off) if b.chance(0.7) else b.operand((), kind, Elements(last, last))
    others = state(b)
    place = b.random.randint(0, len(others))
    operands = [*others[:place], start, *others[place:]]
    captures = [limit_outside]

    def condition(taken: list[Value]) -> list[Value]:
        limit = captures[0] if b.chance(0.7) else b.scalar(kind, last - off)
        pair = [taken[place], limit]
        direction = "GT" if down else "LT"
        if b.chance(0.2):
            pair, direction = pair[::-1], {"GT": "LT", "LT": "GT"}[direction]
        return [b.compare(pair[0], pair[1], direction)]

    def body(taken: list[Value]) -> list[Value]:
        inside = [value for position, value in enumerate(taken) if position != place]
        after = [value if b.chance(0.15) else step(b, value, [*inside, *others]) for value in inside]
        alike = [n for n in range(len(after)) if after[n].type == after[0].type]
        if len(alike) > 1 and b.chance(0.3):
            after[alike[0]], after[alike[1]] = after[alike[1]], after[alike[0]]
        if b.chance(0.3):
            after[0] = counted(b, after[0], taken[place])
        one = b.scalar(kind, stride)
        sign = "subtract" if down else "add"
        return [*after[:place], b.one(f"stablehlo.{sign}", [taken[place], one], (), kind), *after[place:]]

    regions = [b.region(types(operands), condition, captures=True), b.region(types(operands), body, captures=True)]
    return b.op(name, operands, types(operands), "", regions)


def counted(b: Builder, value: Value, counter: Value) -> Value:
    """Returns a value that depends on the counter of a loop."""
    if value.element in BOOL:
        return value
    number = counter if counter.element == value.element else b.convert(counter, value.element)
    spread = b.one(
        "stablehlo.broadcast_in_dim", [number], value.shape, value.element, f"broadcast_dimensions = {longs([])}"
    )
    return b.one("stablehlo.add", [value, spread], value.shape, value.element)


@draws("stablehlo.if", "stablehlo.case")
def branch(b: Builder, name: str) -> list[Value]:
    operands = state(b)
    count = 2 if name == "stablehlo.if" else b.random.randint(1, 4)
    if name == "stablehlo.if":
        chosen = b.operand((), "i1")
    else:
        chosen = b.operand((), "i32", Elements(low=-1, high=count + 1) if b.chance(0.8) else ANY)

    def body(_: list[Value]) -> list[Value]:
        return [value if b.chance(0.2) else step(b, value, operands) for value in operands]

    regions = [b.region([], body, captures=True) for _ in range(count)]
    return b.op(name, [chosen], types(operands), "", regions)


@draws("func.call")
def call(b: Builder, name: str) -> list[Value]:
    operands = state(b)
    function, returned = b.function(types(operands), lambda taken: [step(b, value, taken) for value in taken])
    results = b.op(name, operands, types(returned), f"callee = @{function}")
    if b.chance(0.4):
        results = b.op(name, results, types(returned), f"callee = @{function}")
    return results


@draws("stablehlo.composite")
def composite(b: Builder, name: str) -> list[Value]:
    """Draws a composite of a name that nobody knows, whose decomposition is computed."""
    operands = state(b)
    function, returned = b.function(types(operands), lambda taken: [step(b, value, taken) for value in taken])
    attributes = f'name = "drawn.unknown", decomposition = @{function}, composite_attributes = {{a = 1 : i64}}'
    return b.op(name, operands, types(returned), attributes)


@draws("stablehlo.optimization_barrier")
def barrier(b: Builder, name: str) -> list[Value]:
    operands = state(b)
    return b.op(name, operands, types(operands))


@draws("stablehlo.tuple", "stablehlo.get_tuple_element")
def members(b: Builder, name: str) -> list[Value]:
    """Draws a tuple, or one within another, and takes a member out."""
    operands = [b.operand(b.shape(most=512), b.element(*ALL)) for _ in range(b.random.randint(1, 3))]
    names, kinds = [value.name for value in operands], [value.type for value in operands]
    inner = f"tuple<{', '.join(kinds)}>"
    made, nested = b.name(), b.chance(0.3)
    lines = [f'{made} = "stablehlo.tuple"({", ".join(names)}) : ({", ".join(kinds)}) -> {inner}']
    if nested:
        outer, again = b.name(), b.name()
        whole = f"tuple<{kinds[0]}, {inner}>"
        lines.append(f'{outer} = "stablehlo.tuple"({names[0]}, {made}) : ({kinds[0]}, {inner}) -> {whole}')
        lines.append(f'{again} = "stablehlo.get_tuple_element"({outer}) {{index = 1 : i32}} : ({whole}) -> {inner}')
        made = again
    b.lines += lines
    b.reference += lines
    results: list[Value] = []
    for position in b.some(b.random.randint(1, len(operands)), len(operands)):
        value = Value(b.name(), operands[position].shape, operands[position].element)
        line = b.line("stablehlo.get_tuple_element", [made], [inner], [value], f"index = {position} : i32")
        b.lines.append(line)
        b.reference.append(line)
        results.append(value)
    b.values += results
    return results


@draws("stablehlo.create_token", "stablehlo.after_all")
def token(b: Builder, name: str) -> list[Value]:
    made, joined = b.name(), b.name()
    lines = [f'{made} = "stablehlo.create_token"() : () -> !stablehlo.token']
    lines.append(
        f'{joined} = "stablehlo.after_all"({made}, {made}) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token'
    )
    b.lines += lines
    b.reference += lines
    return state(b)


def unchanged(operands: Sequence[Value], results: Sequence[Value]) -> list[str]:
    """Returns lines after which results are operands, for annotations that XLA takes on several chips only."""
    given = ", ".join(value.name for value in operands)
    kinds = ", ".join(value.type for value in operands)
    left = ", ".join(value.name for value in results)
    return [f'{left} = "stablehlo.optimization_barrier"({given}) : ({kinds}) -> ({kinds})']


@draws("stablehlo.custom_call")
def custom_call(b: Builder, name: str) -> list[Value]:
    from tt_xla.compiler.stablehlo.expand import IDENTITIES

    operands = state(b, most=1)
    target = b.random.choice([target for target in IDENTITIES if target != "dce_sink"])
    attributes = f'call_target_name = "{target}"'
    return b.op(name, operands, types(operands), attributes, reference=unchanged)


@draws("sdy.sharding_constraint")
def sharding_constraint(b: Builder, name: str) -> list[Value]:
    operands = state(b, most=1)
    b.header = 'sdy.mesh @mesh = <["x"=1]>'
    axes = ["{}" if b.chance(0.5) else '{"x"}' if n == 0 else "{?}" for n in range(len(operands[0].shape))]
    attributes = f"sharding = #sdy.sharding<@mesh, [{', '.join(axes)}]>"
    return b.op(name, operands, types(operands), attributes, reference=unchanged)


@draws("sdy.sharding_group")
def sharding_group(b: Builder, name: str) -> list[Value]:
    operands = state(b, most=1)
    b.op(name, operands, [], "group_id = 1 : i64", reference=lambda *_: [])
    return operands


GROUP = "replica_groups = dense<0> : tensor<1x1xi64>"


def channel(b: Builder) -> str:
    return ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>" if b.chance(0.3) else ""


@draws("stablehlo.all_reduce", "stablehlo.reduce_scatter")
def reduce_of_chips(b: Builder, name: str) -> list[Value]:
    element, shape = b.element(SENT), b.shape((1, 2, 3) if name.endswith("scatter") else (0, 1, 2, 3))
    region = combining(b, [combiner(b, element)], [element])
    attributes = f"{GROUP}{channel(b)}"
    if name.endswith("scatter"):
        attributes += f", scatter_dimension = {b.random.randrange(len(shape))} : i64"
    return b.op(name, [b.operand(shape, element)], [(shape, element)], attributes, [region], reference=unchanged)


@draws("stablehlo.all_gather", "stablehlo.all_to_all")
def exchange(b: Builder, name: str) -> list[Value]:
    element, shape = b.element(SENT, COMPLEX), b.shape((1, 2, 3))
    dim = b.random.randrange(len(shape))
    attributes = f"all_gather_dim = {dim} : i64"
    if name.endswith("all_to_all"):
        other = b.random.randrange(len(shape))
        attributes = f"split_dimension = {dim} : i64, concat_dimension = {other} : i64, split_count = 1 : i64"
    return b.op(name, [b.operand(shape, element)], [(shape, element)], f"{attributes}, {GROUP}{channel(b)}")


@draws("stablehlo.collective_permute", "stablehlo.collective_broadcast")
def send(b: Builder, name: str) -> list[Value]:
    element, shape = b.element(SENT, COMPLEX), b.shape()
    pairs = "source_target_pairs = dense<0> : tensor<1x2xi64>"
    attributes = pairs if name.endswith("permute") else GROUP
    reference = None if name.endswith("permute") else unchanged
    return b.op(name, [b.operand(shape, element)], [(shape, element)], f"{attributes}{channel(b)}", reference=reference)


@draws("stablehlo.partition_id", "stablehlo.replica_id")
def position(b: Builder, name: str) -> list[Value]:
    (number,) = b.op(name, [], [((), "ui32")])
    shape = b.shape()
    other = b.operand(shape, "ui32")
    spread = b.one("stablehlo.broadcast_in_dim", [number], shape, "ui32", f"broadcast_dimensions = {longs([])}")
    return [number, b.one("stablehlo.add", [other, spread], shape, "ui32")]


__all__ = ["is_integer"]
