"""Programs, meshes and shardings for which the module of one chip must compute what one device does."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxlib.mlir import ir

from tt_xla.compiler.mlir_context import context

Spec = Sequence[Any]
"""For each dimension, the name of a mesh axis, names of several, or None."""

X42 = {"x": 4, "y": 2}
X24 = {"x": 2, "y": 4}
X8 = {"x": 8}
X222 = {"a": 2, "b": 2, "c": 2}


@dataclass(frozen=True)
class Program:
    function: Callable[..., Any]
    arguments: Sequence[Any]
    """Shape of each argument, with the element type after it if that is not float32."""
    shardings: Sequence[tuple[dict[str, int], Sequence[Spec], Sequence[Spec] | None]]
    """Mesh, shardings of the arguments, and those of the results; None where propagation finds them."""
    tolerance: float = 1e-5

    def arrays(self, name: str) -> list[np.ndarray[Any, Any]]:
        """Returns arguments, which depend on the program's name alone."""
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        return [_array(generator, *_shape_and_dtype(argument)) for argument in self.arguments]


def _shape_and_dtype(argument: Any) -> tuple[tuple[int, ...], str]:
    if argument and isinstance(argument[-1], str):
        return tuple(argument[:-1]), argument[-1]
    return tuple(argument), "float32"


