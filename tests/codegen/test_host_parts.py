"""Torch code of host ops: the results of each op are compared with XLA's results for the same StableHLO."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch

from tests.codegen import factories
from tt_xla import codegen, host
from tt_xla.codegen.generator import generate
from tt_xla.codegen.host import NoTorchCodeError, torch_function
from tt_xla.codegen.host.op import TORCH_NAMES, dtype
from tt_xla.codegen.host.rules import UNARY
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.element_types import ElementType
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

STAND_IN = Path(__file__).parents[1] / "ttnn_runtime/stand_in"

NUMBERS: dict[str, list[Any]] = {
    "i1": [0, 1, 1, 0, 1, 0, 1, 0],
    "i8": [0, 1, -1, 127, -128, 5, -7, 3],
    "i16": [0, 1, -1, 32767, -32768, 5, -7, 3],
    "i32": [0, 1, -1, 2**31 - 1, -(2**31), 5, -7, 3],
    "i64": [0, 1, -1, 2**63 - 1, -(2**63), 5, -7, 3],
    "ui8": [0, 1, 255, 128, 200, 5, 7, 3],
    "ui16": [0, 1, 65535, 32768, 40000, 5, 7, 3],
    "ui32": [0, 1, 2**32 - 1, 2**31, 3 * 10**9, 5, 7, 3],
    "ui64": [0, 1, 2**64 - 1, 2**63, 2**63 + 4096, 5, 7, 3],
    "bf16": [0.0, 0.5, -0.5, 2.5, -1.5, 0.25, 100.0, -3.0],
    "f32": [0.0, 0.5, -0.5, 2.5, -1.5, 0.25, 100.0, -3.0],
    "f64": [0.0, 0.5, -0.5, 2.5, -1.5, 0.25, 100.0, -3.0],
    "complex<f32>": [0, 0.5j, -0.5, 2.5 + 1j, -1.5, 0.25, 10.0, -3.0 - 2j],
}
INTEGERS = ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"]
FLOATS = ["bf16", "f32", "f64"]


@pytest.fixture
def host_ops(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Loads ``host_ops.py`` beside a replacement for ``ttnn``."""
    _module(monkeypatch, "ttnn", STAND_IN / "ttnn" / "__init__.py")
    _module(monkeypatch, "utils", codegen.UTILS)
    return _module(monkeypatch, "host_ops", codegen.HOST_OPS)


def _module(monkeypatch: pytest.MonkeyPatch, name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, loaded)
    spec.loader.exec_module(loaded)
    return loaded


def _array(kind: str, numbers: list[Any]) -> np.ndarray[Any, Any]:
    return np.array(numbers, ElementType(kind).numpy_dtype())


def _held(array: np.ndarray[Any, Any], kind: str) -> torch.Tensor:
    """Returns an array as the torch tensor that ``host_ops`` holds it in."""
    name = dtype(kind).removeprefix("torch.")
    if kind == "bf16":
        return torch.from_numpy(array.astype(np.float32)).bfloat16()
    return torch.from_numpy(array.astype(name) if kind != "ui64" else array.view(np.int64))


def _seen(tensor: torch.Tensor, kind: str) -> np.ndarray[Any, Any]:
    array = tensor.resolve_conj().float().numpy() if kind == "bf16" else tensor.resolve_conj().numpy()
    return array.view(np.uint64) if kind == "ui64" else array


def compare(host_ops: ModuleType, module: str, *arrays: np.ndarray[Any, Any], rtol: float = 2e-6) -> str:
    """Runs a module through XLA and as torch code, compares the results, and returns the torch code."""
    expected = host.load(module)(arrays)
    kinds = {value: key for key, value in ((k, ElementType(k).numpy_dtype()) for k in NUMBERS)}
    lines = torch_function(module, "part", "A part.")
    namespace: dict[str, Any] = {"torch": torch, "host_ops": host_ops}
    exec("\n".join(lines), namespace)
    operands = [_held(array, kinds[array.dtype]) for array in arrays]
    with torch.device("meta"):  # as torch.set_default_device would
        results = namespace["part"](*operands)
    assert factories.without_device("\n".join(lines)) == []
    assert len(results) == len(expected)
    for got, reference in zip(results, expected, strict=True):
        kind = kinds[reference.dtype]
        assert got.dtype == getattr(torch, dtype(kind).removeprefix("torch."))
        assert tuple(got.shape) == reference.shape
        if reference.dtype == ml_dtypes.bfloat16:
            reference, rtol = reference.astype(np.float32), 1e-2
        actual = _seen(got, kind)
        if reference.dtype.kind in "iub":
            np.testing.assert_array_equal(actual, reference)
        else:
            np.testing.assert_allclose(actual, reference, rtol=rtol, atol=rtol)
    return "\n".join(lines)


