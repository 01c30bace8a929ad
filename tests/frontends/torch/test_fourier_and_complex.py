"""Fourier transforms as matrix products, and complex tensors in programs, as inputs and as views."""

from __future__ import annotations

import pytest
import torch

from tt_xla.frontends.torch import host_ops


@pytest.fixture(autouse=True)
def fresh_counts():
    host_ops.reset()
    yield
    host_ops.reset()


def complex_numbers(*shape):
    return torch.randn(*shape, dtype=torch.complex64, generator=torch.Generator().manual_seed(sum(shape)))


X = torch.randn(2, 3, 12, generator=torch.Generator().manual_seed(1))
Z = complex_numbers(2, 3, 12)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, z, norm: torch.fft.fft(z, norm=norm),
        lambda x, z, norm: torch.fft.ifft(z, dim=1, norm=norm),
        lambda x, z, norm: torch.fft.fft2(x, norm=norm),
        lambda x, z, norm: torch.fft.rfft2(x, norm=norm),
        lambda x, z, norm: torch.fft.irfft(z, norm=norm),
        lambda x, z, norm: torch.fft.irfft2(z, (3, 11), norm=norm),
        lambda x, z, norm: torch.fft.ihfft(x, 7, norm=norm),
    ],
)
def test_transforms(check, function, norm):
    check(lambda x, z: function(x, z, norm), X, Z)


@pytest.mark.parametrize("size", [1, 13, 150, 400, 3 * 257])
def test_sizes(check, size):
    x = torch.randn(2, size, generator=torch.Generator().manual_seed(size))
    check(lambda x: (torch.fft.rfft(x), torch.fft.irfft(torch.fft.rfft(x), size)), x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", ["cpu", "tt"])
def test_a_size_with_a_large_prime_factor_runs_on_the_host(on_jax, device):
    x = torch.arange(521.0)
    got = torch.compile(lambda x: torch.fft.rfft(x * 2), backend="tt")(x.to(device)).cpu()
    torch.testing.assert_close(got, torch.fft.rfft(x * 2))
    assert host_ops.counts() == {"aten._fft_r2c.default": 1}


@pytest.mark.usefixtures("exact")
def test_stft_and_its_inverse_run_on_the_device():
    window = torch.hann_window(8)

    def function(x, window):
        spectrum = torch.stft(x, 8, 4, window=window, return_complex=True)
        return spectrum.abs(), torch.istft(spectrum * 2, 8, 4, window=window)

    x = torch.randn(1, 24, generator=torch.Generator().manual_seed(0))
    torch.compiler.reset()
    got = torch.compile(function, backend="tt")(x.to("tt"), window.to("tt"))
    for result, expected in zip(got, function(x, window), strict=True):
        torch.testing.assert_close(result.cpu(), expected, rtol=1e-4, atol=1e-4)
    assert host_ops.counts() == {}


def test_lengths_of_complex_numbers(check):
    check(lambda z: (z.abs(), torch.linalg.vector_norm(z, dim=-1), z.norm(1)), Z)


def test_the_variance_of_complex_numbers_runs_on_the_host(on_jax):
    got = torch.compile(lambda z: (z + 1).var(), backend="tt")(Z)
    torch.testing.assert_close(got, Z.var())
    assert host_ops.counts() == {"aten.var.correction": 1}


def views(z):
    return z.conj(), z.conj().imag, z.mT.conj()[0], (z @ z.mH).real


@pytest.mark.parametrize("device", ["cpu", "tt"])
@pytest.mark.usefixtures("on_jax")
def test_conjugate_and_negative_views_as_results_and_inputs(device):
    z = Z.to(device)
    for got, expected in zip(torch.compile(views, backend="tt")(z), views(Z), strict=True):
        torch.testing.assert_close(got.cpu().resolve_conj().resolve_neg(), expected.resolve_conj().resolve_neg())
    double = torch.compile(lambda x: x * 2, backend="tt")
    for view, expected in ((z.conj(), 2 * Z.conj()), (z.conj().imag, -2 * Z.imag), (z, 2 * Z)):
        torch.testing.assert_close(double(view).cpu(), expected)


@pytest.mark.usefixtures("exact")
def test_conjugate_and_negative_views_of_the_device():
    """Reads and writes go through the view; torch passes such views to some kernels unresolved."""
    z = Z.to("tt")
    for got, expected in zip(views(z), views(Z), strict=True):
        torch.testing.assert_close(got.cpu(), expected.resolve_conj().resolve_neg(), rtol=1e-4, atol=1e-4)
    assert z.conj()[0, 0, 0].item() == Z.conj()[0, 0, 0].item()
    for write in (lambda z: z.conj().copy_(Z.to(z.device)), lambda z: z.conj().imag.fill_(3)):
        got, expected = z.clone(), Z.clone()
        write(got), write(expected)
        torch.testing.assert_close(got.cpu(), expected)


@pytest.mark.parametrize("compiled", [False, True])
def test_nan_to_num_of_complex_numbers(compiled):
    def f(x):
        return torch.nan_to_num(x), torch.nan_to_num(x, 1.0, 2.0, 3.0), x.nan_to_num(posinf=5.0)

    x = torch.tensor([complex(torch.nan, 1), complex(torch.inf, -torch.inf), 1 + 2j])
    torch.compiler.reset()
    call = torch.compile(f, backend="tt") if compiled else f
    torch.testing.assert_close(call(x.to("tt")), f(x), check_device=False, rtol=0, atol=0)
