"""A program while it is drawn, step by step: arguments, and functions of JAX applied to earlier values."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from tests.fuzz import values
from tests.fuzz.cases import NotDrawnError
from tests.fuzz.meshes import SIZES

Aval = jax.ShapeDtypeStruct
MOST = 3000
"""Elements of a tensor, at most."""


@dataclass(frozen=True)
class _Step:
    function: Callable[..., Any]
    operands: tuple[int, ...]
    count: int


@dataclass
class Draft:
    """A program that is being drawn.

    Attributes:
        random: The generator.
        inputs: Elements of the arguments.
        avals: Shape and type of each value, arguments among them.
        names: Names of the steps, in order.
    """

    random: random.Random
    inputs: list[np.ndarray] = field(default_factory=list)
    avals: list[Aval] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    differentiable: bool = True
    _nodes: list[int | _Step] = field(default_factory=list)
    _used: set[int] = field(default_factory=set)

    def argument(self, array: np.ndarray) -> int:
        """Adds an argument of the program, and returns its number among the values."""
        self._nodes.append(len(self.inputs))
        self.inputs.append(array)
        self.avals.append(Aval(array.shape, array.dtype))
        return len(self.avals) - 1

    def drawn(self, shape: Sequence[int], dtype: str) -> int:
        """Adds an argument with drawn elements."""
        return self.argument(values.array(self.random, shape, dtype))

    def integers(self, shape: Sequence[int], low: int, high: int, dtype: str = "int32") -> int:
        """Adds an argument of integers from ``low`` to ``high - 1``."""
        generator = np.random.default_rng(self.random.getrandbits(64))
        return self.argument(generator.integers(low, max(high, low + 1), shape).astype(dtype))

    def shape(self, ranks: Sequence[int] = (1, 2, 2, 3), most: int = MOST) -> tuple[int, ...]:
        """Draws a shape."""
        sizes = [self.random.choice(SIZES) for _ in range(self.random.choice(ranks))]
        while np.prod(sizes, dtype=int) > most:
            sizes[sizes.index(max(sizes))] = self.random.choice(SIZES[:8])
        return tuple(sizes)

    def dtype(self, kinds: str) -> str:
        """Draws an element type of one of some kinds: ``f`` float, ``i`` integer, ``b`` truth, ``c`` complex."""
        names = {
            "f": ("float32",) * 6 + ("bfloat16",) * 2 + ("float16",),
            "i": ("int32",) * 4 + ("uint32", "int8", "uint8", "int16", "uint16"),
            "b": ("bool",),
            "c": ("complex64",),
        }
        return self.random.choice(names[self.random.choice(kinds)])

    def value(
        self, kinds: str = "f", ranks: Sequence[int] = (1, 2, 2, 3), where: Callable[[Aval], bool] = lambda aval: True
    ) -> int:
        """Returns an earlier value of one of some kinds of elements and ranks, or a new argument.

        Args:
            kinds: letters of :meth:`dtype`.
            ranks: ranks that it may have.
            where: what else must hold for an earlier value. A new argument is drawn until it holds.
        """
        fitting = [
            index
            for index, aval in enumerate(self.avals)
            if kind_of(aval.dtype) in kinds and len(aval.shape) in ranks and where(aval)
        ]
        if fitting and self.random.random() < 0.8:
            fresh = [index for index in fitting if index not in self._used]
            return self.random.choice(fresh if fresh and self.random.random() < 0.8 else fitting)
        for _ in range(50):
            aval = Aval(self.shape(ranks), values.dtype(self.dtype(kinds)))
            if where(aval):
                return self.drawn(aval.shape, aval.dtype.name)
        raise NotDrawnError("no value fits")

    def like(self, index: int, shape: Sequence[int] | None = None) -> int:
        """Returns an earlier value of the type of another one, or a new argument of it."""
        aval = self.avals[index]
        shape = aval.shape if shape is None else tuple(shape)
        alike = [i for i, other in enumerate(self.avals) if (other.shape, other.dtype) == (shape, aval.dtype)]
        if alike and self.random.random() < 0.6:
            return self.random.choice(alike)
        return self.drawn(shape, aval.dtype.name)

    def add(self, function: Callable[..., Any], *operands: int) -> list[int]:
        """Adds the results of a function of some values, and returns their numbers.

        Raises:
            NotDrawnError: JAX refuses it, or a result is larger than tensors are here.
        """
        try:
            results = jax.eval_shape(function, *(self.avals[index] for index in operands))
        except (TypeError, ValueError, NotImplementedError) as error:
            raise NotDrawnError(str(error)) from error
        leaves = jax.tree.leaves(results)
        if any(np.prod(leaf.shape, dtype=int) > 2 * MOST for leaf in leaves):
            raise NotDrawnError("large tensors")
        self._used.update(operands)
        self._nodes.append(_Step(function, operands, len(leaves)))
        first = len(self.avals)
        self.avals.extend(leaves)
        return [*range(first, first + len(leaves))]

    def unused(self) -> list[int]:
        """Returns the numbers of the results that no step takes, arguments excepted."""
        arguments = set(self.argument_numbers())
        return [index for index in range(len(self.avals)) if index not in self._used and index not in arguments]

    def argument_numbers(self) -> list[int]:
        """Returns the numbers of the arguments among the values, in order."""
        starts = np.cumsum([0, *(1 if isinstance(node, int) else node.count for node in self._nodes)])
        return [int(start) for start, node in zip(starts, self._nodes, strict=False) if isinstance(node, int)]

    def function(self, results: Sequence[int]) -> Callable[..., Any]:
        """Returns the program as a function of its arguments."""
        nodes = tuple(self._nodes)

        def program(*arguments: Any) -> Any:
            env: list[Any] = []
            for node in nodes:
                if isinstance(node, int):
                    env.append(arguments[node])
                else:
                    env.extend(jax.tree.leaves(node.function(*(env[index] for index in node.operands))))
            return tuple(env[index] for index in results)

        return program


def kind_of(dtype: np.dtype) -> str:
    """Returns the letter of an element type's kind, see :meth:`Draft.dtype`."""
    if dtype == np.bool_:
        return "b"
    if values.is_float(dtype):
        return "f"
    return "c" if dtype.kind == "c" else "i"