def module(kinds: list[str], ops: list[tuple[str, str, str]], shape: str = "8") -> str:
    """Returns a module with one result of each op; an op is its name, its result's element type and its attributes."""
    parameters = ", ".join(f"%a{n}: tensor<{shape}x{kind}>" for n, kind in enumerate(kinds))
    names = ", ".join(f"%a{n}" for n in range(len(kinds)))
    types = ", ".join(f"tensor<{shape}x{kind}>" for kind in kinds)
    lines, result_types = [], [f"tensor<{shape}x{result}>" for _, result, _ in ops]
    for n, (op, _, attributes) in enumerate(ops):
        lines.append(f'  %{n} = "{op}"({names}) {{{attributes}}} : ({types}) -> {result_types[n]}')
    results = ", ".join(f"%{n}" for n in range(len(ops)))
    body = "\n".join([*lines, f"  return {results} : {', '.join(result_types)}"])
    return f"func.func public @main({parameters}) -> ({', '.join(result_types)}) {{\n{body}\n}}"


# Elementwise --------------------------------------------------------------------------------------------------------

_OF_INTEGERS = [
    *("add", "and", "divide", "maximum", "minimum", "multiply", "or", "remainder", "subtract", "xor"),
    *("shift_left", "shift_right_arithmetic", "shift_right_logical"),
]
_DIRECTIONS = ["EQ", "NE", "GE", "GT", "LE", "LT"]


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(host_ops: ModuleType, kind: str) -> None:
    ops = [(f"stablehlo.{op}", kind, "") for op in _OF_INTEGERS]
    for direction in _DIRECTIONS:
        attribute = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
        ops.append(("stablehlo.compare", "i1", attribute))
    text = module([kind, kind], ops)
    x = _array(kind, NUMBERS[kind])
    for turn in range(len(x)):
        compare(host_ops, text, x, np.roll(x, turn))
    bits = [(f"stablehlo.{op}", kind, "") for op in ("popcnt", "count_leading_zeros", "not")]
    compare(host_ops, module([kind], bits), x)


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
def test_signed_integers(host_ops: ModuleType, kind: str) -> None:
    x = _array(kind, NUMBERS[kind])
    compare(host_ops, module([kind], [(f"stablehlo.{op}", kind, "") for op in ("abs", "negate", "sign")]), x)
    exponents = np.array([3, 0, 5, 1, 2, -1, 2, 7], x.dtype)
    compare(host_ops, module([kind, kind], [("stablehlo.power", kind, "")]), x, exponents)


@pytest.mark.parametrize("source", NUMBERS)
def test_conversions(host_ops: ModuleType, source: str) -> None:
    text = module([source], [("stablehlo.convert", target, "") for target in NUMBERS])
    compare(host_ops, text, _array(source, NUMBERS[source]))


def test_floats_beyond_an_integer_stop_at_its_limits(host_ops: ModuleType) -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan, 300.5, -300.5, 2.0**62], np.float32)
    compare(host_ops, module(["f32"], [("stablehlo.convert", target, "") for target in INTEGERS]), x)


def _results(names: list[str], kind: str) -> list[tuple[str, str, str]]:
    return [(name, "i1" if name.endswith("is_finite") else kind, "") for name in names]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", FLOATS)
def test_unary(host_ops: ModuleType, kind: str) -> None:
    names = sorted(name for name in UNARY if name not in ("stablehlo.not", "chlo.conj"))
    positive = [name for name in names if name.endswith(("log", "log_plus_one", "sqrt", "acosh", "lgamma", "digamma"))]
    bounded = [name for name in names if name.endswith(("acos", "asin", "atanh", "erf_inv"))]
    rest = [name for name in names if name not in (*positive, *bounded)]
    x = _array("f32", NUMBERS["f32"])
    for group, numbers in ((positive, np.abs(x) + 1.5), (bounded, x * 0.009), (rest, x)):
        for name in group:
            tolerance = 1e-6 if kind == "f64" else 2e-5
            values = np.asarray(numbers).clip(-5, 5).astype(ElementType(kind).numpy_dtype())
            compare(host_ops, module([kind], _results([name], kind)), values, rtol=tolerance)


