"""Reductions, normalizations, data movement, creation, indexing and attention agree with NumPy in float64."""

from __future__ import annotations

import importlib
import struct

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tt_xla.errors import ExecutionError
from tt_xla.runtime.emulator import streaming
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.registry import find, kernel, kernels

pytestmark = pytest.mark.quick

BF16 = torch.bfloat16


def samples(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def assert_close(result, exact, dtype="f32"):
    tolerance = {"rtol": 2**-8, "atol": 2**-9} if dtype == "bf16" else {"rtol": 2e-5, "atol": 2e-6}
    np.testing.assert_allclose(result.double().numpy(), exact, **tolerance)


def test_every_kernel_is_found_by_its_name():
    assert all(find(op).op == op for op in kernels())
    assert {op for op in kernels() if not op.startswith("ttnn.")} == {"mesh.transfer"}


def test_kernels_are_imported_once(monkeypatch):
    kernels()
    monkeypatch.setattr(importlib, "import_module", None)
    assert find("ttnn.add").op == "ttnn.add"


def test_two_kernels_for_one_op_are_an_error():
    with pytest.raises(ValueError, match=r"duplicate kernel for ttnn\.add: .*\.py:\d+ and .*test_kernels\.py:\d+"):
        kernel("ttnn.add")(lambda ctx, lhs, rhs: lhs)


def test_a_missing_kernel():
    with pytest.raises(ExecutionError, match=r"no kernel for ttnn\.matmull.*ttnn\.matmul"):
        find("ttnn.matmull")


REDUCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("keep_dim", [True, False])
@pytest.mark.parametrize("dims", [None, [1], [-1], [0, 2], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("op", sorted(REDUCTIONS))
def test_reductions(run_op, op, dims, keep_dim, dtype):
    x = samples(3, 4, 5, dtype=BF16 if dtype == "bf16" else torch.float32)
    exact = REDUCTIONS[op](x.double().numpy(), axis=None if dims is None else tuple(dims), keepdims=keep_dim)
    attributes = {} if dims is None else {"dim_arg": dims}
    assert_close(run_op(f"ttnn.{op}", {"input": x}, exact.shape, dtype, keep_dim=keep_dim, **attributes), exact, dtype)


def test_integer_sums_wrap(run_op):
    x = torch.full((4,), 2**30, dtype=torch.int32)
    assert run_op("ttnn.sum", {"input": x}, (), "si32", keep_dim=False).item() == 0
    assert run_op("ttnn.sum", {"input": x[:3]}, (1,), "si32", keep_dim=True).item() == 3 * 2**30 - 2**32


def test_a_bfloat16_sum_accumulates_in_float32(run_op):
    x = torch.ones(4096, dtype=BF16)
    assert run_op("ttnn.sum", {"input": x}, (), keep_dim=False).item() == 4096
    assert run_op("ttnn.cumsum", {"input": x}, (4096,), dim=0)[-1].item() == 4096


@pytest.mark.parametrize("keep_dim", [True, False])
@pytest.mark.parametrize("dim", [0, -1, None])
def test_argmax_finds_the_first(run_op, dim, keep_dim):
    x = torch.randint(0, 4, (5, 40), generator=torch.Generator().manual_seed(0)).to(BF16)
    exact = np.argmax(x.float().numpy(), axis=dim, keepdims=keep_dim)
    result = run_op("ttnn.argmax", {"input": x}, np.shape(exact), "u32", dim=dim, keep_dim=keep_dim)
    assert result.tolist() == exact.tolist()


def test_argmax_of_nan_is_its_place(run_op):
    x = torch.tensor([[1.0, float("nan"), 3.0], [2.0, 2.0, 1.0]])
    assert run_op("ttnn.argmax", {"input": x}, (2,), "u32", dim=1).tolist() == [1, 0]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cumulative(run_op, dim):
    x = samples(3, 4, 5)
    assert_close(run_op("ttnn.cumsum", {"input": x}, x.shape, "f32", dim=dim), np.cumsum(x.double().numpy(), dim))
    assert_close(run_op("ttnn.cumprod", {"input": x}, x.shape, "f32", dim=dim), np.cumprod(x.double().numpy(), dim))


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("stable", [False, True])
def test_softmax(run_op, dim, dtype, stable):
    x = samples(3, 4, 5, dtype=BF16 if dtype == "bf16" else torch.float32) * 50
    wide = x.double().numpy()
    powers = np.exp(wide - wide.max(dim, keepdims=True))
    attributes = {"dimension": dim, "numericStable": stable}
    result = run_op("ttnn.softmax", {"input": x}, x.shape, dtype, **attributes)
    assert_close(result, powers / powers.sum(dim, keepdims=True), dtype)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("parameters", [(), ("weight",), ("weight", "bias")], ids=str)
@pytest.mark.parametrize("parameter_dtype", ["same", "f32"])
@pytest.mark.parametrize("op", ["layer_norm", "rms_norm"])
def test_norms_of_the_last_dimension(run_op, op, parameters, parameter_dtype, dtype):
    torch_dtype = BF16 if dtype == "bf16" else torch.float32
    x = samples(3, 4, 40, dtype=torch_dtype) * 3 + 1
    parameter_values = {name: samples(40, seed=seed + 1).to(torch_dtype) for seed, name in enumerate(parameters)}
    if parameter_dtype == "f32":
        parameter_values = {name: tensor.float() for name, tensor in parameter_values.items()}
    wide = x.double().numpy()
    mean = wide.mean(-1, keepdims=True) if op == "layer_norm" else 0
    exact = (wide - mean) / np.sqrt(((wide - mean) ** 2).mean(-1, keepdims=True) + 1e-3)
    exact = exact * parameter_values["weight"].double().numpy() if "weight" in parameter_values else exact
    exact = exact + parameter_values["bias"].double().numpy() if "bias" in parameter_values else exact
    result = run_op(f"ttnn.{op}", {"input": x, **parameter_values}, x.shape, dtype, epsilon=1e-3)
    np.testing.assert_allclose(result.double().numpy(), exact, rtol=2**-7 if dtype == "bf16" else 1e-5, atol=1e-2)


@pytest.mark.parametrize("shape", [(5,), (1, 5, 1, 1)])
def test_batch_norm(run_op, shape):
    x = samples(2, 5, 3, 4) * 3
    mean, weight, bias = (samples(*shape, seed=seed) for seed in (1, 2, 3))
    variance = samples(*shape, seed=4).abs() + 0.1
    m, v, w, b = (tensor.double().numpy().reshape(1, 5, 1, 1) for tensor in (mean, variance, weight, bias))
    exact = (x.double().numpy() - m) / np.sqrt(v + 1e-5) * w + b
    operands = {"input": x, "running_mean": mean, "running_var": variance, "weight": weight, "bias": bias}
    assert_close(run_op("ttnn.batch_norm_inference", operands, x.shape, "f32", epsilon=1e-5), exact)
    wide = x.double().numpy()
    m, v = wide.mean((0, 2, 3), keepdims=True), wide.var((0, 2, 3), keepdims=True)
    trained = {"input": x, "weight": weight, "bias": bias}
    result = run_op("ttnn.batch_norm_training", trained, x.shape, "f32", epsilon=1e-5)
    assert_close(result, (wide - m) / np.sqrt(v + 1e-5) * w + b)


def test_group_norm(run_op):
    x, weight, bias = samples(2, 1, 12, 6), samples(6, seed=1), samples(1, 1, 1, 6, seed=2)
    wide = x.double().numpy().reshape(2, 12, 3, 2)
    normal = (wide - wide.mean((1, 3), keepdims=True)) / np.sqrt(wide.var((1, 3), keepdims=True) + 1e-5)
    exact = normal.reshape(2, 1, 12, 6) * weight.double().numpy() + bias.double().numpy()
    operands = {"input": x, "weight": weight, "bias": bias}
    assert_close(run_op("ttnn.group_norm", operands, x.shape, "f32", num_groups=3, epsilon=1e-5), exact)


class TestDataMovement:
    x = samples(3, 4, 5)

    def check(self, result, exact):
        assert result.numpy().tolist() == np.asarray(exact).tolist()

    def test_views(self, run_op):
        n = self.x.numpy()
        for op, attributes, exact in (
            ("reshape", {"shape": [5, 12]}, n.reshape(5, 12)),
            ("permute", {"permutation": [2, 0, 1]}, n.transpose(2, 0, 1)),
            ("transpose", {"dim0": 0, "dim1": -1}, n.swapaxes(0, -1)),
            ("slice_static", {"begins": [0, 1, 0], "ends": [3, 4, 5], "step": [2, 1, 3]}, n[0:3:2, 1:4, 0:5:3]),
        ):
            result = run_op(f"ttnn.{op}", {"input": self.x}, exact.shape, "f32", **attributes)
            self.check(result, exact)
            assert result.untyped_storage().data_ptr() == self.x.untyped_storage().data_ptr()

    def test_repeat(self, run_op):
        column = self.x[:, :1]
        result = run_op("ttnn.repeat", {"input": column}, (3, 4, 5), "f32", repeat_dims=[1, 4, 1])
        self.check(result, np.tile(column.numpy(), (1, 4, 1)))
        assert result.untyped_storage().data_ptr() == self.x.untyped_storage().data_ptr()
        self.check(
            run_op("ttnn.repeat", {"input": self.x}, (6, 4, 10), "f32", repeat_dims=[2, 1, 2]),
            np.tile(self.x.numpy(), (2, 1, 2)),
        )

    def test_repeat_interleave(self, run_op):
        result = run_op("ttnn.repeat_interleave", {"input": self.x}, (3, 8, 5), "f32", repeats=2, dim=1)
        self.check(result, np.repeat(self.x.numpy(), 2, 1))

    def test_concat(self, run_op):
        parts = [self.x, self.x[:, :2], self.x.flip(0)]
        result = run_op("ttnn.concat", {"inputs": parts}, (3, 10, 5), "f32", dim=1)
        self.check(result, np.concatenate([part.numpy() for part in parts], 1))

    def test_pad_is_low_and_high_from_the_first_dimension(self, run_op):
        result = run_op("ttnn.pad", {"input": self.x}, (4, 6, 5), "f32", padding=[1, 0, 0, 2, 0, 0], value=7.0)
        self.check(result, np.pad(self.x.numpy(), ((1, 0), (0, 2), (0, 0)), constant_values=7))
        integers = torch.arange(3, dtype=torch.int32)
        assert run_op("ttnn.pad", {"input": integers}, (4,), "si32", padding=[1, 0], value=0.0).tolist() == [0, 0, 1, 2]

    def test_slice_dynamic(self, run_op):
        begins, ends = torch.tensor([0, 1, 2]), torch.tensor([2, 4, 5])
        operands = {"input": self.x, "begins": begins, "ends": ends}
        self.check(run_op("ttnn.slice_dynamic", operands, (2, 3, 3), "f32"), self.x.numpy()[0:2, 1:4, 2:5])

    def test_concatenate_heads(self, run_op):
        x = samples(2, 3, 4, 5)
        result = run_op("ttnn.concatenate_heads", {"input": x}, (2, 4, 15), "f32")
        self.check(result, x.numpy().transpose(0, 2, 1, 3).reshape(2, 4, 15))

    def test_upsample(self, run_op):
        x = samples(1, 2, 3, 4)
        result = run_op("ttnn.upsample", {"input": x}, (1, 4, 9, 4), "f32", scale_factor=[2, 3])
        self.check(result, x.numpy().repeat(2, 1).repeat(3, 2))

    def test_reshaped_block_floats_are_packed_anew(self, run_op):
        from tt_xla.runtime.emulator.formats import quantize

        x = quantize(samples(16, 16) * torch.logspace(-8, 8, 16, base=2), "bfp_bf8").to(BF16)
        moved = run_op("ttnn.transpose", {"input": x}, (16, 16), "bfp_bf8", dtypes={"input": "bfp_bf8"}, dim0=0, dim1=1)
        assert torch.equal(moved.float(), quantize(x.T.float(), "bfp_bf8"))


@pytest.mark.parametrize(
    ("dtype", "code", "values"),
    [
        ("f32", "f", [1.5, -2.0, 1e-40, 3.0]),
        ("si32", "i", [1, -2, -(2**31), 4]),
        ("u32", "I", [1, 2**32 - 1, 3, 4]),
        ("u16", "H", [1, 2**16 - 1, 3, 4]),
        ("u8", "B", [1, 255, 3, 4]),
    ],
)
def test_constants_are_little_endian_in_their_type(run_op, dtype, code, values):
    data = struct.pack(f"<4{code}", *values)
    expected = np.array(values, dtype=np.float32 if dtype == "f32" else None).reshape(2, 2).tolist()
    assert run_op("ttnn.constant", {}, (2, 2), dtype, value=data).tolist() == expected


def test_bfloat16_constants_have_two_bytes(run_op):
    x = samples(6, dtype=BF16)
    data = x.view(torch.int16).numpy().astype("<i2").tobytes()
    result = run_op("ttnn.constant", {}, (2, 3), "bf16", value=data)
    assert torch.equal(result.flatten(), x)
    result.zero_()
    assert torch.equal(run_op("ttnn.constant", {}, (6,), "bf16", value=data), x)


def test_one_element_fills_a_constant(run_op):
    data = struct.pack("<f", 2.5)
    assert run_op("ttnn.constant", {}, (2, 2), "f32", value=data).tolist() == [[2.5, 2.5], [2.5, 2.5]]
    assert run_op("ttnn.constant", {}, (), "f32", value=data).item() == 2.5


def test_creation(run_op):
    assert run_op("ttnn.full", {}, (2,), "bf16", shape=[2], fill_value=1.5).tolist() == [1.5, 1.5]
    assert run_op("ttnn.full", {}, (), "f32", shape=[], fill_value=-torch.inf).item() == -torch.inf
    assert run_op("ttnn.zeros", {}, (2,), "si32", shape=[2]).tolist() == [0, 0]
    assert run_op("ttnn.ones", {}, (2,), "u32", shape=[2]).tolist() == [1, 1]
    assert run_op("ttnn.arange", {}, (3,), "si32", start=1, end=7, step=2).tolist() == [1, 3, 5]
    assert run_op("ttnn.arange", {}, (4,), "f32", start=0, end=4, step=1).dtype is torch.float32


def test_embedding(run_op):
    table, indices = samples(7, 5, dtype=BF16), torch.tensor([[0, 6], [3, 3]])
    assert torch.equal(run_op("ttnn.embedding", {"input": indices, "weight": table}, (2, 2, 5)), table[indices])
    with pytest.raises(IndexError, match="index 7 is outside the table of 7 rows"):
        run_op("ttnn.embedding", {"input": indices + 1, "weight": table}, (2, 2, 5))
    with pytest.raises(IndexError, match="index -1 "):
        run_op("ttnn.embedding", {"input": (indices - 1).int(), "weight": table}, (2, 2, 5))


def test_embedding_bw_adds_the_rows_of_an_index(run_op):
    indices, gradient = torch.tensor([1, 1, 0]), samples(3, 4)
    operands = {"input": indices, "weight": samples(5, 4), "in_gradient": gradient}
    exact = np.zeros((5, 4))
    np.add.at(exact, indices.numpy(), gradient.double().numpy())
    assert_close(run_op("ttnn.embedding_bw", operands, (5, 4), "f32"), exact)


def test_gather_and_scatter(run_op):
    x, index = samples(3, 5), torch.tensor([[0, 4], [2, 2], [1, 0]])
    result = run_op("ttnn.gather", {"input": x, "index": index}, (3, 2), "f32", dim=1)
    assert torch.equal(result, torch.from_numpy(np.take_along_axis(x.numpy(), index.numpy(), 1)))
    source = samples(3, 2, seed=1)
    operands = {"input": x, "index": index, "source": source}
    exact = x.numpy().copy()
    np.put_along_axis(exact, index.numpy(), source.numpy(), 1)
    assert run_op("ttnn.scatter", operands, (3, 5), "f32", dim=1).tolist() == exact.tolist()
    total = x.double().numpy().copy()
    np.add.at(total, (np.arange(3)[:, None], index.numpy()), source.double().numpy())
    assert_close(run_op("ttnn.scatter", operands, (3, 5), "f32", dim=1, scatter_reduce_type="sum"), total)


def test_sort_and_topk_keep_the_order_of_equals(run_op):
    x = torch.tensor([[2.0, 1.0, 2.0, 3.0]])
    assert [part.tolist() for part in run_op("ttnn.sort", {"input": x}, [(1, 4), (1, 4)], "f32", descending=True)] == [
        [[3.0, 2.0, 2.0, 1.0]],
        [[3.0, 0.0, 2.0, 1.0]],
    ]
    values, indices = run_op("ttnn.topk", {"input_tensor": x}, [(1, 2), (1, 2)], "f32", k=2)
    assert (values.tolist(), indices.tolist()) == ([[3, 2]], [[3, 0]])
    values, indices = run_op("ttnn.topk", {"input_tensor": x}, [(1, 2), (1, 2)], "f32", k=2, largest=False)
    assert (values.tolist(), indices.tolist()) == ([[1, 2]], [[1, 0]])


@pytest.mark.parametrize("mode", ["plain", "causal", "mask", "window", "sink"])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_attention(run_op, mode, kv_heads):
    q, k, v = samples(2, 4, 5, 8), samples(2, kv_heads, 5, 8, seed=1), samples(2, kv_heads, 5, 8, seed=2)
    keys, values = (np.repeat(t.double().numpy(), 4 // kv_heads, 1) for t in (k, v))
    scores = q.double().numpy() @ keys.swapaxes(-1, -2) * 0.3
    operands, attributes = {"query": q, "key": k, "value": v}, {"is_causal": mode != "plain" and mode != "mask"}
    distance = np.arange(5)[:, None] - np.arange(5)
    if attributes["is_causal"]:
        scores = np.where(distance < 0, -np.inf, scores)
    if mode == "mask":
        operands["attention_mask"] = samples(2, 1, 5, 5, seed=3)
        scores = scores + operands["attention_mask"].double().numpy()
    if mode == "window":
        attributes["sliding_window_size"] = 2
        scores = np.where(distance >= 2, -np.inf, scores)
    powers, extra = np.exp(scores), 0.0
    if mode == "sink":
        operands["attention_sink"] = samples(1, 4, 1, 1, seed=4)
        extra = np.exp(operands["attention_sink"].double().numpy() * 0.3)
    exact = powers / (powers.sum(-1, keepdims=True) + extra) @ values
    result = run_op("ttnn.scaled_dot_product_attention", operands, q.shape, "f32", scale=0.3, **attributes)
    assert_close(result, exact)


@pytest.mark.parametrize("mode", ["plain", "positions", "mask", "window"])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_attention_for_decoding(run_op, mode, kv_heads):
    q, k, v = samples(1, 3, 4, 8), samples(3, kv_heads, 6, 8, seed=1), samples(3, kv_heads, 6, 8, seed=2)
    keys, values = (np.repeat(t.double().numpy(), 4 // kv_heads, 1) for t in (k, v))
    scores = np.einsum("bhd,bhkd->bhk", q[0].double().numpy(), keys) * 0.3
    operands, attributes = {"query": q, "key": k, "value": v}, {"is_causal": mode in ("positions", "window")}
    if mode == "mask":
        operands["attention_mask"] = samples(3, 1, 4, 6, seed=3)
        scores = scores + operands["attention_mask"][:, 0].double().numpy() * 0.3
    if attributes["is_causal"]:
        operands["cur_pos_tensor"] = torch.tensor([0, 3, 5], dtype=torch.int32)
        distance = np.array([0, 3, 5])[:, None, None] - np.arange(6)
        width = 2 if mode == "window" else 6
        attributes |= {"sliding_window_size": 2} if mode == "window" else {}
        scores = np.where((distance < 0) | (distance >= width), -np.inf, scores)
    powers = np.exp(scores)
    exact = np.einsum("bhk,bhkd->bhd", powers / powers.sum(-1, keepdims=True), values)[None]
    result = run_op("ttnn.scaled_dot_product_attention_decode", operands, q.shape, "f32", scale=0.3, **attributes)
    assert_close(result, exact)


def test_weights_of_attention_are_those_of_the_chips_exponential():
    distances = -torch.arange(32 * 64).reshape(64, 32).float().div(128).to(torch.bfloat16)
    distances[:, 0] = 0  # the largest score of each row
    weights, _ = streaming.softmax(distances, 1.0)
    exact = sfpu.stored(functions.fast_exponential(distances.float()), wide=False).clamp(min=0)
    assert torch.equal(weights.float(), exact)


@pytest.mark.parametrize(("keys", "kv_heads", "mode"), [(64, 4, "plain"), (100, 2, "causal"), (41, 2, "mask")])
def test_attention_of_bfloat16_is_near_the_chips(run_op, keys, kv_heads, mode):
    rows = keys if mode == "causal" else 33
    shapes = [(2, 4, rows, 64), (2, kv_heads, keys, 64), (2, kv_heads, keys, 64)]
    q, k, v = (samples(*shape, seed=seed).to(torch.bfloat16) for seed, shape in enumerate(shapes))
    operands = {"query": q, "key": k, "value": v}
    if mode == "mask":
        operands["attention_mask"] = samples(2, 1, rows, keys, seed=3).to(torch.bfloat16)
    attributes = {"is_causal": mode == "causal", "scale": 0.125}
    near, exact = (
        run_op("ttnn.scaled_dot_product_attention", operands, q.shape, numerics=numerics, **attributes).double()
        for numerics in ("silicon", "bit_exact")
    )
    error = ((near - exact).norm() / exact.norm()).item()
    exponential = F.scaled_dot_product_attention(
        *(tensor.double() for tensor in (q, k, v)),
        operands["attention_mask"].double() if mode == "mask" else None,
        is_causal=mode == "causal",
        scale=0.125,
        enable_gqa=True,
    )
    assert error < 0.5 * ((exponential - exact).norm() / exact.norm()).item()


def test_attention_hides_keys_and_keeps_nan(run_op):
    q, k, v = (samples(1, 1, 40, 32, seed=seed).to(torch.bfloat16) for seed in range(3))
    mask = torch.zeros(1, 1, 40, 40, dtype=torch.bfloat16)
    mask[..., 0, :36] = -torch.inf
    mask[..., 1, :] = torch.finfo(torch.bfloat16).min
    mask[..., 2, :] = -torch.inf
    q[..., 3, 0] = torch.nan
    operands = {"query": q, "key": k, "value": v, "attention_mask": mask}
    result = run_op("ttnn.scaled_dot_product_attention", operands, q.shape, is_causal=False)[0, 0]
    assert torch.allclose(result[1], v[0, 0].float().mean(0).to(torch.bfloat16), atol=0.02)
    assert result.isnan().any(-1).nonzero().flatten().tolist() == [2, 3]
    seen = {"query": q[..., :1, :], "key": k[..., 36:, :], "value": v[..., 36:, :]}
    alone = run_op("ttnn.scaled_dot_product_attention", seen, (1, 1, 1, 32), is_causal=False)
    assert torch.allclose(result[0], alone[0, 0, 0], rtol=0.02, atol=0.01)


def test_rotary_embedding(run_op):
    x, angles = samples(1, 2, 3, 8), samples(1, 1, 3, 8, seed=1)
    cosine, sine = angles.cos(), angles.sin()
    half = np.concatenate([-x.numpy()[..., 4:], x.numpy()[..., :4]], -1)
    operands = {"input": x, "cos_cache": cosine, "sin_cache": sine}
    assert_close(
        run_op("ttnn.rotary_embedding", operands, x.shape, "f32"), x.numpy() * cosine.numpy() + half * sine.numpy()
    )
    padded = run_op("ttnn.rotary_embedding", operands, (1, 2, 32, 8), "f32")
    assert torch.equal(padded[:, :, :3], run_op("ttnn.rotary_embedding", operands, x.shape, "f32"))
    row = run_op("ttnn.rotary_embedding", operands, x.shape, "f32", token_index=1)
    assert_close(row, x.numpy() * cosine.numpy()[..., 1:2, :] + half * sine.numpy()[..., 1:2, :])


def test_rotary_embedding_rounds_products_to_the_types_of_the_tables(run_op):
    x, angles = samples(1, 2, 3, 8), samples(1, 1, 3, 8, seed=1)
    cosine, sine = angles.cos().to(torch.bfloat16), angles.sin()
    half = torch.cat([-x[..., 4:], x[..., :4]], -1)
    result = run_op("ttnn.rotary_embedding", {"input": x, "cos_cache": cosine, "sin_cache": sine}, x.shape, "f32")
    assert torch.equal(result, (x * cosine.float()).to(torch.bfloat16).float() + half * sine)


@pytest.mark.parametrize("separate", [False, True])
def test_split_query_key_value(run_op, separate):
    q, k, v = samples(2, 3, 4 * 5), samples(2, 3, 2 * 5, seed=1), samples(2, 3, 2 * 5, seed=2)
    operands = {"input_tensor": torch.cat([q, k, v], -1)}
    if separate:
        operands = {"input_tensor": q, "kv_input_tensor": torch.cat([k, v], -1)}
    shapes = [(2, 4, 3, 5), (2, 2, 5, 3), (2, 2, 3, 5)]
    attributes = {"num_heads": 4, "num_kv_heads": 2, "transpose_key": True}
    query, key, value = run_op("ttnn.split_query_key_value_and_split_heads", operands, shapes, "f32", **attributes)
    assert torch.equal(query[:, 1], q[..., 5:10])
    assert torch.equal(key[:, 1], k[..., 5:].transpose(1, 2))
    assert torch.equal(value[:, 0], v[..., :5])
