"""Finds which data types, layouts and memories each function of TT-NN refuses, and in which words.

It writes the table ``src/tt_xla/ttnn_api/refusals.txt``, from which our ``ttnn`` refuses calls. For each function one
call with plain tensors that TT-NN accepts is varied, one tensor at a time; two tensors of pointwise functions and
gradients get all combinations of data types. A line of the table has the words, the kinds that are refused, and the
functions with the parameters. ``{OP}`` stands for the function's name, ``{A}`` and ``{B}`` for data types, ``{SHARD}``
for the rows and columns of a shard. A kind with ``!`` is refused where not all tensors of the call have it, and one
with ``&`` where all of them have it.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import ttnn

from conformance.ttnn_acceptance import outcomes, reason
from conformance.ttnn_draw_families import families
from conformance.ttnn_draws import Draw, Drawer
from conformance.ttnn_signatures import has
from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.ttnn_api import signatures
from tt_xla.ttnn_api.refusals import FILE

DTYPES = ("bfloat16", "float32", "bfloat8_b", "bfloat4_b", "int32", "uint32", "uint16", "uint8")
PAIRED = DTYPES[:3] + DTYPES[4:7]
NUMBERS = {"integer": "2", "number": "2.5"}
"""Numbers in the place of a tensor, by the name that the table has for them."""
TRIES = 40
MEMORIES = ("l1", "height", "width", "block")
_CONFIGURED = ("ttnn.matmul(", "ttnn.linear(", "ttnn.conv")
"""Functions that take memories by the configuration that they choose, which follows from shapes."""
_CONDITIONAL = (
    r"circular buffer|EMA output shard|Can only write unbatched|shard width \(|page size|ROW_MAJOR Q|\[vm:|"
    r"group_norm: interleaved|shard height \d|fp32 tiled tensors yet"
)
"""Words of refusals that depend on the shape of a shard, or on two kinds at once."""
_ON_HOST = "Device Operations expect device tensors as inputs"
"""Words about a tensor on the host."""
_IN_RULES = {
    "chunk": "Physical shard",
    "roll": "same dtypes",
    "scatter": "differs from",
    "slice": "Physical shard",
    "where": "WHERE_TTS",
}
"""By function, words of refusals that depend on numbers, or on a third tensor: its rule refuses such calls."""
TOGETHER = "together"
"""In the place of a position: all tensors of the call have the kind."""
TENSOR = re.compile(r'ttnn_tensor\((\([^)]*\)), "(\w+)", "(\w+)", "(\w+)"')


class PlainDraw(Draw):
    """Draws tensors of the first data type and layout that a function takes, in DRAM, and sizes that fill tiles."""

    def kind(self, dtypes: Sequence[str] = DTYPES, layouts: Sequence[str] = ("tile",)) -> tuple[str, str, str]:
        return dtypes[0], layouts[0], "dram"

    def size(self) -> int:
        return self.random.choice((32, 64))

    def chance(self, probability: float) -> bool:
        return probability > 0.5

    def axis(self, rank: int) -> int:
        return rank - 1

    def shape(self, low: int = 1, high: int = 5) -> tuple[int, ...]:
        rank = max(low, min(high, 4))
        return super().shape(rank, rank)

    def broadcast(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(shape)


def plain_calls(name: str, drawer: Drawer) -> list[str]:
    """Returns calls of a function of which TT-NN may accept one."""
    return list(dict.fromkeys(f"ttnn.{name}({drawer(PlainDraw(f'{name} {number}'))})" for number in range(TRIES)))


def varied(call: str, position: int, **changes: str) -> str:
    """Returns a call with another data type, layout or memory of one tensor."""
    match = list(TENSOR.finditer(call))[position]
    shape, dtype, layout, memory = match.groups()
    kind = {"dtype": dtype, "layout": layout, "memory": memory} | changes
    text = f'ttnn_tensor({shape}, "{kind["dtype"]}", "{kind["layout"]}", "{kind["memory"]}"'
    return call[: match.start()] + text + call[match.end() :]


def _all_varied(call: str, **changes: str) -> str:
    """Returns a call with another data type, layout or memory of all tensors."""
    for position in range(len(TENSOR.findall(call))):
        call = varied(call, position, **changes)
    return call


def variations(call: str, *, pointwise: bool) -> Iterator[tuple[str, str, str]]:
    """Returns what is refused, the positions, and the call, for each variation of a call."""
    tensors = TENSOR.findall(call)
    for position, (_, dtype, layout, memory) in enumerate(tensors):
        if memory == "host":
            continue  # weights, which a call also takes prepared on the device
        for other in DTYPES:
            if other == dtype or (other.endswith("_b") and layout != "tile"):
                continue
            yield other, str(position), varied(call, position, dtype=other)
        other = "row_major" if layout == "tile" else "tile"
        yield other, str(position), varied(call, position, layout=other)
        if call.startswith(_CONFIGURED):
            continue
        for other in (*MEMORIES, "host"):
            yield other, str(position), varied(call, position, memory=other)
        if not dtype.endswith("_b"):
            yield "small_shards", str(position), varied(call, position, layout="row_major", memory="height")
    if len(tensors) > 1:
        for field, values in (("dtype", DTYPES), ("layout", ("tile", "row_major")), ("memory", MEMORIES)):
            for value in values:
                yield value, TOGETHER, _all_varied(call, **{field: value})
        yield "small_shards", TOGETHER, _all_varied(call, layout="row_major", memory="height")
    if not pointwise or len(tensors) != 2:
        return
    for kinds in itertools.product(PAIRED, repeat=len(tensors)):
        changed = call
        for position, dtype in enumerate(kinds):
            changed = varied(changed, position, dtype=dtype)
        yield "*".join(kinds), "*".join(map(str, range(len(tensors)))), changed


def parameters(call: str) -> Mapping[str, str]:
    """Returns the parameter of each tensor of a call by its position, and that of a number in place of the second."""
    count = itertools.count()
    name, _, arguments = call.partition("(")
    tensor = r"ttnn_tensor\((?:\([^)]*\)|[^()])*\)"
    placed = re.sub(tensor, lambda match: f"Place({next(count)})", arguments)
    names = {"ttnn": ttnn, "device": None, "Place": Place, "NUMBER": Place("n")}
    positional, named = eval(f"(lambda *positional, **named: (positional, named))({placed}", names)
    for overload in signatures.overloads(name):
        try:
            bound = overload.bind(positional, named)
        except TypeError:
            continue
        flat = [(key, each) for key, value in bound.items() for each in (value if isinstance(value, list) else [value])]
        return {str(each.position): key for key, each in flat if isinstance(each, Place)}
    return {}


class Place:
    """Stands for a tensor of a call."""

    def __init__(self, position: int | str) -> None:
        self.position = position


def _refuses(outcome: Mapping[str, str]) -> bool:
    return outcome["result"] in ("refused", "arguments")


def words_of(text: str, name: str, kinds: str) -> str:
    """Returns the words of a refusal with marks for the function and the data types."""
    if kinds == "host":
        return _ON_HOST  # many functions end the interpreter instead
    words = re.sub(r"\s+", " ", reason(text)).strip().replace("|", "/")
    words = re.sub(r"shard shape \(\d+, \d+\)", "shard shape {SHARD}", words)
    if re.search(r"Shard (width|height) \d|Number of shards|[sS]hape \[|\d B\b|tile-aligned|FillPad", words):
        return ""  # an error of the variation's own shape
    if re.search(_CONDITIONAL, words) or (name in _IN_RULES and _IN_RULES[name] in words):
        return ""
    words = re.sub(rf"(?<=OpType::){name.strip('_').upper()}\b", "{OP}", words)
    for mark, dtype in zip("ABC", [each for each in kinds.split("*") if each in DTYPES], strict=False):
        words = re.sub(rf"DataType::{dtype.upper()}\b", f"{{{mark}}}", words)
        words = re.sub(rf"\b{dtype.upper()}(?=[.)]|$)", f"{{{mark}}}", words)
    return re.sub(r" \(input_dtype[^)]*\)", "", words)


@click.command(help=__doc__)
@click.option("--functions", default="", help="Names of functions; the table is printed, not written.")
def main(functions: str) -> None:
    interpreter = mock(ttnn_python(), "p150")

    def made(calls: Sequence[str]) -> dict[str, dict[str, str]]:
        return outcomes(calls, str(interpreter.python), interpreter.environment, "p150")  # type: ignore[return-value]

    wanted = {
        (family, name): plain_calls(name, drawer)
        for family, members in families().items()
        for name, drawer in members.items()
        if has(f"ttnn.{name}") and (not functions or name in functions.split())
    }
    tried = made([call for calls in wanted.values() for call in calls])
    table: dict[tuple[str, str], list[str]] = defaultdict(list)
    plan: dict[str, list[tuple[str, str, str]]] = {}
    for (family, name), calls in wanted.items():
        accepted = next((call for call in calls if not _refuses(tried[call])), None)
        if accepted is None:
            click.echo(f"ttnn.{name}: no call is accepted: {reason(tried[calls[0]]['words'])[:150]}")
            continue
        if not TENSOR.search(accepted):
            continue
        pointwise = family in ("pointwise", "gradients")
        plan[name] = list(variations(accepted, pointwise=pointwise))
        number = re.sub(r", ttnn_tensor\([^)]*\)[^)]*\)\)$", ", NUMBER)", accepted)
        if pointwise and number != accepted:
            for kind, (label, text) in itertools.product(PAIRED, NUMBERS.items()):
                plan[name].append((f"{kind}*{label}", "0*n", varied(number, 0, dtype=kind).replace("NUMBER", text)))
    results = made([call for each in plan.values() for _, _, call in each])
    for name, each in plan.items():
        places = parameters(each[0][2]) | {"n": parameters(each[-1][2].replace(", 2.5)", ", NUMBER)")).get("n", "")}
        refused: dict[tuple[str, str], list[str]] = defaultdict(list)
        alone = {kinds for kinds, at, call in each if at != TOGETHER and _refuses(results[call])}
        together = {kinds for kinds, at, call in each if at == TOGETHER and not _refuses(results[call])}
        paired = any("*" in at for _, at, _ in each)
        for kinds, positions, call in each:
            outcome = results[call]
            if positions == TOGETHER or outcome["result"] != "refused" or (paired and kinds in PAIRED):
                continue
            if words := words_of(outcome["words"], name, kinds):
                refused[words, positions].append(f"{kinds}!" if kinds in together else kinds)
        for kinds, at, call in each:
            outcome = results[call]
            if at == TOGETHER and kinds == "row_major" and kinds not in alone and outcome["result"] == "refused":
                refused[words_of(outcome["words"], name, kinds), "0"].append(f"{kinds}&")
        for (words, positions), kinds in refused.items():
            named = "*".join(places.get(each, "") for each in positions.split("*"))
            table[words, " ".join(kinds)].append(f"{name}:{named}")
    lines = [f"{words} | {kinds} | {' '.join(names)}" for (words, kinds), names in sorted(table.items())]
    if functions:
        click.echo("\n".join(lines))
    else:
        Path(FILE).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