@pytest.mark.parametrize("kind", FLOATS)
def test_binary(host_ops: ModuleType, kind: str) -> None:
    names = ["add", "atan2", "divide", "maximum", "minimum", "multiply", "remainder", "subtract"]
    x = _array(kind, NUMBERS[kind])
    y = _array(kind, [0.5, -2.0, 3.0, 0.25, -1.0, 7.0, 3.0, 2.0])
    compare(host_ops, module([kind, kind], [(f"stablehlo.{name}", kind, "") for name in names]), x, y)
    compare(host_ops, module([kind, kind], [("stablehlo.power", kind, "")]), np.abs(x), y)


# Functions, as JAX writes them ---------------------------------------------------------------------------------------


M = np.array([[4, 1, 0.5], [1, 3, -1], [0.5, -1, 5]], np.float32)
X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
WHOLE = np.arange(24).reshape(2, 3, 4) * 7 % 11
U = (np.arange(24, dtype=np.uint64) * np.uint64(2**61 + 12345)).reshape(2, 3, 4)
NAN = np.array([3, np.nan, -0.0, 0.0, -1, np.inf, np.nan, 2], np.float32)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "all": (lambda x: jnp.all(x > -3, axis=1), (X,)),
    "any": (lambda x: jnp.any(x > 2, axis=(0, 2)), (X,)),
    "barrier": (lambda x: jax.lax.optimization_barrier(x) * 2, (X,)),
    "broadcast": (lambda x: jnp.broadcast_to(x[0, :, :1], (5, 3, 4)) + 1, (X,)),
    "cholesky": (jnp.linalg.cholesky, (M,)),
    "cholesky of no definite matrix": (jnp.linalg.cholesky, (-M,)),
    "concatenate": (lambda x: jnp.concatenate([x, -x, x[:, :, ::-1]], axis=1), (X,)),
    "constants": (lambda x: x + jnp.array([0.5, jnp.inf, -2, jnp.nan]) * 3.25, (X,)),
    "conjugate": (lambda x: jnp.conj(x * (1 + 2j)).imag, (X,)),
    "dot": (lambda x, y: jnp.einsum("bij,bkj->bik", x, y), (X, X + 1)),
    "dot of integers": (lambda x: jnp.einsum("bij,bkj->ik", x, x), (WHOLE,)),
    "dynamic slice": (lambda x, i: jax.lax.dynamic_slice(x, (i, jnp.int32(0), i), (1, 2, 2)), (X, np.int32(9))),
    "dynamic update": (
        lambda x, i: jax.lax.dynamic_update_slice(x, x[:1, :2] * 2, (i, jnp.int32(0), jnp.int32(0))),
        (X, np.int32(-1)),
    ),
    "eigh": (lambda x: jnp.abs(jnp.linalg.eigh(x)[1]), (M,)),
    "fft": (lambda x: jnp.abs(jnp.fft.fft2(x)), (X,)),
    "irfft": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x, n=6), n=6), (X,)),
    "max of u64": (lambda x: jnp.maximum(x, x[::-1]), (U,)),
    "pad": (lambda x: jax.lax.pad(x, jnp.float32(7), ((1, -1, 0), (0, 2, 1), (-1, 1, 2))), (X,)),
    "product": (lambda x: jnp.prod(x, axis=(1, 2)), (WHOLE + 1,)),
    "qr": (lambda x: jnp.linalg.qr(x), (M,)),
    "sort": (lambda x: jnp.sort(x, axis=1), (X[::-1, ::-1],)),
    "sort with nan": (jnp.sort, (NAN,)),
    "argsort": (lambda x: jnp.argsort(x, axis=0), (NAN,)),
    "sort down": (lambda x: -jnp.sort(-x), (WHOLE,)),
    "sort of u64": (lambda x: jnp.sort(x, axis=-1), (U,)),
    "sum": (lambda x: jnp.sum(x, axis=(0, 2)) + jnp.max(x) - jnp.min(x, axis=1).sum(), (X,)),
    "svd": (lambda x: jnp.linalg.svd(x, compute_uv=True)[1], (M,)),
    "top k": (lambda x: jax.lax.top_k(x, 2), (X,)),
    "transpose": (lambda x: x.transpose(2, 0, 1).reshape(8, 3), (X,)),
    "triangular": (lambda x, y: jax.scipy.linalg.solve_triangular(x, y, lower=True, trans=1), (M, M)),
    "loop": (lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * i + x, x * 2), (X,)),
    "where": (lambda x: jnp.where(x > 0, jnp.clip(x, 0.5, 2), jnp.iinfo(jnp.int32).max), (X,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(host_ops: ModuleType, name: str) -> None:
    function, arguments = FUNCTIONS[name]
    with host.wide():
        text = jax.jit(function).lower(*arguments).as_text()
    compare(host_ops, text, *map(np.asarray, arguments), rtol=2e-5)


@pytest.mark.parametrize("name", ["add", "maximum"])
def test_a_reduction_that_begins_with_an_argument(host_ops: ModuleType, name: str) -> None:
    text = f"""func.func public @main(%x: tensor<4xf32>, %start: tensor<f32>) -> tensor<f32> {{
      %0 = stablehlo.reduce(%x init: %start) applies stablehlo.{name} across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }}"""
    compare(host_ops, text, np.ones(4, np.float32), np.array(7, np.float32))


def test_the_table_of_types_is_that_of_the_module_it_writes_for(host_ops: ModuleType) -> None:
    assert {kind: str(held) for kind, held in host_ops.DTYPES.items()} == {kind: dtype(kind) for kind in TORCH_NAMES}
    with pytest.raises(NoTorchCodeError):
        dtype("f8E4M3FN")


@pytest.mark.parametrize("file", [codegen.HOST_OPS, codegen.PROGRAMS, codegen.UTILS])
def test_modules_beside_generated_source_name_the_device_of_each_new_tensor(file: Path) -> None:
    assert factories.without_device(file.read_text()) == []


def test_a_factory_call_without_device_is_found() -> None:
    source = 'torch.zeros(3)\ntorch.zeros_like(x)\ntorch.full((2,), 1, device="cpu")\nx.new_zeros(3)'
    assert factories.without_device(source) == ["torch.zeros(3)"]


# In programs ----------------------------------------------------------------------------------------------------------

WIDE = """func.func public @main(%x: tensor<8xui32>) -> tensor<8xui32> {
  %i = stablehlo.convert %x : (tensor<8xui32>) -> tensor<8xui64>
  %c = stablehlo.constant dense<4294967299> : tensor<ui64>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui64>) -> tensor<8xui64>
  %p = stablehlo.multiply %i, %b : tensor<8xui64>
  %n = stablehlo.convert %p : (tensor<8xui64>) -> tensor<8xui32>
  return %n : tensor<8xui32>
}"""


def _program(text: str) -> Any:
    return compile_module(parse_module(text, "model.mlir"), CompileOptions(), load_target("p150"))


def test_a_host_call_is_a_function_of_torch_code(host_ops: ModuleType) -> None:
    source = generate(_program(WIDE))
    assert "import torch\nimport ttnn\n\nimport host_ops\nimport utils\n" in source.main
    assert "    multiply = convert * 4294967299\n" in source.main
    assert re.search(r"# TT-NN has no op for this; the host runs it as torch code: .*stablehlo\.multiply", source.main)
    assert list(source.host_functions) == ["host_multiply"]
    assert not source.host_programs


SPECTRUM = """func.func public @main(%x: tensor<8xf32>, %s: tensor<5xf32> {ttcore.argument_type = "parameter"})
    -> (tensor<8xf32>, tensor<5xcomplex<f32>>) {
  %e = stablehlo.exponential %s : tensor<5xf32>
  %c = stablehlo.convert %e : (tensor<5xf32>) -> tensor<5xcomplex<f32>>
  %f = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  %p = stablehlo.multiply %f, %c : tensor<5xcomplex<f32>>
  %r = stablehlo.fft %p, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
  return %r, %c : tensor<8xf32>, tensor<5xcomplex<f32>>
}"""


def test_what_ttnn_has_no_data_type_for_stays_an_array(host_ops: ModuleType) -> None:
    """The weight is prepared on the host once, as complex numbers, which the host multiplies by in each call."""
    source, ttnn, utils = generate(_program(SPECTRUM)), sys.modules["ttnn"], sys.modules["utils"]
    assert '["complex<f32>"], [None])' in source.main
    module: dict[str, Any] = {"__name__": "program"}
    exec(source.main, module)
    x, s = np.random.default_rng(0).random((8,), np.float32), np.linspace(-1, 1, 5, dtype=np.float32)
    tensors = [utils.tensor(array, ttnn.float32, ttnn.TILE_LAYOUT, "device") for array in (x, s)]
    weights = {"arg1": tensors[1]}
    module["const_eval"]("device", weights)
    result, prepared = module["forward"]("device", weights, tensors[0])
    expected = np.fft.irfft(np.fft.rfft(x) * np.exp(s))
    np.testing.assert_allclose(utils.array_of(result), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(utils.array_of(prepared), np.exp(s), rtol=1e-4)


def test_a_result_that_does_not_fit_is_an_error(host_ops: ModuleType) -> None:
    ttnn = sys.modules["ttnn"]
    wide = torch.tensor([2**40])
    with pytest.raises(OverflowError, match="1099511627776, which does not fit"):
        host_ops.run(lambda: [wide], [], [], ["i64"], [ttnn.int32])


def test_without_torch_code_it_stays_stablehlo_and_says_why() -> None:
    text = """func.func public @main(%x: tensor<8xui32>) -> tensor<8xui32> {
  %w = stablehlo.convert %x : (tensor<8xui32>) -> tensor<8xui64>
  %r = stablehlo.clamp %w, %w, %w : tensor<8xui64>
  %n = stablehlo.convert %r : (tensor<8xui64>) -> tensor<8xui32>
  return %n : tensor<8xui32>
}"""
    with pytest.raises(NoTorchCodeError, match=r"^stablehlo\.clamp$"):
        torch_function(text, "part", "A part.")
    source = generate(_program(text))
    comments = re.sub(r"\n +# ", " ", source.main)
    assert "the host runs it through jaxlib, as stablehlo.clamp has no torch code: " in comments
    assert 'utils.host_call("host/part0.mlir", [' in source.main
    assert "import torch" not in source.main
    assert not source.host_functions


def test_shards_are_computed_once_for_chips_that_hold_the_same(host_ops: ModuleType) -> None:
    import ttnn
    import utils

    device = ttnn.open_mesh_device((2, 2))
    parts = [np.full((2, 3), float(value), np.float32) for value in (1, 1, 5, 5)]
    tensor = ttnn.from_host_shards([ttnn.Tensor(part, ttnn.float32, "") for part in parts], (2, 2))
    seen: list[float] = []

    def fft(x: torch.Tensor, offset: torch.Tensor) -> list[torch.Tensor]:
        seen.append(float(x[0, 0]))
        return [torch.fft.fft(x), x + offset]

    types = ["f32", "f32"], ["complex<f32>", "f32"], [None, ttnn.float32]
    inputs = [tensor, np.float32(10) * np.ones((2, 3), np.float32)]
    spectra, sums = utils.on_chips(device, [0, 0, 2, 2], host_ops.run, fft, inputs, *types)
    assert seen == [1.0, 5.0]
    assert [part[0, 0] for part in spectra] == [3, 3, 15, 15]
    assert [part.array[0, 0] for part in ttnn.get_device_tensors(sums)] == [11, 11, 15, 15]
    complex_type = ["complex<f32>"]
    again = utils.on_chips(
        device, [0, 0, 2, 2], host_ops.run, lambda x: [x * 2], [spectra], complex_type, complex_type, [None]
    )
    assert [part[0, 0] for part in again[0]] == [6, 6, 30, 30]


def test_arrays_are_split_and_joined_with_padding(host_ops: ModuleType) -> None:
    import utils

    array = np.arange(15).reshape(5, 3) + 0j
    places = [[0, 0], [1, 0], [2, 0], [3, 0]]
    parts = utils.split(array, [4, 1], places)
    assert [part.shape for part in parts] == [(2, 3)] * 4
    assert not parts[3].any()
    assert np.array_equal(utils.joined(parts, [4, 1], places, [5, 3]), array)
    assert np.array_equal(utils.joined(array[:2], [4, 1], places, [5, 3])[2:4], array[:2])  # the same on all chips
