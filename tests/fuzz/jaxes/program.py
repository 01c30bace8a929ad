"""Draws the text of a JAX program: statements on arguments, and a transformation around them."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz import values
from tests.fuzz.jaxes.templates import TEMPLATES

PRELUDE = '''
def total(tree):
    """Sums floats with weights, as a loss."""
    floats = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    weights = [jnp.arange(leaf.size).reshape(leaf.shape) % 5 - 1.5 for leaf in floats]
    return sum((jnp.sum(leaf.astype(jnp.float32) * w) for leaf, w in zip(floats, weights)), jnp.float32(0))

@jax.custom_vjp
def bounded(x):
    return jnp.clip(x, -1, 1)

bounded.defvjp(lambda x: (bounded(x), x), lambda x, g: (jnp.where(abs(x) < 2, g, -g),))

@jax.custom_jvp
def bent(x):
    return jnp.maximum(x, 0) * x

bent.defjvp(lambda x, t: (bent(*x), 3 * x[0] * t[0]))
'''

WAYS: dict[str, str] = {
    "plain": "program = body",
    "jit": "program = jax.jit(body)",
    "grad": "program = jax.grad(lambda *a: total(body(*a)), argnums=FLOATS)",
    "value_and_grad": "program = jax.value_and_grad(lambda *a: total(body(*a)), argnums=FLOATS)",
    "remat": "program = jax.grad(lambda *a: total(jax.checkpoint(body)(*a)), argnums=FLOATS)",
    "vjp": "program = lambda *a: jax.vjp(lambda *b: total(body(*b)), *a)[1](jnp.float32(0.5))[FIRST]",
    "jvp": "program = lambda *a: jax.jvp(lambda x: body(*a[:FIRST], x, *a[FIRST + 1:]), (a[FIRST],), "
    "(jnp.cos(a[FIRST]),))",
    "linearize": "program = lambda *a: jax.linearize(lambda x: total(body(*a[:FIRST], x, *a[FIRST + 1:])), a[FIRST])[1]"
    "(jnp.ones_like(a[FIRST]))",
    "vmap": "program = lambda *a: jax.vmap(body)(*(jnp.stack([x, x[::-1] if x.ndim else x]) for x in a))",
    "vmap_last": "program = lambda *a: jax.vmap(body, in_axes=-1, out_axes=-1)(*(jnp.stack([x, x], -1) for x in a))",
    "vmap_grad": "program = lambda *a: jax.vmap(jax.grad(lambda *b: total(body(*b)), argnums=FLOATS))("
    "*(jnp.stack([x, x + x]) for x in a))",
    "map": "program = lambda *a: lax.map(lambda b: body(*b), tuple(jnp.stack([x, x, x]) for x in a))",
    "scan": "program = lambda *a: lax.scan(lambda c, b: (0.5 * c + total(body(*b)), body(*b)), jnp.float32(1), "
    "tuple(jnp.stack([x, x]) for x in a))",
    "scan_reverse": "program = lambda *a: lax.scan(lambda c, b: (c - total(body(*b)), c), jnp.float32(1), "
    "tuple(jnp.stack([x, x, x]) for x in a), reverse=True, unroll=2)",
    "scan_grad": "program = jax.grad(lambda *a: lax.scan(lambda c, b: (0.5 * c + total(body(*b)), None), "
    "jnp.float32(1), tuple(jnp.stack([x, x]) for x in a))[0], argnums=FLOATS)",
    "fori": "program = lambda *a: lax.fori_loop(0, 3, lambda k, c: 0.5 * c + k * total(body(*a)), jnp.float32(0))",
    "while": "program = lambda *a: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + total(body(*a))), "
    "(0, jnp.float32(0)))",
    "cond": "program = lambda *a: lax.cond(jnp.sum(a[FIRST]) > 0, lambda b: total(body(*b)), "
    "lambda b: jnp.float32(2), a)",
    "switch": "program = lambda *a: lax.switch(jnp.int32(jnp.sum(a[FIRST])), [lambda *b: total(body(*b)), "
    "lambda *b: 2 * total(body(*b)), lambda *b: jnp.float32(3)], *a)",
    "cond_grad": "program = jax.grad(lambda *a: lax.cond(jnp.max(a[FIRST]) > 1, lambda b: total(body(*b)), "
    "lambda b: jnp.sum(b[FIRST]).astype(jnp.float32), a), argnums=FLOATS)",
    "jacobian": "program = jax.jacfwd(lambda *a: total(body(*a)), argnums=FIRST)",
}
"""Transformations by name. FLOATS are the arguments of floats, FIRST is the first one."""

REFUSALS = (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
"""Errors with which JAX refuses a call."""

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Drawn:
    """A drawn JAX program.

    Attributes:
        source: Its text, which defines ``program``.
        inputs: Its arguments.
    """

    source: str
    inputs: tuple[np.ndarray, ...]

    def function(self) -> Any:
        """Returns the program."""
        scope = _scope()
        exec(self.source, scope)
        return scope["program"]


def _scope() -> dict[str, Any]:
    return {"jax": jax, "jnp": jnp, "lax": lax, "np": np}


class Drawing:
    """Statements that are being drawn.

    Args:
        random: the generator.
    """

    def __init__(self, random: random.Random) -> None:
        self._random = random
        self.inputs: list[np.ndarray] = []
        self.lines: list[str] = []
        self._known: dict[str, jax.ShapeDtypeStruct] = {}
        self._used: set[str] = set()
        self._scope = _scope()
        exec(PRELUDE, self._scope)

    def argument(self, array: np.ndarray) -> None:
        name = f"a{len(self.inputs)}"
        self.inputs.append(array)
        self._known[name] = jax.ShapeDtypeStruct(array.shape, array.dtype)

    def statement(self, template: str) -> bool:
        """Appends a call on drawn operands. Returns whether JAX takes it."""
        chosen: dict[str, str] = {}
        text = _PLACE.sub(lambda match: self._operand(match[1], chosen), template)
        names = re.findall(r"\b[av]\d+\b", text)
        function = eval(f"lambda {', '.join(dict.fromkeys(names))}: {text}", self._scope)
        try:
            results = jax.eval_shape(function, *(self._known[name] for name in dict.fromkeys(names)))
        except REFUSALS:
            return False
        leaves = jax.tree.leaves(results)
        if not leaves or len(leaves) > 4 or not all(_is_plain(leaf) for leaf in leaves):
            return False
        made = [f"v{len(self._known) + place}" for place in range(len(leaves))]
        left = ", ".join(made) + ("," if not hasattr(results, "shape") else "")
        self.lines.append(f"{left} = {text}" if hasattr(results, "shape") else f"{left} = jax.tree.leaves({text})")
        self._known.update(zip(made, leaves, strict=True))
        self._used.update(names)
        return True

    def returned(self) -> list[str]:
        """Returns the results that no statement reads, and perhaps another one."""
        made = [name for name in self._known if name.startswith("v")]
        results = [name for name in made if name not in self._used][-4:]
        if made and self._random.random() < 0.3:
            results.append(self._random.choice(made))
        return results or [*self._known][:1]

    def _operand(self, place: str, chosen: dict[str, str]) -> str:
        if place not in chosen or place in ("c", "k"):
            chosen[place] = self._drawn(place, chosen)
        return chosen[place]

    def _drawn(self, place: str, chosen: dict[str, str]) -> str:
        draw = self._random
        first = self._known.get(next(iter(chosen.values()), ""))
        rank = 0 if first is None else len(first.shape)
        if place == "axis":
            return str(draw.randrange(-rank, rank)) if rank else "0"
        if place == "perm":
            return str(tuple(draw.sample(range(rank), rank)))
        if place == "shape":
            size = 1 if first is None else math.prod(first.shape)
            divisors = [n for n in range(1, size + 1) if size % n == 0] or [0]
            return f"({draw.choice(divisors)}, -1)" if size else "(0,)"
        if place == "k":
            return str(draw.randint(1, 3))
        if place == "c":
            return draw.choice(("0", "1", "2", "-1", "0.5", "2.0", "-1.5", "3", "1e-3", "True"))
        return self._array(place, chosen)

    def _array(self, place: str, chosen: dict[str, str]) -> str:
        """Returns a variable of the kind of a place; one that was chosen for it, or a conversion, is its own text."""
        beside = {"g": "f", "j": "i", "p": "b", "o": "n", "w": "v"}.get(place)
        kinds = {
            "f": "f",
            "g": "f",
            "v": "f",
            "w": "f",
            "m": "f",
            "i": "i",
            "j": "i",
            "b": "b",
            "p": "b",
            "n": "fi",
            "o": "fi",
        }
        ranks = {"v": (1,), "w": (1,), "m": (2,)}.get(place, (0, 1, 2, 3, 4))
        names = [
            name for name, value in self._known.items() if len(value.shape) in ranks and _kind(value) in kinds[place]
        ]
        like = self._known.get(chosen.get(beside or "", ""))
        if like is not None:
            alike = [name for name in names if self._known[name].shape == like.shape]
            names = [name for name in alike if self._known[name].dtype == like.dtype] or alike or names
        if names:
            # Later results are chosen more often.
            return self._random.choice(names[-4:] if self._random.random() < 0.6 else names)
        return self._converted(kinds[place][0], ranks)

    def _converted(self, kind: str, ranks: Sequence[int]) -> str:
        name = self._random.choice([*self._known])
        text = {"f": f"{name}.astype(jnp.float32)", "i": f"{name}.astype(jnp.int32)", "b": f"({name} > 0)"}[kind]
        if ranks == (1,):
            return f"{text}.ravel()"
        return f"{text}.reshape(-1, 1)" if ranks == (2,) else text


def _kind(value: Any) -> str:
    if value.dtype == np.bool_:
        return "b"
    return (
        "f" if jnp.issubdtype(value.dtype, jnp.floating) else "i" if jnp.issubdtype(value.dtype, jnp.integer) else "c"
    )


def _is_plain(leaf: Any) -> bool:
    """Whether a result is small and of numbers."""
    return hasattr(leaf, "dtype") and math.prod(leaf.shape) <= 4096 and len(leaf.shape) <= 5 and leaf.dtype.kind != "O"


def drawn(random: random.Random, *, special: bool) -> Drawn:
    """Returns a drawn program: one to four statements and a transformation around them."""
    way = random.choice([*WAYS]) if random.random() < 0.65 else "plain"
    drawing = Drawing(random)
    shape = values.shape(random, (0, 1, 1, 2, 2, 2, 3), most=600)
    floats = random.choice(("float32", "float32", "float32", "bfloat16", "float16"))
    others = random.choice(("float32", "int32", "int8", "uint8", "bool", "uint32", "bfloat16", "int16"))
    drawing.argument(values.array(random, shape, floats, special=special))
    for name in (floats, others)[: random.randint(0, 2)]:
        sizes = shape if random.random() < 0.6 else (shape[-1:] if random.random() < 0.6 else ())
        drawing.argument(values.array(random, sizes, name, special=special))
    wanted = random.randint(1, 4)
    for _ in range(4 * wanted):
        family = random.choice([*TEMPLATES])
        template = random.choice(TEMPLATES[family])
        if random.random() < 0.05:
            template = random.choice(("bounded({f})", "bent({f})"))
        wanted -= drawing.statement(template)
        if not wanted:
            break
    return Drawn(_text(drawing, way), tuple(values.strided(random, value) for value in drawing.inputs))


def _text(drawing: Drawing, way: str) -> str:
    arguments = ", ".join(f"a{index}" for index in range(len(drawing.inputs)))
    body = "\n".join(f"    {line}" for line in [*drawing.lines, f"return {', '.join(drawing.returned())},"])
    floats = [index for index, value in enumerate(drawing.inputs) if values.is_float(value.dtype)]
    transformed = WAYS[way].replace("FLOATS", repr(tuple(floats))).replace("FIRST", str(floats[0]))
    return f"{PRELUDE}\ndef body({arguments}):\n{body}\n\n{transformed}\n"
