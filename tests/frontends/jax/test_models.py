"""Models of Flax, Equinox and plain JAX: the forward pass, and training for a few steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.libraries import import_or_skip
from tt_xla.runtime import get_device

RNG = np.random.default_rng(0)
X = RNG.normal(size=(32, 8)).astype(np.float32)
Y = (X[:, :1] * 2 - X[:, 1:2]).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_tt(tt):
    with jax.default_device(tt):
        yield


@contextmanager
def executables() -> Iterator[list[Any]]:
    """Yields a list that receives the executables that JAX compiles for ``tt`` inside the ``with`` block."""
    from tt_xla.frontends.jax.pjrt.executable import Executable

    created: list[Any] = []
    original = Executable.__init__

    def spy(self, *args):
        original(self, *args)
        created.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Executable, "__init__", spy)
        yield created


def train(loss, parameters, steps=12):
    """Trains parameters, and returns the first and the last loss."""
    optax = pytest.importorskip("optax", reason="the extra jax-examples is not installed")
    optimizer = optax.adam(0.03)

    @jax.jit
    def step(parameters, state):
        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    state = optimizer.init(parameters)
    values = []
    for _ in range(steps):
        parameters, state, value = step(parameters, state)
        values.append(float(value))
    return values[0], values[-1]


def test_plain_functions():
    parameters = {"a": jax.random.normal(jax.random.key(0), (8, 16)) * 0.3, "b": jnp.zeros((16, 1))}
    first, last = train(lambda p: jnp.mean((jnp.tanh(X @ p["a"]) @ p["b"] - Y) ** 2), parameters)
    assert last < 0.6 * first


def test_flax_linen():
    nn = import_or_skip("flax.linen")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.gelu(nn.LayerNorm()(nn.Dense(16)(x))))

    model = Model()
    parameters = model.init(jax.random.key(0), X)
    first, last = train(lambda p: jnp.mean((model.apply(p, X) - Y) ** 2), parameters)
    assert last < 0.6 * first


def test_flax_nnx():
    nnx = import_or_skip("flax.nnx")
    model = nnx.Sequential(nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(16, 1, rngs=nnx.Rngs(1)))
    graph, parameters = nnx.split(model)
    first, last = train(lambda p: jnp.mean((nnx.merge(graph, p)(X) - Y) ** 2), parameters)
    assert last < 0.6 * first


def test_equinox():
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.MLP(8, 1, 16, 1, key=jax.random.key(0))
    parameters, static = eqx.partition(model, eqx.is_array)
    first, last = train(lambda p: jnp.mean((jax.vmap(eqx.combine(p, static))(X) - Y) ** 2), parameters)
    assert last < 0.6 * first


def test_linen_variables_are_parameters_and_const_eval_runs_once(tt):
    nn = import_or_skip("flax.linen")
    from tt_xla.frontends.jax.model_libraries import recognise_models

    recognise_models()
    model = nn.Dense(16, dtype=jnp.bfloat16, param_dtype=jnp.bfloat16)
    variables = model.init(jax.random.key(0), X)
    with executables() as created:
        compiled = jax.jit(model.apply).lower(variables, X).compile({"experimental_weight_dtype": "bfp_bf8"})
    (executable,) = created
    roles = {argument.name: str(argument.role) for argument in executable.program.arguments}
    assert roles == {"params.bias": "parameter", "params.kernel": "parameter", "arg2": "input"}
    for _ in range(3):
        compiled(variables, X)
    loaded = get_device().live_executables()
    (counters,) = [each.counters for each in loaded if each.program is executable.program]
    assert counters.runs == 3
    assert counters.const_evals == len([f for f in executable.program.functions if f.kind == "const_eval"]) > 0


@pytest.mark.parametrize("way", ["nnx.jit", "split and merge"])
def test_nnx_state_is_parameters(tt, way):
    nnx = import_or_skip("flax.nnx")
    from tt_xla.frontends.jax.model_libraries import recognise_models

    recognise_models()
    model = nnx.Sequential(nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(1)))
    graph, state = nnx.split(model)
    with executables() as created:
        if way == "nnx.jit":
            nnx.jit(lambda model, x: model(x))(model, X)
        else:
            jax.jit(lambda state, x: nnx.merge(graph, state)(x))(state, X)
    roles = {argument.name: str(argument.role) for argument in created[-1].program.arguments}
    assert [name for name, role in roles.items() if role == "parameter"] == ["layers.0.bias", "layers.0.kernel"]
    assert len(roles) > 3  # x, and the state of the random numbers


def roles_of(function, *args):
    """Returns names and roles of the arguments of a jitted function's program."""
    with executables() as created:
        function(*args)
    return {argument.name: str(argument.role) for argument in created[-1].program.arguments}


