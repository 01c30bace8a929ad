"""Tests of block floats and bfloat16 against TT-NN's own packing and against the definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.runtime.emulator import block_floats, library
from tt_xla.runtime.emulator import formats as packing
from tt_xla.runtime.emulator.formats import MAGNITUDE_BITS, quantize
from tt_xla.runtime.emulator.fused.build import compiler

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parents[1] / "data" / "block_floats.npz"
KINDS = ("normal", "wide", "rowscale", "sparse", "ties", "big", "tiny", "ramp", "special")

floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
blocks = st.lists(floats, min_size=1, max_size=40).map(lambda values: torch.tensor(values, dtype=torch.float32))
formats = st.sampled_from(sorted(MAGNITUDE_BITS))


@pytest.fixture(scope="module", params=["C++", "torch"], autouse=True)
def way(request):
    """Rounds by C++, or without it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "torch":
            patch.setattr(block_floats, "packed", lambda *_: None)
        elif compiler() is None:
            pytest.skip("needs a C++ compiler")
        else:
            assert library.library() is not None
        yield request.param


@pytest.mark.parametrize("dtype", ["bfp_bf8", "bfp_bf4", "bf16"])
@pytest.mark.parametrize("kind", KINDS)
def test_bit_identical_to_tt_nn(kind, dtype):
    with np.load(GOLDEN) as golden:
        assert {name.split("/")[0] for name in golden.files} == set(KINDS)
        values = golden[f"{kind}/in"]
        upper_halves = golden[f"{kind}/{ {'bfp_bf8': 'bfp8_b', 'bfp_bf4': 'bfp4_b'}.get(dtype, dtype) }"]
    expected = (upper_halves.astype(np.uint32) << 16).view(np.float32)
    ours = quantize(values, dtype).numpy()
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(ours), nan)
    assert np.array_equal(ours.view(np.int32)[~nan], expected.view(np.int32)[~nan])


def reference(values: list[float], bits: int) -> list[float]:
    """Packs one block of finite values in exact arithmetic, as the definition says."""
    normal = [value if abs(value) >= 2.0**-126 else 0.0 for value in values]
    largest = max(abs(value) for value in normal)
    if largest == 0:
        return [0.0] * len(values)
    exponent = int(np.frexp(largest)[1]) - 1
    # Alignment to the shared exponent leaves 24 bits; lower bits are lost before rounding.
    unit, grain = 2.0 ** (exponent - bits + 1), 2.0 ** (exponent - 23)
    packed = []
    for value in normal:
        aligned = int(abs(value) / grain) * grain
        magnitude = min(round(aligned / unit), 2**bits - 1) * unit
        packed.append(-magnitude if value < 0 and magnitude else magnitude)
    return packed


@given(blocks, formats)
def test_follows_the_definition(values, dtype):
    bits = MAGNITUDE_BITS[dtype]
    rows = values.tolist()
    expected = [value for start in range(0, len(rows), 16) for value in reference(rows[start : start + 16], bits)]
    assert quantize(values, dtype).tolist() == expected


@given(blocks, formats)
def test_a_packed_value_packs_to_itself(values, dtype):
    once = quantize(values, dtype)
    assert torch.equal(quantize(once, dtype), once)


@given(blocks, formats)
def test_bfloat16_holds_block_floats(values, dtype):
    packed = quantize(values, dtype)
    assert torch.equal(packed.to(torch.bfloat16).to(torch.float32), packed)


@pytest.mark.parametrize("shape", [(), (1,), (17,), (3, 40), (2, 3, 5), (2, 2, 2, 33), (0, 4)])
def test_any_rank_in_blocks_of_the_last_dimension(shape):
    values = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    rows = values.reshape(-1, shape[-1] if shape else 1)
    expected = [quantize(row, "bfp_bf8") for row in rows]
    packed = quantize(values, "bfp_bf8")
    assert packed.shape == values.shape
    for packed_row, expected_row in zip(packed.reshape(rows.shape), expected, strict=True):
        assert torch.equal(packed_row, expected_row)


def test_keeps_strides_and_packs_along_the_logical_last_dimension():
    values = torch.randn(32, 48, generator=torch.Generator().manual_seed(1))
    packed = quantize(values.T, "bfp_bf8")
    assert packed.stride() == values.T.stride()
    assert torch.equal(packed, quantize(values.T.contiguous(), "bfp_bf8"))


def test_large_tensors_in_pieces():
    values = torch.randn(1 << 16, 32, generator=torch.Generator().manual_seed(1))
    packed = quantize(values, "bfp_bf4")
    assert torch.equal(packed[-3:], quantize(values[-3:], "bfp_bf4"))
    assert torch.equal(packed[40000:40003], quantize(values[40000:40003], "bfp_bf4"))


def test_an_unknown_format():
    with pytest.raises(ValueError, match="'fp8'"):
        quantize(torch.zeros(1), "fp8")


@pytest.mark.parametrize("dtype", sorted(MAGNITUDE_BITS))
@pytest.mark.parametrize("kind", ["any bits", "one magnitude", "ties", "zeros"])
def test_both_ways_have_the_bits_of_the_definition(kind, dtype, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    blocks = torch.randint(-(2**31), 2**31, (4000, 16), generator=generator).to(torch.int32).view(torch.float32)
    if kind == "one magnitude":
        blocks = torch.randn(4000, 16, generator=generator) * 2.0 ** torch.randint(
            -20, 20, (4000, 16), generator=generator
        )
    elif kind == "ties":
        halves = torch.randint(-300, 300, (4000, 16), generator=generator) / 2
        blocks = halves * 2.0 ** torch.randint(-130, 118, (4000, 1), generator=generator)
    elif kind == "zeros":
        blocks[:, ::3] = -0.0
        blocks[::2] = 0.0
    expected = packing.pack_by_bits(blocks, MAGNITUDE_BITS[dtype])
    assert torch.equal(quantize(blocks, dtype).view(torch.int32), expected.view(torch.int32))
    narrow = blocks.to(torch.bfloat16)
    expected = packing.pack_by_bits(narrow.to(torch.float32), MAGNITUDE_BITS[dtype])
    packed = quantize(narrow, dtype, torch.bfloat16)
    assert packed.dtype is torch.bfloat16
    assert torch.equal(packed.isnan(), expected.isnan())
    kept, expected = packed.float()[~packed.isnan()], expected[~expected.isnan()]
    assert torch.equal(kept.view(torch.int32), expected.view(torch.int32))
    if kind != "any bits":
        return
    finite = blocks[blocks.abs().amax(1) < torch.inf].clamp(-1e30, 1e30)
    monkeypatch.setattr(packing, "pack_by_bits", lambda *args: pytest.fail("ordinary numbers took the slow way"))
    packing.pack_by_scaling(finite + torch.ones(16), MAGNITUDE_BITS[dtype])


@pytest.mark.parametrize("dtype", sorted(MAGNITUDE_BITS))
@pytest.mark.parametrize("container", [torch.float32, torch.bfloat16])
def test_the_sign_of_nan_is_kept_in_each_place(dtype, container):
    """torch's own conversion to bfloat16 keeps it for some elements of a tensor and not for others."""
    signs = torch.tensor([1.0, -1.0]).repeat(24)
    values = torch.full((48,), torch.nan).copysign(signs)
    packed = quantize(values, dtype, container)
    assert packed.isnan().all()
    assert torch.equal(packed.signbit(), signs < 0)
