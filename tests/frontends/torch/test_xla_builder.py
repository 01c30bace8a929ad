"""``torch_xla.core.xla_builder``: functions of JAX and computations of single ops on tensors of the device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
import torch

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_builder as xb  # noqa: E402
import torch_xla.core.xla_op_registry as xor  # noqa: E402
from torch_xla.debug import metrics  # noqa: E402
from torch_xla.experimental.assume_pure import assume_pure  # noqa: E402


@pytest.fixture(autouse=True)
def _exact_numbers(exact):
    """Computes as the CPU does."""


def total(inputs, factor, *, name="sin"):
    return {"sum": inputs["a"] + factor * getattr(jnp, name)(inputs["b"]), "size": inputs["a"].size}


def test_a_function_of_jax_is_part_of_the_program_around_it():
    a, b = torch.randn(2, 3), torch.randn(2, 3)
    on_a, on_b = a.to("xla"), b.to("xla")
    torch_xla.sync()
    metrics.clear_all()
    results = xb.call_jax(total, ({"a": on_a * 2, "b": on_b}, 3.0), {"name": "cos"})
    shown = results["sum"] + 1
    torch_xla.sync()
    assert metrics.metric_data("ExecuteTime")[0] == 1
    assert not metrics.executed_fallback_ops()
    torch.testing.assert_close(shown.cpu(), a * 2 + 3 * b.cos() + 1)
    assert results["size"].item() == 6


def test_each_kind_of_arguments_is_traced_once():
    calls = []

    def counted(x, factor):
        calls.append(x.shape)
        return x * factor

    x, y = torch.ones(2, device="xla"), torch.ones(3, device="xla")
    for value, factor in ((x, 2), (x, 2), (y, 2), (x, 3), (x, 2.0), (x, True)):
        assert xb.call_jax(counted, (value, factor)).sum().item() == len(value) * factor
    assert len(calls) == 5
    for _ in range(2):
        assert xb.call_jax(lambda x: counted(x, 5), (x,), override_hash="five").sum().item() == 10
    assert len(calls) == 6


def test_functions_that_differ_in_an_array_alone_are_two():
    def adds(array):
        return lambda x: x + array

    x = torch.zeros(2, device="xla")
    results = [xb.call_jax(adds(jnp.full(2, number)), (x,)) for number in (1.0, 2.0)]
    assert [result.tolist() for result in results] == [[1, 1], [2, 2]]


def test_tensors_of_64_bits_are_narrowed_as_jax_does_it():
    x = torch.arange(3).to("xla")
    assert xb.call_jax(lambda x: x + 1, (x,)).dtype is torch.int32
    with jax.enable_x64(True):
        assert xb.call_jax(lambda x: x + 1, (x,)).tolist() == [1, 2, 3]
        assert xb.call_jax(lambda x: x + 1, (x,)).dtype is torch.int64


def test_gradients_are_those_that_jax_computes():
    x = torch.ones(3, device="xla", requires_grad=True)
    assert not xb.call_jax(jnp.sin, (x,)).requires_grad
    gradient = xb.call_jax(jax.grad(lambda x: jnp.sin(x).sum()), (x,))
    torch.testing.assert_close(gradient.cpu(), torch.ones(3).cos())


def test_a_function_of_jax_in_compiled_functions():
    x = torch.randn(3, 3)
    pure = assume_pure(lambda x: xb.call_jax(jnp.dot, (x, x)))
    torch.testing.assert_close(pure(x.to("xla")).cpu(), x @ x)


def test_tensors_of_the_cpu_are_computed_there():
    assert xb.call_jax(lambda x: (x * 2, x > 1), (torch.tensor([1.0, 2.0]),))[1].tolist() == [False, True]


def test_arguments_that_jax_cannot_take():
    with pytest.raises(ValueError, match="at least one tensor"):
        xb.call_jax(jnp.zeros, (3,))
    with pytest.raises(TypeError, match="float8_e5m2 is no argument for JAX"):
        xb.call_jax(jnp.sin, (torch.zeros(2, dtype=torch.float8_e5m2),))
    with pytest.raises(TypeError, match="returns dtype int4"):
        xb.call_jax(lambda x: x.astype("int4"), (torch.zeros(2, device="xla"),))


def grow(a, b, *, limit):
    def below(counter, a, b):
        return counter < xb.Op.scalar(counter.builder(), limit, dtype=xb.Type.S32)

    def step(counter, a, b):
        return xb.Op.tuple((counter + xb.Op.one(counter.builder(), dtype=xb.Type.S32), a + b, b))

    start = xb.Op.zero(a.builder(), dtype=xb.Type.S32)
    return xb.Op.mkwhile((start, a, b), below, step).get_tuple_element(1)


def choose(a, b):
    larger = a.reduce_all(a.scalar_like(0).slice([0, 0], [1, 1]).reshape([]), lambda x, y: x + y)
    positive = larger > xb.Op.scalar(a.builder(), 0.0)
    return positive.mkconditional((a, b), lambda a, b: a @ b, lambda a, b: a - b)


OPS = {
    "while": (lambda a, b: grow(a, b, limit=3), lambda a, b: a + 3 * b),
    "conditional": (choose, lambda a, b: a @ b if a.sum() > 0 else a - b),
    "unary": (lambda a, b: (-a).exp().tanh() + b.floor(), lambda a, b: (-a).exp().tanh() + b.floor()),
    "maximum": (lambda a, b: xb.Op.max(a, b) - xb.Op.min(a, b), lambda a, b: (a - b).abs()),
    "reduce": (
        lambda a, b: (a * b).reduce(xb.Op.zero(a.builder()), lambda x, y: x + y, [1]),
        lambda a, b: (a * b).sum(1),
    ),
    "moves": (
        lambda a, b: xb.Op.concat_in_dim([a.transpose([1, 0]), b], dimension=0).slice_in_dim(1, 4, 0).rev([0]),
        lambda a, b: torch.cat([a.T, b])[1:4].flip(0),
    ),
    "select": (lambda a, b: (a > b).select(a, b), torch.maximum),
    "casts": (lambda a, b: a.cast(xb.Type.S32).cast(xb.Type.BF16), lambda a, b: a.int().bfloat16()),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_of_the_builder(name):
    build, expected = OPS[name]
    a, b = torch.randn(3, 3), torch.randn(3, 3)
    torch.testing.assert_close(xor.register(name, build)(a.to("xla"), b.to("xla")).cpu(), expected(a, b))


def test_computations_are_built_of_parameters():
    builder = xb.create_builder("sum")
    a, b = (xb.mkparam(builder, number, xb.mkshape(xb.Type.F32, (2,))) for number in range(2))
    root = xb.Op.tuple([a + b, a.sin()])
    assert [root.shape().tuple_size(), (a + b).shape().sizes, a.shape().dtype] == [2, (2,), "f32"]
    call = xb.xla_computation_as_func(root.build("sum"))
    both, sine = call([torch.ones(2, device="xla"), torch.ones(2, device="xla")])
    assert both.tolist() == [2, 2]
    torch.testing.assert_close(sine.cpu(), torch.ones(2).sin())
    other = xb.mkparam(xb.create_builder("other"), 0, xb.mkshape(xb.Type.F32, (2,)))
    with pytest.raises(ValueError, match="'mixed' reads a parameter of another one"):
        xb.xla_computation_as_func((a + other).build("mixed"))([torch.ones(2, device="xla")] * 2)


def test_a_function_of_ops_keeps_nested_arguments():
    call = xb.XlaCallable(lambda inputs, *, scale: {"out": inputs["x"] + inputs["y"], "more": [inputs["x"].cos()]})
    x, y = torch.randn(2), torch.randn(2)
    for _ in range(2):
        results = call({"x": x.to("xla"), "y": y.to("xla")}, scale=3)
        torch.testing.assert_close(results["out"].cpu(), x + y)
        torch.testing.assert_close(results["more"][0].cpu(), x.cos())


def test_ops_that_the_builder_lacks_say_what_to_use():
    builder = xb.create_builder("none")
    a = xb.mkparam(builder, 0, xb.mkshape(xb.Type.F32, (2,)))
    with pytest.raises(AttributeError, match=r"Op\.scatter is not among the ops.*call_jax"):
        a.scatter  # noqa: B018
    with pytest.raises(NotImplementedError, match="fixed sizes"):
        xb.mkshape(xb.Type.F32, (2,), (True,))
