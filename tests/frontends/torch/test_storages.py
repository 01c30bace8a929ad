"""Methods of storages on the device: they act on its bytes as on the CPU, or say what to do; none uses the address."""

from __future__ import annotations

import gc
import io
import pickle
from multiprocessing.reduction import ForkingPickler

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from tt_xla.frontends.torch.device.buffers import ADDRESSES
from tt_xla.frontends.torch.private import storages
from tt_xla.runtime import lifetimes

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")

CONVERSIONS = [
    *("bfloat16", "bool", "byte", "char", "complex_double", "complex_float", "double", "float", "half", "int", "long"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "short"),
]
SAME_AS_ON_THE_CPU = [
    *("__deepcopy__", "__getitem__", "__iter__", "__setitem__", "byteswap", "clone", "copy_", "cpu", "fill_", "new"),
    *("tolist", "type", *CONVERSIONS),
]


def _arguments(name):
    arguments = {
        "__deepcopy__": ({},),
        "__getitem__": (4,),
        "__setitem__": (4, 7),
        "byteswap": (torch.int16,),
        "copy_": (torch.arange(16, dtype=torch.uint8).untyped_storage(),),
        "fill_": (3,),
        "type": ("torch.ByteStorage",),
    }
    return arguments.get(name, ())


def _plain(value):
    if isinstance(value, torch.UntypedStorage | torch.TypedStorage):
        return value.tolist()
    return value if isinstance(value, int | list | type(None)) else [*value]


def test_every_member_is_known():
    """A method that a new version of PyTorch adds must be overridden, unless it never uses an address."""
    language = {"__doc__", "__init__", "__module__", "__new__", "__weakref__", "__annotations__"}
    members = {name for kind in torch.UntypedStorage.__mro__[:-1] for name in vars(kind)}
    assert members - vars(storages.UntypedStorage).keys() - storages.UNCHANGED - language == set()


@pytest.mark.parametrize("name", SAME_AS_ON_THE_CPU)
def test_methods_act_as_on_the_cpu(name):
    outcomes = []
    for device in ("cpu", "tt"):
        x = torch.arange(4.0).to(device)
        result = getattr(x.untyped_storage(), name)(*_arguments(name))
        outcomes.append((_plain(result), x.cpu().view(torch.uint8).tolist()))
    assert outcomes[0] == outcomes[1]


REFUSED = (
    "share_memory_",
    "_share_fd_cpu_",
    "_share_filename_cpu_",
    "_get_shared_fd",
    "__delitem__",
    "_swap_data_ptr_",
)


@pytest.mark.parametrize("name", REFUSED)
def test_methods_that_need_an_address_are_refused(name):
    with pytest.raises(RuntimeError, match="cpu"):
        getattr(torch.ones(2).to("tt").untyped_storage(), name)(0)


def test_a_slice_of_a_storage_is_refused():
    with pytest.raises(NotImplementedError, match=r"storage.cpu\(\)"):
        torch.ones(2).to("tt").untyped_storage()[0:2]


@pytest.mark.parametrize("sizes", [(24,), (8, 16), (0, 16), (0, 0, 32), (16,)])
def test_resized_storages_keep_what_fits(sizes):
    x = torch.arange(4.0).to("tt")
    storage, view = x.untyped_storage(), x[:2]
    smallest = 16
    for size in sizes:
        storage.resize_(size)
        smallest = min(smallest, size)
        assert (storage.nbytes(), view.untyped_storage().nbytes()) == (size, size)
    kept = torch.arange(4.0).view(torch.uint8)[:smallest]
    assert storage.tolist() == [*kept.tolist(), *[0] * (sizes[-1] - smallest)]


def test_a_released_storage_is_filled_again():
    weight = torch.nn.Parameter(torch.ones(4).to("tt"))
    weight.untyped_storage().resize_(0)
    weight.untyped_storage().resize_(16)
    with torch.no_grad():
        weight.copy_(torch.arange(4.0))
    (weight * 2).sum().backward()
    assert (weight.tolist(), weight.grad.tolist()) == ([0.0, 1.0, 2.0, 3.0], [2.0] * 4)


