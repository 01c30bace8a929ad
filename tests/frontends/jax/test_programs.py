"""Programs: transformations, options, ahead-of-time compilation, serialization and errors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable, topologies

from tests.frontends.jax.conftest import compiles_without_client
from tt_xla.options import CompileOptions

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def _on_tt(tt):
    with jax.default_device(tt):
        yield


def test_transformations():
    np.testing.assert_array_equal(jax.grad(lambda x: (x * x).sum())(X), 2 * X)
    np.testing.assert_array_equal(jax.vmap(lambda row: row + 1)(X), X + 1)
    value, gradient = jax.value_and_grad(lambda w: jnp.sum((jnp.ones((2, 3)) @ w) ** 2))(X)
    np.testing.assert_allclose(value, 2 * (X.sum(0) ** 2).sum(), rtol=0.02)
    np.testing.assert_allclose(gradient, np.broadcast_to(4 * X.sum(0), X.shape), rtol=0.02)


def test_custom_vjp():
    @jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 10,))
    np.testing.assert_array_equal(jax.grad(lambda x: f(x).sum())(X), np.full_like(X, 10))


def names_of_efforts(levels):
    """Returns levels by names of XLA's effort levels, which JAX has since 0.12."""
    return [(f"O{level}", level) for level in levels] if hasattr(jax, "CompilerEffortLevel") else []


@pytest.mark.parametrize(("given", "level"), [(0, 0), (1, 1), (2, 2), ("2", 2), *names_of_efforts([0, 1, 2])])
def test_optimization_level_reaches_the_compiler(monkeypatch, given, level):
    """JAX moves effort levels from the options to another field of the request."""
    parsed = []
    parse = CompileOptions.parse
    monkeypatch.setattr(CompileOptions, "parse", lambda values: parsed.append(parse(values)) or parsed[-1])
    jax.jit(lambda x: x * 2, compiler_options={"optimization_level": given}).lower(X).compile()
    assert [options.optimization_level for options in parsed] == [level]


def test_a_level_that_is_none_is_refused_by_the_compiler():
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT: .*optimization_level"):
        jax.jit(lambda x: x * 2, compiler_options={"optimization_level": 7})(X)


def test_options_of_every_kind():
    options = {"optimization_level": 1, "enable_trace": "false", "enable_const_eval": True, "numerics": "exact"}
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2, compiler_options=options)(X), X * 2)


def test_unknown_option_names_the_near_one():
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT: .*Did you mean 'optimization_level'\?"):
        jax.jit(lambda x: x * 2, compiler_options={"optimisation_level": 1})(X)


def test_numerics_option_reaches_the_card():
    weights = np.full((4, 3), 1 + 2**-20, np.float32)
    exact = jax.jit(jnp.dot, compiler_options={"numerics": "exact"})(X, weights)
    np.testing.assert_allclose(exact, X.astype(np.float64) @ weights, rtol=1e-7)
    assert not np.array_equal(np.asarray(jax.jit(jnp.dot)(X, weights)), np.asarray(exact))


def test_ahead_of_time():
    compiled = jax.jit(lambda x: x * 2).lower(X).compile()
    np.testing.assert_array_equal(compiled(X), X * 2)
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (48, 48)
    cost = compiled.cost_analysis()
    assert cost["bytes accessed"] == 96
    assert cost["optimal_seconds"] > 0
    assert "HloModule" in compiled.as_text()
    assert len(compiled.runtime_executable().fingerprint) == 64
    assert compiled.output_shardings.memory_kind == "device"
    assert compiled.input_formats


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x @ x,
        lambda x: x * x + x,
        jnp.exp,
        jnp.sum,
        lambda x: jnp.tanh(x @ x + x[0]),
        lambda x: jax.lax.conv(x[None, None], x[:3, :3][None, None], (1, 1), "VALID"),
        lambda x: jax.lax.conv(x[None, None], x[:3, :3][None, None], (1, 1), "VALID") + x[0, 0],
    ],
    ids=["product", "elementwise", "exp", "sum", "linear", "convolution", "bias"],
)
def test_operations_are_counted_as_by_xla(function):
    square = jax.ShapeDtypeStruct((32, 32), jnp.float32)
    ours = jax.jit(function).lower(square).compile().cost_analysis()
    with jax.default_device(jax.devices("cpu")[0]):
        of_cpu = jax.jit(function).lower(square).compile().cost_analysis()
    names = ("flops", "transcendentals")
    assert [ours[name] for name in names] == [of_cpu.get(name, 0.0) for name in names]