def _array(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        return generator.integers(0, 50, shape).astype(dtype)
    if dtype.startswith("complex"):
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def with_shardings(text: str, mesh: dict[str, int], arguments: Sequence[Spec], results: Sequence[Spec] | None) -> Any:
    """Returns a module of one device with a mesh, and shardings of its arguments and results."""
    module = ir.Module.parse(text, context(len(text)))
    with module.context, ir.Location.unknown():
        axes = ", ".join(f'"{name}"={size}' for name, size in mesh.items())
        declaration = ir.Module.parse(f"sdy.mesh @mesh = <[{axes}]>").body.operations[0]
        declaration.operation.clone(ip=ir.InsertionPoint.at_block_begin(module.body))
        count = int(np.prod(list(mesh.values())))
        module.operation.attributes["mhlo.num_partitions"] = ir.Attribute.parse(f"{count} : i32")
        for function in module.body.operations:
            if function.operation.name == "func.func" and function.name.value == "main":
                shardings = [ir.DictAttr.get({"sdy.sharding": _attribute(spec)}) for spec in arguments]
                function.attributes["arg_attrs"] = ir.ArrayAttr.get(shardings)
                if results is not None:
                    shardings = [ir.DictAttr.get({"sdy.sharding": _attribute(spec)}) for spec in results]
                    function.attributes["res_attrs"] = ir.ArrayAttr.get(shardings)
    return module


def _attribute(spec: Spec) -> Any:
    names = [() if axes is None else (axes,) if isinstance(axes, str) else axes for axes in spec]
    dims = ", ".join("{" + ", ".join(f'"{name}"' for name in axes) + "}" for axes in names)
    return ir.Attribute.parse(f"#sdy.sharding<@mesh, [{dims}]>")


def _dynamic_slices(x: Any, starts: Any) -> Any:
    """Slices that begin within the tensor and, before they are moved, beyond its ends."""
    row = starts[0] - 3
    return (
        lax.dynamic_slice(x, (row, starts[1]), (1, x.shape[1])),
        lax.dynamic_slice(x, (starts[2] - 20, row), (3, 1)),
        lax.dynamic_slice(x, (*starts[3:].astype(jnp.uint8),), (5, 2)),
        lax.dynamic_slice(x > 0, (starts[0] % 7, 0), (4, x.shape[1])),
        lax.dynamic_slice_p.bind(
            jnp.repeat(x, 40, axis=0), *(starts[:2] % 7 + 240).astype(jnp.uint8), slice_sizes=(2, x.shape[1])
        ),
    )


def _dynamic_updates(x: Any, starts: Any) -> Any:
    """Updates of one element, of several, and of more than a chip's part."""
    return (
        lax.dynamic_update_slice(x, x[:1] * 2, (starts[0] % 11, 0)),
        lax.dynamic_update_slice(x, x[:3, :1] * 2, (starts[1] - 9, starts[2] % 5)),
        lax.dynamic_update_slice(x, x[1:] * 2, (starts[3] % 2, starts[4])),
        lax.dynamic_update_slice(x, x[2:7, 1:3] * 2, (starts[4] % 9, starts[0] % 4)),
    )


def _argmax(x: Any) -> Any:
    return jnp.argmax(x, axis=0), jnp.argmin(x, axis=1)


def _loop(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: c * 1.5 + i, x)


def _scan(x: Any) -> Any:
    return lax.scan(lambda c, row: (c + row, c * 2), jnp.zeros(x.shape[1]), x)


def _branches(i: Any, x: Any) -> Any:
    return lax.switch(i[0] % 3, [lambda v: v + 1, lambda v: v * 2, jnp.sin], x)


def _mlp(x: Any, w1: Any, w2: Any) -> Any:
    return jax.nn.gelu(x @ w1) @ w2


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def _layer_norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


@functools.partial(lax.composite, name="tests.norm")
def _norm(x: Any) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


@functools.partial(lax.composite, name="tests.block")
def _block(x: Any) -> Any:
    return _norm(x) + jnp.tanh(x)


PROGRAMS: dict[str, Program] = {
    "add": Program(
        lambda a, b: a + b * 2,
        [(8, 16), (8, 16)],
        [
            (X42, [("x", "y"), ("x", "y")], None),
            (X42, [("x", None), ("y", None)], None),
            (X42, [("x", None), ("y", None)], [("y", "x")]),
            (X42, [("x", "y"), ("y", "x")], [(None, ("x", "y"))]),
            (X8, [("x", None), (None, "x")], [(None, "x")]),
            (X222, [(("a", "b"), None), ("b", "a")], [("c", None)]),
            (X222, [(("b", "a"), None), (("a", "b"), None)], [(("c", "a"), "b")]),
        ],
    ),
    "add_uneven": Program(
        lambda a, b: a + b * 2,
        [(5, 7), (5, 7)],
        [
            (X42, [("x", "y"), ("x", "y")], None),
            (X42, [(("x", "y"), None), ("x", None)], [("y", "x")]),
            (X42, [("x", None), (None, "x")], [(None, "y")]),
            (X8, [("x", None), (None, "x")], None),
        ],
    ),
    "scalar": Program(lambda a, s: a * s[0] + 3, [(8,), (1,)], [(X42, [("x",), (None,)], [(("x", "y"),)])]),
    "integers": Program(
        lambda a, b: (a + b, jnp.sum(a * b, axis=0), jnp.max(a), jnp.min(b, axis=1), jnp.prod(a % 3 + 1, axis=1)),
        [(9, 6, "int32"), (9, 6, "int32")],
        [(X42, [("x", "y"), ("x", "y")], None), (X24, [("y", "x"), (None, None)], None)],
    ),
    "logic": Program(
        lambda a: (jnp.any(a, axis=0), jnp.all(a, axis=1), ~a),
        [(9, 6, "bool")],
        [(X42, [("x", "y")], None), (X42, [(None, "x")], None)],
    ),
    "small_integers": Program(
        lambda a: (jnp.max(a, axis=0), jnp.min(a, axis=1), jnp.sum(a)),
        [(9, 6, "uint8")],
        [(X42, [("x", "y")], None)],
    ),
    "bfloat16": Program(
        lambda a, b: (jnp.max(a, axis=0), a @ b),
        [(8, 16, "bfloat16"), (16, 4, "bfloat16")],
        [(X42, [("x", "y"), ("y", None)], None)],
        tolerance=0.05,
    ),
    "complex": Program(
        lambda a, b: (a @ b, jnp.sum(a)),
        [(8, 7, "complex64"), (7, 4, "complex64")],
        [(X42, [("x", "y"), ("y", None)], None)],
    ),
    "matmul": Program(
        lambda a, b: a @ b,
        [(8, 16), (16, 24)],
        [
            (X42, [("x", None), (None, "y")], None),
            (X42, [("x", "y"), ("y", None)], None),
            (X42, [("x", "y"), ("y", None)], [(("x", "y"), None)]),
            (X42, [(None, "x"), ("x", None)], [("x", None)]),
            (X42, [("x", None), ("x", None)], None),
            (X42, [(None, ("x", "y")), (("x", "y"), None)], None),
            (X42, [(None, ("x", "y")), ("y", "x")], [("y", "x")]),
        ],
    ),
    "matmul_uneven": Program(
        lambda a, b: a @ b,
        [(5, 7), (7, 3)],
        [
            (X42, [("x", "y"), ("y", None)], None),
            (X42, [(None, "x"), ("x", "y")], [("x", None)]),
            (X8, [(None, "x"), ("x", None)], None),
        ],
    ),
    "batched_matmul": Program(
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
        [(4, 6, 8), (4, 8, 10)],
        [(X42, [("x", None, "y"), ("x", "y", None)], None), (X42, [("x", "y", None), (None, None, "x")], None)],
    ),
    "reduce": Program(
        lambda a: (a.sum(0), a.max(1), a.mean(), jnp.prod(a, axis=0), a.min()),
        [(8, 12)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None), (X42, [(("y", "x"), None)], None)],
    ),
    "reduce_uneven": Program(
        lambda a: (a.sum(0), a.max(1), a.mean(), jnp.prod(a, axis=0), a.min()),
        [(7, 5)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None), (X8, [(None, "x")], None)],
    ),
    "reduce_with_start": Program(
        lambda a: lax.reduce(a, np.float32(3), lax.add, (0,)), [(7, 4)], [(X42, [("x", "y")], None)]
    ),
    "argmax": Program(_argmax, [(9, 7)], [(X42, [("x", "y")], None), (X8, [("x", None)], None)]),
    "transpose": Program(
        lambda a: jnp.transpose(a, (2, 0, 1)) * 2,
        [(4, 8, 6)],
        [(X42, [("x", None, "y")], None), (X42, [("x", None, "y")], [("x", "y", None)])],
    ),
    "broadcast": Program(
        lambda a, b: a[:, None] * b[None, :] + jnp.ones((8, 12)),
        [(8,), (12,)],
        [(X42, [("x",), ("y",)], None), (X42, [(None,), (None,)], [("x", "y")]), (X42, [("y",), ("y",)], None)],
    ),
    "reshape": Program(
        lambda a: (a.reshape(8, 3, 4) + 1, a.reshape(2, 4, 12), a.reshape(96), a.reshape(4, 24)),
        [(8, 12)],
        [
            (X42, [("x", "y")], None),
            (X42, [(("x", "y"), None)], None),
            (X42, [(None, "x")], None),
            (X42, [(None, None)], [("x", None, "y"), ("y", None, "x"), (("x", "y"),), ("x", "y")]),
        ],
    ),
    "reshape_uneven": Program(
        lambda a: (a.reshape(5, 3, 2) + 1, a.reshape(30), a.reshape(5, 1, 6)),
        [(5, 6)],
        [(X42, [("x", "y")], None), (X42, [(None, "x")], None)],
    ),
    "iota": Program(
        lambda a: a + lax.broadcasted_iota(jnp.float32, (9, 6), 0) + jnp.arange(6.0),
        [(9, 6)],
        [(X42, [("x", "y")], None)],
    ),
    "constant": Program(
        lambda a: a + np.arange(72, dtype=np.float32).reshape(9, 8), [(9, 8)], [(X42, [("x", "y")], [("y", "x")])]
    ),
    "select": Program(
        lambda a, b: jnp.where(a > 0, a, b).astype(jnp.int32),
        [(8, 4), (8, 4)],
        [(X42, [("x", None), (None, "y")], None)],
    ),
    "clamp": Program(lambda a: jnp.clip(a, -0.5, 0.5), [(8, 4)], [(X42, [("x", "y")], None)]),
    "softmax": Program(
        lambda a: jax.nn.softmax(a, axis=-1), [(6, 9)], [(X42, [("y", "x")], None), (X42, [("x", "y")], None)]
    ),
    "layer_norm": Program(_layer_norm, [(8, 10)], [(X42, [("x", "y")], None), (X42, [(None, "x")], None)]),
    "mlp": Program(
        _mlp,
        [(8, 16), (16, 32), (32, 16)],
        [
            (X42, [("x", None), (None, "y"), ("y", None)], [("x", None)]),
            (X42, [("x", None), ("x", "y"), ("y", "x")], None),
        ],
    ),
    "attention": Program(
        _attention,
        [(4, 4, 8, 8)] * 3,
        [
            (X42, [("x", "y", None, None)] * 3, None),
            (X42, [("y", "x", None, None), ("y", "x", None, None), (None, None, None, None)], None),
            (X42, [(None, "y", "x", None)] + [(None, "y", None, None)] * 2, None),
        ],
    ),
    "gradient": Program(
        jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2)),
        [(16, 8), (8, 16)],
        [(X42, [(None, "y"), ("x", None)], [(None, "y")]), (X42, [("x", "y"), ("x", None)], [("x", "y")])],
    ),
    "loop": Program(_loop, [(8, 6)], [(X42, [("x", "y")], None), (X42, [("x", None)], [(None, "x")])]),
    "scan": Program(_scan, [(6, 8)], [(X42, [(None, "x")], None), (X24, [("x", "y")], None)]),
    "switch": Program(_branches, [(3, "int32"), (8, 6)], [(X42, [(None,), ("x", "y")], None)]),
    "random": Program(
        lambda a: a + jax.random.normal(jax.random.key(3), (8, 8)), [(8, 8)], [(X42, [("x", "y")], None)]
    ),
    "slice": Program(
        lambda a: (a[1:7], a[::2, 1:], a[3:4, 2:5] * 2, a[5:, ::3]),
        [(9, 8)],
        [(X42, [("x", "y")], None), (X42, [(None, "x")], None), (X42, [(("x", "y"), None)], None)],
    ),
    "slice_results": Program(
        lambda a: (a[1:9], a[4:12, 1:]),
        [(16, 8)],
        [(X42, [("x", None)], [("x", "y"), ("y", "x")]), (X42, [(None, None)], [("x", None), (None, "x")])],
    ),
    "pad": Program(
        lambda a: (
            jnp.pad(a, ((1, 2), (0, 3))),
            lax.pad(a, np.float32(7), ((2, -1, 0), (-1, 1, 0))),
            lax.pad(a, np.float32(0), ((0, 0, 1), (1, 1, 0))),
        ),
        [(9, 8)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None), (X42, [(None, None)], [("x", "y")] * 3)],
    ),
    "concatenate": Program(
        lambda a, b: (jnp.concatenate([a, b, a], axis=0), jnp.concatenate([a, a * 2], axis=1), jnp.stack([a, a])),
        [(8, 6), (3, 6)],
        [
            (X42, [("x", "y"), ("x", "y")], None),
            (X42, [("x", None), (None, "x")], None),
            (X42, [(None, None), (None, None)], [("x", "y"), ("y", "x"), (None, "x", "y")]),
            (X8, [("x", None), ("x", None)], None),
        ],
    ),
    "roll": Program(
        lambda a: (jnp.roll(a, 3, axis=0), jnp.roll(a, -1, axis=1)),
        [(8, 6)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None)],
    ),
    "reverse": Program(
        lambda a: (a[::-1], a[:, ::-1], a[::-1, ::-1]),
        [(9, 8)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None), (X42, [(None, ("y", "x"))], None)],
    ),
    "convolution": Program(
        lambda x, w: (
            lax.conv_general_dilated(x, w, (1, 1), "SAME"),
            lax.conv_general_dilated(x, w, (2, 2), "SAME"),
            lax.conv_general_dilated(x, w, (1, 1), "VALID", rhs_dilation=(2, 1)),
            lax.conv_general_dilated(x, w, (1, 1), ((3, 1), (0, 2))),
        ),
        [(2, 4, 16, 12), (8, 4, 3, 3)],
        [
            (X42, [(None, None, "x", None), (None,) * 4], None),
            (X42, [("y", None, "x", None), (None,) * 4], None),
            (X42, [(None, None, "x", "y"), (None,) * 4], None),
            (X42, [(None, "x", None, None), (None, "x", None, None)], None),
            (X42, [(None, None, "y", None), ("x", None, None, None)], None),
            (X8, [(None, None, None, "x"), (None,) * 4], None),
            (X42, [(None, None, None, None), (None,) * 4], [(None, None, "x", "y")] * 4),
        ],
    ),
    "convolution_transposed": Program(
        lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        [(2, 8, 6, 4), (3, 3, 4, 5)],
        [(X42, [(None, "x", None, "y"), (None,) * 4], None), (X42, [("y", "x", None, None), (None,) * 4], None)],
    ),
    "convolution_gradients": Program(
        jax.grad(lambda w, x: jnp.sum(lax.conv(x, w, (1, 1), "SAME") ** 2), argnums=(0, 1)),
        [(8, 4, 3, 3), (4, 4, 8, 8)],
        [
            (X42, [(None,) * 4, ("x", None, None, None)], None),
            (X42, [(None,) * 4, (None, None, "x", None)], None),
            (X42, [("y", None, None, None), ("x", None, None, None)], None),
        ],
    ),
    "depthwise": Program(
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=8),
        [(2, 8, 8, 8), (8, 1, 3, 3)],
        [
            (X42, [("y", "x", None, None), ("x", None, None, None)], None),
            (X42, [(None, None, "x", "y"), (None,) * 4], None),
        ],
    ),
    "grouped": Program(
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=2),
        [(2, 8, 8, 8), (8, 4, 3, 3)],
        [(X42, [("y", "x", None, None), ("x", None, None, None)], None)],
    ),
    "pool": Program(
        lambda x: (
            lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID"),
            lax.reduce_window(x, np.float32(0), lax.add, (1, 3, 3), (1, 1, 1), "SAME"),
        ),
        [(4, 16, 10)],
        [(X42, [(None, "x", "y")], None), (X42, [("x", "y", None)], None), (X8, [(None, "x", None)], None)],
    ),
    "windows_from_a_start": Program(
        lambda a: (
            lax.reduce_window(a, np.float32(2), lax.add, (3, 3), (1, 1), ((1, 1), (0, 1))),
            lax.reduce_window(a, np.float32(3), lax.mul, (3, 2), (2, 1), ((2, 0), (1, 0))),
            lax.reduce_window(a, np.float32(0.5), lax.max, (2, 2), (1, 2), "SAME"),
            lax.reduce_window(a, np.float32(2), lambda x, y: x - -y, (1, 3), (1, 1), "SAME"),
            lax.reduce_window(lax.complex(a, a), np.complex64(2), lax.mul, (9, 1), (1, 1), ((8, 0), (0, 0))),
        ),
        [(9, 16)],
        [(X42, [("x", "y")], None), (X42, [("y", "x")], None), (X8, [(None, "x")], None)],
    ),
    "dilated_windows": Program(
        lambda a: (
            lax.reduce_window(a, np.inf, lax.min, (1, 8), (1, 1), ((0, 0), (7, 0)), base_dilation=(2, 1)),
            lax.reduce_window(a, np.float32(0), lax.add, (9, 1), (1, 1), ((16, 0), (0, 0)), window_dilation=(2, 1)),
            lax.reduce_window(a, np.float32(0), lax.add, (1, 3), (1, 2), "SAME", (3, 1), (1, 2)),
        ),
        [(9, 8)],
        [(X42, [("x", "y")], None), (X42, [("y", "x")], None), (X8, [(None, "x")], None)],
    ),
    "pool_gradient": Program(
        jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID") ** 2)),
        [(4, 16, 10)],
        [(X42, [("x", None, None)], None), (X42, [(None, "x", None)], None)],
    ),
    "cumulative": Program(
        lambda a: (
            jnp.cumsum(a, axis=0),
            lax.cummax(a, axis=1),
            lax.cumprod(a, axis=0),
            lax.cumsum(a, axis=1, reverse=True),
        ),
        [(9, 8)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None), (X42, [(None, ("x", "y"))], None)],
    ),
    "cumulative_windows": Program(
        lambda a: (
            lax.reduce_window(a, np.float32(0), lax.add, (9, 1), (1, 1), ((8, 0), (0, 0))),
            lax.reduce_window(a, np.float32(2), lax.add, (9, 1), (1, 1), ((0, 8), (0, 0))),
            lax.reduce_window(a, -np.inf, lax.max, (1, 8), (1, 1), ((0, 0), (7, 0))),
        ),
        [(9, 8)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None), (X8, [(None, "x")], None)],
    ),
    "sort": Program(
        lambda a: (jnp.sort(a, axis=0), jnp.argsort(a, axis=1), lax.sort((a, a * 2), dimension=0, num_keys=1)),
        [(8, 16)],
        [(X42, [("x", None)], None), (X42, [(None, "x")], None), (X42, [("x", "y")], None), (X42, [("y", "x")], None)],
    ),
    "sort_uneven": Program(
        lambda a: (jnp.sort(a, axis=0), jnp.argsort(a, axis=1)),
        [(9, 7)],
        [(X42, [("x", "y")], None), (X8, [("x", None)], None)],
    ),
    "sort_vector": Program(
        lambda a: (jnp.sort(a), jnp.argsort(a), -jnp.sort(-a)), [(32,)], [(X42, [("x",)], None), (X8, [("x",)], None)]
    ),
    "top_k": Program(
        lambda a: lax.top_k(a, 3),
        [(6, 32)],
        [(X42, [("y", "x")], None), (X8, [(None, "x")], None), (X42, [("x", None)], None)],
    ),
    "top_k_ties": Program(
        lambda a: lax.top_k(a % 5, 4),
        [(6, 32, "int32")],
        [(X8, [(None, "x")], None), (X42, [(None, ("y", "x"))], None)],
    ),
    "embedding": Program(
        lambda t, i: jnp.take(t, i, axis=0, mode="clip"),
        [(50, 8), (4, 6, "int32")],
        [
            (X42, [("x", None), ("y", None)], None),
            (X42, [(None, "x"), ("y", None)], None),
            (X42, [("x", "y"), (None, None)], [("y", None, "x")]),
            (X8, [("x", None), (None, None)], None),
            (X8, [("x", None), (None, "x")], [(None, "x", None)]),
        ],
    ),
    "embedding_filled": Program(
        lambda t, i: t.at[i].get(mode="fill", fill_value=0),
        [(40, 8), (4, 6, "int32")],
        [(X42, [("x", None), ("y", None)], None), (X8, [("x", None), (None, None)], None)],
    ),
    "gather_integers": Program(
        lambda t, i, b: (t[i], jnp.take_along_axis(t, i[:, None] % 8, axis=1), b[i]),
        [(50, 8, "int32"), (50, "int32"), (50, 3, "bool")],
        [(X42, [("x", None), ("x",), ("x", None)], None), (X42, [("x", "y"), (None,), ("y", None)], None)],
    ),
    "embedding_gradient": Program(
        jax.grad(lambda t, i: jnp.sum(t[i] ** 2)),
        [(50, 8), (4, 6, "int32")],
        [
            (X42, [("x", None), ("y", None)], None),
            (X42, [(None, "x"), ("y", None)], None),
            (X42, [(None, None), ("x", None)], None),
            (X42, [("x", None), ("x", None)], None),
        ],
    ),
    "scatter": Program(
        lambda t, i, u: (t.at[i].set(u, mode="drop"), t.at[i].add(u), t.at[i].max(u), t.at[i, 2].mul(u[:, 2])),
        [(50, 8), (7, "int32"), (7, 8)],
        [
            (X42, [("x", None), (None,), (None, None)], None),
            (X42, [("x", "y"), ("y",), ("y", None)], None),
            (X42, [(None, "y"), ("x",), ("x", "y")], None),
            (X42, [("y", "x"), (None,), (None, "x")], None),
        ],
        tolerance=1e-4,
    ),
    "composite": Program(
        lambda a: (_norm(a * 2) + 1, _block(a)),
        [(8, 16)],
        [
            (X42, [("x", None)], None),
            (X42, [("x", "y")], None),
            (X42, [(None, ("y", "x"))], [("x", None), (None, "y")]),
        ],
    ),
    "dynamic_slices": Program(
        _dynamic_slices,
        [(16, 8), (5, "int32")],
        [
            (X42, [("x", "y"), (None,)], None),
            (X8, [("x", None), (None,)], None),
            (X8, [(None, "x"), (None,)], [(None, "x"), (None, None), (None, None), ("x", None), (None, None)]),
            (X24, [("y", "x"), (None,)], [(None, "x"), (None, None), (None, None), ("y", None), (None, None)]),
            (
                X222,
                [(("a", "b"), "c"), (None,)],
                [(None, ("c", "a")), (None, None), (None, None), ("a", "b"), (None, None)],
            ),
        ],
    ),
    "dynamic_slices_of_padded": Program(
        _dynamic_slices,
        [(11, 7), (5, "int32")],
        [(X8, [("x", None), (None,)], None), (X24, [("y", "x"), (None,)], None)],
    ),
    "dynamic_updates": Program(
        _dynamic_updates,
        [(16, 8), (5, "int32")],
        [
            (X42, [("x", "y"), (None,)], None),
            (X8, [("x", None), (None,)], [("x", None)] * 4),
            (X8, [(None, "x"), (None,)], [(None, "x"), ("x", None), (None, None), (None, "x")]),
            (X222, [(("a", "b"), "c"), (None,)], None),
        ],
    ),
    "dynamic_updates_of_padded": Program(
        _dynamic_updates,
        [(11, 7), (5, "int32")],
        [(X8, [("x", None), (None,)], None), (X24, [("y", "x"), (None,)], None)],
    ),
    "dynamic": Program(
        lambda a, i: (lax.dynamic_slice(a, (i[0], 0), (3, 8)), lax.dynamic_update_slice(a, a[:2] * 2, (i[1], i[0]))),
        [(9, 8), (2, "int32")],
        [(X42, [("x", "y"), (None,)], None), (X42, [(None, ("x", "y")), (None,)], None)],
    ),
    "linear_algebra": Program(
        lambda a: (jnp.linalg.cholesky(a @ a.mT + 8 * jnp.eye(4)), jnp.fft.rfft(a).real),
        [(8, 4, 4)],
        [(X42, [("x", None, None)], None), (X42, [("y", "x", None)], None)],
        tolerance=1e-4,
    ),
    "associative_scan": Program(
        lambda a: lax.associative_scan(jnp.add, a), [(16, 3)], [(X42, [("x", None)], None), (X8, [("x", None)], None)]
    ),
}