def test_shared_memory_is_not_promised():
    x = torch.ones(2).to("tt")
    assert not x.is_shared()
    with pytest.raises(RuntimeError, match="belong to one process"):
        x.share_memory_()
    with pytest.raises(RuntimeError, match=r"tensor.cpu\(\).share_memory_\(\)"):
        torch.nn.Linear(2, 2).to("tt").share_memory()


def _sent(value):
    return pickle.loads(ForkingPickler.dumps(value))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool])
def test_tensors_are_sent_to_other_processes(dtype):
    x = torch.arange(6).reshape(2, 3).to(dtype).to("tt")
    received = _sent(x.t())
    assert (received.device, received.stride()) == (x.device, (1, 3))
    assert torch.equal(received.cpu(), x.t().cpu())
    received.zero_()
    assert x.cpu().any()


def test_views_of_one_message_share_memory():
    x = torch.arange(4.0).to("tt")
    base, view = _sent((x, x[1:3]))
    view.add_(10)
    assert base.tolist() == [0.0, 11.0, 12.0, 3.0]


def test_empty_tensors_and_parameters_are_sent():
    empty, weight = _sent((torch.empty(0).to("tt"), torch.nn.Parameter(torch.ones(2).to("tt"))))
    assert (empty.device.type, empty.shape) == ("tt", (0,))
    assert isinstance(weight, torch.nn.Parameter)
    assert (weight.device.type, weight.requires_grad, weight.tolist()) == ("tt", True, [1.0, 1.0])


class OnDevice(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.full((2,), float(index)).to("tt")


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, if other tests have used it in this process
def test_workers_return_tensors():
    batches = [*DataLoader(OnDevice(), batch_size=2, num_workers=1, timeout=60)]
    assert [batch.device.type for batch in batches] == ["tt", "tt"]
    assert [batch[:, 0].tolist() for batch in batches] == [[0.0, 1.0], [2.0, 3.0]]


def test_files_and_text():
    file = io.BytesIO()
    torch.save(torch.arange(4.0).to("tt").untyped_storage(), file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert loaded.to(device="cpu").tolist() == torch.arange(4.0).untyped_storage().tolist()
    assert "tt:0" in repr(loaded)


def test_storages_are_pytorchs_to_everyone_else():
    storage, on_cpu = torch.ones(2).to("tt").untyped_storage(), torch.ones(2).untyped_storage()
    assert isinstance(storage, torch.UntypedStorage)
    assert [*map(torch.is_storage, (storage, on_cpu, torch.ones(2)))] == [True, True, False]
    assert (storage.type(), type(on_cpu)) == (on_cpu.type(), torch.UntypedStorage)
    assert type(type(storage)(8, device="cpu")) is type(type(storage)._new_shared(8)) is torch.UntypedStorage
    file = io.BytesIO()
    torch.save([storage], file)
    for place in ("tt", "cpu"):
        file.seek(0)
        (loaded,) = torch.load(file, map_location=place)
        assert (loaded.untyped().device.type, bytes(loaded.tolist())) == (place, bytes(on_cpu))


def test_a_storage_keeps_its_class_while_only_tensors_hold_it():
    x = torch.ones(2).to("tt")
    kind, view = type(x.untyped_storage()), x[1:]
    gc.collect()
    del x
    assert type(view.untyped_storage()) is kind is storages.UntypedStorage


def test_tensors_that_outlive_the_modules_end_quietly(monkeypatch):
    monkeypatch.setattr(lifetimes, "KEEPERS", None)  # as Python leaves a module at the end of a process
    buffer = torch.ones(2).to("tt").untyped_storage().tt_buffer
    buffer.__del__()


def test_addresses_of_storages_are_apart():
    """PyTorch takes storages whose addresses overlap for one."""
    starts = [(ADDRESSES.reserve(size), size) for size in (0, 1, 1 << 20, 63, 64, 65)]
    ends = [start + max(size, 1) for start, size in starts]
    assert all(end <= start for end, (start, _) in zip(ends, starts[1:], strict=False))