def test_memory_of_donated_arguments_is_counted_as_aliases():
    def function(x, y):
        return x + y

    kept, donating = (
        jax.jit(function, donate_argnums=numbers).lower(X, X).compile().memory_analysis() for numbers in ((), (0,))
    )
    assert (kept.alias_size_in_bytes, donating.alias_size_in_bytes) == (0, 48)


def test_serialised_executable_runs():
    compiled = jax.jit(lambda x: x * 2).lower(X).compile()
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    np.testing.assert_array_equal(loaded(X), X * 2)


@compiles_without_client
@pytest.mark.parametrize(("name", "arch"), [("", "Wormhole_b0"), ("p150", "Blackhole")])
def test_compiling_for_a_system_that_is_not_there(tt, name, arch):
    topology = topologies.get_topology_desc(name, "tt")
    assert [device.device_kind for device in topology.devices] == [arch]
    mesh = topologies.make_mesh(topology, (1,), ("x",))
    where = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    lowered = jax.jit(lambda x: x @ x, in_shardings=where, out_shardings=where).lower(np.ones((64, 64), np.float32))
    compiled = lowered.compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 64 * 64 * 4
    assert compiled.cost_analysis()["optimal_seconds"] > 0
    assert " dot(" in compiled.as_text()


@compiles_without_client
def test_unknown_system_is_an_error(tt):
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"n999.*Known are"):
        topologies.get_topology_desc("n999", "tt")


def test_damaged_executable_is_an_error(tt):
    compiled = jax.jit(lambda x: x * 2).lower(X).compile()
    executable = compiled.runtime_executable()
    data = executable.serialize() if hasattr(executable, "serialize") else tt.client.serialize_executable(executable)
    for damaged in (b"", b"\x00", data[:-10], data[: len(data) // 2], data[:100] + b"x" + data[101:]):
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"DATA_LOSS|INVALID_ARGUMENT"):
            tt.client.deserialize_executable(damaged, jax._src.lib.xla_client.DeviceList((tt,)))


@pytest.mark.nightly
def test_persistent_cache_is_used(run_python, tmp_path):
    script = """
import jax, jax.numpy as jnp, logging
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
from jax._src import monitoring
monitoring.register_event_listener(lambda name, **_: name.endswith("cache_hits") and print("HIT"))
print(jax.jit(lambda x: x * 2 + 1)(jnp.ones(3)))
"""
    first = run_python(script, JAX_COMPILATION_CACHE_DIR=str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert list(tmp_path.iterdir())
    second = run_python(script, JAX_COMPILATION_CACHE_DIR=str(tmp_path))
    assert "[3. 3. 3.]" in second.stdout
    assert "HIT" in second.stdout
    assert "HIT" not in first.stdout


def test_error_carries_the_message_and_the_users_line():
    with pytest.raises(jax.errors.JaxRuntimeError) as raised:
        jax.jit(lambda x: x.reshape(-1), compiler_options={"math_fidelity": "hifi5"})(X)
    assert str(raised.value).startswith("INVALID_ARGUMENT: Compile option 'math_fidelity' was given 'hifi5'")


def test_program_that_does_not_fit_is_resource_exhausted():
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"RESOURCE_EXHAUSTED: .*DRAM"):
        jax.jit(lambda: jnp.zeros((1 << 17, 1 << 16)) + 1).lower().compile()


def test_threads_do_not_mix_results():
    import concurrent.futures

    def work(number: int) -> bool:
        f = jax.jit(lambda x: x * number + 1)
        return all(bool((np.asarray(f(X + i)) == (X + i) * number + 1).all()) for i in range(20))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_artifacts(tmp_path):
    import tt_jax

    ttir, ttnn, program = tt_jax.serialize_compiled_artifacts(
        lambda mode, x: x * 2 if mode == "twice" else x, "twice", X
    )
    assert "ttir.multiply" in ttir
    assert "ttnn.multiply" in ttnn
    assert program.startswith(b"TTXLAPRG")
    tt_jax.serialize_compiled_artifacts_to_disk(jnp.sin, X, output_prefix=str(tmp_path / "sin"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sin.ttnn", "sin_ttir.mlir", "sin_ttnn.mlir"]
