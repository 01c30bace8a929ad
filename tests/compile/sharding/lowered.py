"""Programs as JAX lowers them with either partitioner: shardings on arguments, constraints, and ``shard_map``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def mesh_of(shape: Mapping[str, int]) -> Mesh | AbstractMesh:
    """Returns a mesh of CPU devices, or of none where there are too few, so that programs can be lowered alone."""
    count = int(np.prod(list(shape.values())))
    if len(jax.devices("cpu")) < count:
        return AbstractMesh(tuple(shape.values()), tuple(shape), axis_types=(AxisType.Auto,) * len(shape))
    return Mesh(np.array(jax.devices()[:count]).reshape(tuple(shape.values())), tuple(shape))


Make = Callable[[], tuple[Callable[..., Any], Sequence[tuple[int, ...]], Any, Any]]
"""Returns the function of a program, the shapes of its arguments, and its in_shardings and out_shardings."""

PROGRAMS: dict[str, Make] = {}


def program(make: Make) -> Make:
    """Adds a program to the table, under the name of its function."""
    PROGRAMS[make.__name__] = make
    return make


def _named(mesh: Mesh | AbstractMesh) -> Callable[..., NamedSharding]:
    return lambda *axes: NamedSharding(mesh, P(*axes))


@program
def arguments_and_results() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))
    return lambda a, b: jnp.tanh(a @ b), [(8, 16), (16, 8)], (s("x", "y"), s("y", None)), s("y", "x")


@program
def results_alone() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))
    return lambda a: (a + 1, a.T), [(8, 16)], (s(),), (s("x"), s(("y", "x")))


@program
def transposed_constraint() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))

    def f(a: Any) -> Any:
        b = lax.with_sharding_constraint(a * 2, s("x", "y"))
        return lax.with_sharding_constraint(b + 1, s("y", "x"))

    return f, [(8, 16)], (s("x", "y"),), s("y", "x")


@program
def open_constraint() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))

    def f(a: Any) -> Any:
        return lax.with_sharding_constraint(a @ a.T, s("y", P.UNCONSTRAINED)) * 2

    return f, [(8, 16)], (s("x"),), None


@program
def uneven_constraint() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))

    def f(a: Any) -> Any:
        b = lax.with_sharding_constraint(jnp.exp(a), s("x", "y"))
        return b.sum(0), b.max(1), b @ b.T

    return f, [(7, 5)], (s(),), None


@program
def two_meshes() -> Any:
    s, t = _named(mesh_of({"x": 4, "y": 2})), _named(mesh_of({"a": 2, "b": 4}))

    def f(a: Any) -> Any:
        b = lax.with_sharding_constraint(a * 2, s("x", "y"))
        return lax.with_sharding_constraint(b + 1, t("a", "b")).sum(0)

    return f, [(8, 16)], (s("x"),), t("b")


@program
def psum_over_two_axes() -> Any:
    mesh = mesh_of({"x": 4, "y": 2})
    body = jax.shard_map(lambda a: lax.psum(a, ("x", "y")), mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, None))
    return body, [(8, 16)], (NamedSharding(mesh, P("x", "y")),), None


@program
def collectives() -> Any:
    mesh = mesh_of({"x": 4, "y": 2})

    def body(a: Any) -> Any:
        total = lax.psum(a, "y")
        rows = lax.all_gather(a, "x", axis=0, tiled=True)
        part = lax.psum_scatter(rows, "x", scatter_dimension=0, tiled=True)
        moved = lax.all_to_all(rows, "x", 0, 1, tiled=True)
        shifted = lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)])
        return total, part, moved, shifted * lax.axis_index("x"), lax.pmax(a, "x")

    specs = (P("x", None), P("x", "y"), P(None, ("y", "x")), P("x", "y"), P(None, "y"))
    f = jax.shard_map(body, mesh=mesh, in_specs=P("x", "y"), out_specs=specs, check_vma=False)
    return f, [(8, 16)], (NamedSharding(mesh, P("x", "y")),), None


@program
def partly_manual() -> Any:
    mesh = mesh_of({"x": 4, "y": 2})

    def body(a: Any) -> Any:
        return lax.psum(a @ a.T, "x") + lax.axis_index("x").astype(jnp.float32) * 0

    f = jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"}, check_vma=False)
    return lambda a: f(a * 2) + 1, [(8, 16)], (NamedSharding(mesh, P("x", "y")),), None


@program
def partly_manual_with_open_dimensions() -> Any:
    """Propagation splits the open dimensions of a region's operand and result along the region's own axis."""
    mesh = mesh_of({"x": 4, "y": 2})
    s = _named(mesh)

    def body(a: Any, b: Any) -> Any:
        return lax.psum(a, "y") * 2, b + lax.axis_index("y")

    specs = {"in_specs": (P("y"), P()), "out_specs": (P(), P("y"))}
    f = jax.shard_map(body, mesh=mesh, axis_names={"y"}, check_vma=False, **specs)
    return f, [(8, 16), (8, 16)], (s(None, "x"), s("y")), (s(None, ("y", "x")), s("x", "y"))


@program
def parts_that_other_axes_split_unevenly() -> Any:
    mesh = mesh_of({"x": 4, "y": 2})
    s = _named(mesh)
    total = jax.shard_map(
        lambda a: jnp.sum(a)[None], mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False
    )

    def body(a: Any) -> Any:
        return lax.with_sharding_constraint(total(lax.with_sharding_constraint(a, s(("x", "y")))), s(("x", "y"))) + 0

    return body, [(12,)], (s("x"),), None


@program
def one_value_inside_and_outside() -> Any:
    mesh = mesh_of({"x": 4, "y": 2})
    s = _named(mesh)

    def body(a: Any) -> Any:
        return lax.with_sharding_constraint(a, P("y")) * 3

    f = jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    return lambda a: (lax.with_sharding_constraint(a, s("y")) * 2, f(a)), [(8, 16)], (s("x"),), None


@program
def manual_in_loop() -> Any:
    mesh = mesh_of({"x": 8})
    step = jax.shard_map(
        lambda a: a + lax.ppermute(a, "x", [(i, (i + 1) % 8) for i in range(8)]),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    return lambda a: lax.fori_loop(0, 3, lambda _, c: step(c), a), [(16, 4)], (NamedSharding(mesh, P("x")),), None


@program
def loop_with_sharded_carry() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))

    def f(a: Any, w: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, c: jnp.tanh(c @ w), a)

    return f, [(8, 16), (16, 16)], (s("x"), s(None, "y")), s("x")


@program
def scanned_layers() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))

    def f(a: Any, w: Any) -> Any:
        return lax.scan(lambda c, layer: (jnp.tanh(c @ layer), c.sum()), a, w)

    return f, [(8, 16), (3, 16, 16)], (s("x"), s(None, None, "y")), None


@program
def training_step() -> Any:
    s = _named(mesh_of({"data": 4, "model": 2}))

    def loss(p: Any, x: Any) -> Any:
        return jnp.mean((jax.nn.relu(x @ p[0]) @ p[1] - x) ** 2)

    def f(w1: Any, w2: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)((w1, w2), x)
        return value, w1 - 0.1 * grads[0], w2 - 0.1 * grads[1]

    weights = (s(None, "model"), s("model", None))
    return f, [(16, 32), (32, 16), (8, 16)], (*weights, s("data")), (None, *weights)


@program
def fully_sharded_step() -> Any:
    s = _named(mesh_of({"data": 8}))

    def f(w: Any, x: Any) -> Any:
        return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)

    return f, [(16, 32), (8, 16)], (s("data"), s("data")), s("data")


@program
def named_jits() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))
    inner = jax.jit(lambda a: jax.nn.softmax(a, -1))
    return lambda a: inner(inner(a) * 2), [(8, 16)], (s("x", "y"),), None


@program
def random_numbers() -> Any:
    s = _named(mesh_of({"x": 4, "y": 2}))

    def f(a: Any) -> Any:
        return a + lax.with_sharding_constraint(jax.random.uniform(jax.random.key(0), (8, 16)), s("x", "y"))

    return f, [(8, 16)], (s("x", "y"),), s("x", "y")


@program
def one_axis_of_three() -> Any:
    s = _named(mesh_of({"a": 2, "b": 2, "c": 2}))

    def f(x: Any) -> Any:
        y = lax.with_sharding_constraint(x, s(("c", "a"), "b"))
        return y.reshape(4, 2, 16).sum(1)

    return f, [(8, 16)], (s("b", ("a", "c")),), None


@program
def smaller_mesh() -> Any:
    s = _named(mesh_of({"x": 2}))
    return lambda a: a @ a.T, [(8, 16)], (s(None, "x"),), s("x")
