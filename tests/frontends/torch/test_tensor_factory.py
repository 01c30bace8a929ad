"""The factory makes new tensors of the device for results of programs."""

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import tt_torch  # noqa: F401
from tt_xla.frontends.torch.device import TensorFactory, buffer_of

TYPES = [torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool, torch.complex64]


@pytest.mark.parametrize("dtype", [*TYPES, torch.float8_e4m3fn])
@pytest.mark.parametrize(("size", "stride"), [((2, 3), (3, 1)), ((3, 2), (1, 3)), ((), ()), ((0, 4), (4, 1))])
def test_a_tensor_is_what_was_asked_for(dtype, size, stride):
    host = torch.randint(2, size).to(dtype)
    tensor = TensorFactory(dtype, size, stride).lift(host)
    assert (tensor.device.type, tensor.dtype, tensor.shape, tensor.stride()) == ("tt", dtype, size, stride)
    assert tensor.untyped_storage().nbytes() == host.nbytes
    flat = tensor.cpu().as_strided((host.numel(),), (1,)) if host.numel() else tensor.cpu().reshape(0)
    assert torch.equal(flat.view(torch.uint8), host.reshape(-1).view(torch.uint8))


def test_tensors_outlive_their_mold():
    """PyTorch reads the deleter from a tensor's DLPack descriptor when the tensor dies. The descriptor outlives it."""
    tensors = [TensorFactory(torch.float32, (4,), (1,)).lift(torch.full((4,), float(i))) for i in range(500)]
    gc.collect()
    noise = [bytes([255]) * 72 for _ in range(5000)]
    assert [tensor[0].item() for tensor in tensors] == list(range(500))
    del tensors, noise
    gc.collect()


def test_threads_get_memory_of_their_own():
    factory, other_factory = TensorFactory(torch.float32, (4,), (1,)), TensorFactory(torch.int64, (2, 2), (2, 1))

    def make(i):
        return (factory if i % 2 else other_factory).lift(torch.zeros(4 if i % 2 else (2, 2)))

    with ThreadPoolExecutor(8) as pool:
        tensors = [*pool.map(make, range(4000))]
    assert len({tensor.data_ptr() for tensor in tensors}) == len({id(buffer_of(tensor)) for tensor in tensors}) == 4000
    assert all(tensor.shape == ((4,) if i % 2 else (2, 2)) for i, tensor in enumerate(tensors))
