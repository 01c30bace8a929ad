"""Fixtures that replace compiler and runtime by JAX's CPU client, which computes StableHLO in its own types."""

from __future__ import annotations

import itertools

import jax
import jaxlib
import numpy as np
import pytest
import torch
from jax.extend import backend as jax_backend
from torch._functorch.aot_autograd import aot_module_simplified
from torch.fx.experimental.proxy_tensor import make_fx

from tt_xla.frontends.torch import backend, compilation, session, settings
from tt_xla.frontends.torch.aten.registry import DTYPES
from tt_xla.frontends.torch.lowering import lower_to_stablehlo
from tt_xla.frontends.torch.private.patches import compiling

TORCH_DTYPES = {dtype: torch_dtype for torch_dtype, dtype in DTYPES.items()}


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().contiguous()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(DTYPES[torch.bfloat16])
    return tensor.numpy()


def to_torch(array: np.ndarray) -> torch.Tensor:
    array = np.array(array, order="C")
    if array.dtype == DTYPES[torch.bfloat16]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def run_on_jax_cpu(module):
    """Returns a callable that runs a module on host tensors."""
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(module.operation.get_asm(), devices)

    def call(tensors, versions, donated=()):
        with jax.enable_x64(True):
            arrays = [jax.device_put(to_numpy(tensor), client.local_devices()[0]) for tensor in tensors]
            results = executable.execute(arrays)
            return [to_torch(np.asarray(result)) for result in results]

    return call


def as_tuple(value):
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def lower_with_inputs(function, *inputs):
    """Lowers a function as the backend does. Returns the result, and the graph's inputs: constants, then ``inputs``."""
    captured = []

    def capture(graph, inputs):
        captured.append(lower_to_stablehlo(graph))
        return lambda *args: [None] * len(captured[0].outputs)

    trace = make_fx(lambda *args: as_tuple(function(*args)), tracing_mode="fake", _allow_non_fake_inputs=True)
    with compiling():
        flat = trace(*inputs)
    with torch.no_grad(), compiling():
        aot_module_simplified(
            flat, inputs, fw_compiler=capture, inference_compiler=capture, decompositions=backend.decompositions()
        )
    return captured[0], [*flat.parameters(), *flat.buffers(), *inputs]


def lower_function(function, *inputs):
    return lower_with_inputs(function, *inputs)[0]


def computed(function, *inputs):
    """Returns the results of a lowered function."""
    result, inputs = lower_with_inputs(function, *inputs)
    arguments = [
        inputs[position] if order is None else inputs[position].permute(order)
        for position, order in zip(result.tensors, result.input_orders, strict=True)
    ]
    arguments += [make() for make in result.extras]
    got = run_on_jax_cpu(result.module)(arguments, [None] * len(arguments))
    got = [
        array if order is None else array.permute([order.index(axis) for axis in range(len(order))])
        for array, order in zip(got, result.orders, strict=True)
    ]
    bases = {True: inputs, False: got}
    return [
        value.of(bases[value.of_input][value.index])
        if kind == "view"
        else got[value]
        if kind == "result"
        else inputs[value]
        for kind, value in result.outputs
    ]


def compare(got, expected, rtol=2e-5, atol=2e-5):
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)


def compare_with_eager(function, *inputs, **tolerances):
    compare(computed(function, *inputs), as_tuple(function(*inputs)), **tolerances)


class Cases:
    """Functions of the same inputs that one program computes, so that they are traced and compiled once.

    A function that cannot be lowered fails the tests of all; the traceback names it.
    """

    def __init__(self, functions, *inputs):
        self._expected = {name: as_tuple(function(*inputs)) for name, function in functions.items()}
        results = iter(
            computed(lambda *inputs: [each for case in functions.values() for each in as_tuple(case(*inputs))], *inputs)
        )
        self._got = {name: [*itertools.islice(results, len(each))] for name, each in self._expected.items()}

    def check(self, name, **tolerances):
        """Compares what the lowered function of a name computes with eager torch."""
        compare(self._got[name], self._expected[name], **tolerances)


@pytest.fixture(scope="session")
def lowered():
    """Returns ``lowered(function, *inputs)``, which lowers a function with :func:`lower_to_stablehlo`."""
    return lower_function


@pytest.fixture(scope="session")
def check():
    """Returns ``check(function, *inputs)``, which compares the lowered function with eager torch."""
    return compare_with_eager


@pytest.fixture(scope="session")
def check_case():
    """Returns ``check_case(functions, name, *inputs)``, which does so for one of many functions of the same inputs."""
    known = {}

    def check(functions, name, *inputs, **tolerances):
        key = (id(functions), *((each.shape, each.dtype, *each.flatten().tolist()) for each in inputs))
        if key not in known:
            known[key] = functions, Cases(functions, *inputs)  # an object that is kept has its id for itself
        known[key][1].check(name, **tolerances)

    return check


@pytest.fixture(scope="session")
def run_module():
    """Returns ``run_module(module)(tensors, versions)``, which runs a StableHLO module in its own types."""
    return run_on_jax_cpu


class Loads(list):
    """Records the (module, options) pairs that were compiled."""


@pytest.fixture
def on_jax(monkeypatch):
    """Runs compiled graphs on JAX's CPU client. Returns the record of what was compiled."""
    loads = Loads()

    def compile_and_load(module, options, part=None, placements=(), chip=0):
        loads.append((module, options))
        return compilation.Loaded(run_on_jax_cpu(module))

    monkeypatch.setattr(compilation, "compile_and_load", compile_and_load)
    settings.reset()
    torch.compiler.reset()
    yield loads
    torch.compiler.reset()


@pytest.fixture
def exact():
    """Computes in the tensors' own types, so that any difference from the CPU is a fault."""
    settings.set_compile_options({"numerics": "exact"})


@pytest.fixture(autouse=True)
def _each_chip_is_a_device():
    """No test is in the SPMD mode of an earlier one, which a process cannot leave, or has its meshes."""
    with session.fresh_chips():
        yield


@pytest.fixture
def chips_as_one_device(monkeypatch):
    """An LLMBox in SPMD mode: its eight chips are one device, and no mesh or program is left from another test."""
    import torch_xla.runtime as xr

    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    compilation.clear_programs()
    xr.use_spmd()
    torch.compiler.reset()
    torch.manual_seed(0)
    yield
    torch.compiler.reset()