def test_layers_of_equinox_are_parameters_whatever_holds_them(tt):
    eqx = pytest.importorskip("equinox")
    from tt_xla.frontends.jax.model_libraries import recognise_models

    recognise_models()

    class Model(eqx.Module):
        inner: eqx.nn.Sequential
        last: eqx.nn.Linear
        scale: jax.Array

        def __call__(self, x):
            return self.last(self.inner(x)) * self.scale

    keys = jax.random.split(jax.random.key(0), 2)
    model = Model(eqx.nn.Sequential([eqx.nn.Linear(8, 8, key=keys[0])]), eqx.nn.Linear(8, 8, key=keys[1]), jnp.ones(8))
    roles = roles_of(eqx.filter_jit(lambda model, x: jax.vmap(model)(x)), model, X)
    parameters = [name for name, role in roles.items() if role == "parameter"]
    assert parameters == ["layers.0.weight", "layers.0.bias", "weight", "bias"]
    assert len(roles) == 6  # the scale of the user's own layer, and x


def test_a_plain_tree_has_the_parameters_that_it_is_told(tt):
    import tt_jax

    tree = {"dense": [jnp.ones((8, 4)), jnp.zeros(4)]}

    def forward(tree, x, mark):
        (w, b) = mark(tree)["dense"]
        return x @ w + b

    marked = roles_of(jax.jit(lambda tree, x: forward(tree, x, tt_jax.mark_parameters)), tree, X)
    assert marked == {"dense.0": "parameter", "dense.1": "parameter", "arg2": "input"}
    plain = roles_of(jax.jit(lambda tree, x: forward(tree, x, lambda tree: tree)), tree, X)
    assert set(plain.values()) == {"input"}


def test_two_layers_marked_with_one_name_are_two_parameters(tt):
    from tt_xla.frontends.jax.parameters import mark

    roles = roles_of(jax.jit(lambda a, b, x: x @ mark(a, "w") @ mark(b, "w")), jnp.eye(8), jnp.eye(8), X)
    assert roles == {"w": "parameter", "w.1": "parameter", "arg2": "input"}


def test_marks_pass_through_transformations():
    from tt_xla.frontends.jax.parameters import mark

    f = jax.jit(lambda w: (mark(w, "w") ** 2).sum())
    np.testing.assert_array_equal(jax.grad(f)(X), 2 * X)
    np.testing.assert_allclose(jax.vmap(f)(X), (X**2).sum(1), rtol=0.01)
    np.testing.assert_allclose(jax.jvp(f, (X,), (X,))[1], 2 * (X**2).sum(), rtol=0.01)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("platforms", "marked"), [("tt,cpu", True), ("", True), ("cpu", False)])
def test_parameters_may_be_marked_before_jax_has_a_backend(run_python, platforms, marked):
    result = run_python(
        """
import jax.numpy as jnp
import tt_jax
shape = jax.ShapeDtypeStruct((64, 64), jnp.bfloat16)
traced = jax.jit(lambda w, x: x @ tt_jax.mark_parameters(w)).trace(shape, shape)
register()
print("tt.mark_argument" in traced.lower().as_text())
""",
        register_first=False,
        JAX_PLATFORMS=platforms,
    )
    assert result.stdout.strip() == str(marked), result.stderr[-2000:]