_text_p = Primitive("tests_fuzz_text")
_text_p.multiple_results = True


@_text_p.def_abstract_eval
def _results(*operands: Any, text: str, results: tuple[Aval, ...]) -> Any:
    return [jax.core.ShapedArray(aval.shape, aval.dtype) for aval in results]


def as_text(text: str, operands: Sequence[Any], results: Sequence[Aval]) -> list[Any]:
    """Applies ops that are given as StableHLO text.

    Args:
        text: ops on ``%a0``, ``%a1`` ..., whose results are ``%r0``, ``%r1`` ...; ``{a0}`` and ``{r0}`` stand for the
            types.
        operands: arrays.
        results: shape and type of each result.
    """
    return _text_p.bind(*operands, text=text, results=tuple(Aval(r.shape, r.dtype) for r in results))


def one_op(name: str, operands: Sequence[Any], result: Aval, attributes: str = "", region: str = "") -> Any:
    """Applies an op of one result in its generic form."""
    names = ", ".join(f"%a{i}" for i in range(len(operands)))
    types = ", ".join(f"{{a{i}}}" for i in range(len(operands)))
    properties = f" <{{{{{attributes}}}}}>" if attributes else ""
    body = f" ({{{{{region}}}}})" if region else ""
    return as_text(f'%r0 = "{name}"({names}){properties}{body} : ({types}) -> {{r0}}', operands, [result])[0]


_ELEMENTS = {"bool": "i1", "bfloat16": "bf16", "complex64": "complex<f32>", "complex128": "complex<f64>"}


def tensor_type(aval: Aval) -> str:
    """Returns the text of a tensor type."""
    name = aval.dtype.name
    for long, short in (("float", "f"), ("uint", "ui"), ("int", "i")):
        if name.startswith(long):
            name = short + name.removeprefix(long)
    return f"tensor<{''.join(f'{size}x' for size in aval.shape)}{_ELEMENTS.get(aval.dtype.name, name)}>"


def _lower(context: Any, *operands: Any, text: str, results: tuple[Aval, ...]) -> Any:
    types = {f"a{i}": str(operand.type) for i, operand in enumerate(operands)}
    types |= {f"r{i}": tensor_type(aval) for i, aval in enumerate(results)}
    outer = context.module_context.module
    arguments = ", ".join(f"%a{i}: {operand.type}" for i, operand in enumerate(operands))
    returned = ", ".join(types[f"r{i}"] for i in range(len(results)))
    names = ", ".join(f"%r{i}" for i in range(len(results)))
    body = text.format(**types)
    inner = ir.Module.parse(
        f"func.func private @text({arguments}) -> ({returned}) {{\n{body}\nreturn {names} : {returned}\n}}",
        outer.context,
    )
    function = inner.body.operations[0].operation.clone(ip=ir.InsertionPoint(outer.body))
    name = context.module_context.symbol_table.insert(function)
    result_types = [ir.Type.parse(types[f"r{i}"], outer.context) for i in range(len(results))]
    return func.CallOp(result_types, ir.FlatSymbolRefAttr.get(name.value), list(operands)).results


def _batched(operands: Any, dims: Any, *, text: str, results: tuple[Aval, ...]) -> Any:
    """Applies the ops to one element of the batch after the other."""
    (size,) = {operand.shape[dim] for operand, dim in zip(operands, dims, strict=True) if dim is not None}
    rows: list[Any] = []
    for index in range(size):
        parts = [
            operand if dim is None else jax.lax.index_in_dim(operand, index, dim, keepdims=False)
            for operand, dim in zip(operands, dims, strict=True)
        ]
        rows.append(_text_p.bind(*parts, text=text, results=results))
    return [jax.numpy.stack(column) for column in zip(*rows, strict=True)], [0] * len(results)


mlir.register_lowering(_text_p, _lower)
batching.primitive_batchers[_text_p] = _batched
