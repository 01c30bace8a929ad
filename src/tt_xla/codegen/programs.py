"""Programs of a generated model, between which the host runs torch code: they take and give torch tensors."""

import importlib.util
import sys
from pathlib import Path

import numpy
import torch
from utils import array_of, pcc

FOLDER = Path(__file__).resolve().parent


class Program:
    """The program in a folder beside this file. Its weights stay on the device.

    Args:
        dtypes: of its results, as torch has them.
    """

    def __init__(self, name, device, dtypes):
        self.device, self.dtypes = device, dtypes
        self.given = {}
        modules = [
            _module(name, helper) for helper in ("utils", "host_ops") if (FOLDER / name / f"{helper}.py").exists()
        ]
        self.stored, modules[0].stored = modules[0].stored, self.argument
        self.main = _module(name, "main")
        self.weights = self.main.load_weights(device)
        if hasattr(self.main, "const_eval"):
            self.main.const_eval(device, self.weights)

    def argument(self, name):
        """An argument as an array: one of the call, or the one that is stored."""
        return self.given[name] if name in self.given else self.stored(name)

    def __call__(self, **given):
        """Results for arguments by the names that they have in ``tensors/`` of the program."""
        self.given = {name: _array(tensor) for name, tensor in given.items()}
        results = self.main.forward(self.device, self.weights, *self.main.load_inputs(self.device))
        return [_tensor(result, dtype) for result, dtype in zip(results, self.dtypes, strict=True)]


def _module(folder, name):
    """A module of a program, which finds those that were loaded before it by their names."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / folder / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _array(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).contiguous().numpy()


def _tensor(result, dtype):
    found = torch.from_numpy(numpy.array(array_of(result)))
    return found.ne(0) if dtype is torch.bool else found.to(dtype)


def load(name):
    """A stored tensor."""
    file = FOLDER / "tensors" / f"{name}.pt"
    if not file.exists():
        raise SystemExit(f"{file} is missing: generate the model again with export_tensors on.")
    return torch.load(file, map_location="cpu", weights_only=True)


def show(results):
    """Prints each result, and its correlation with the stored expectation where there is one."""
    for index, result in enumerate(results):
        if not isinstance(result, torch.Tensor):
            print(f"result {index}: {result}")
            continue
        print(f"result {index}: {list(result.shape)} {result.dtype}")
        print(result)
        if (FOLDER / "tensors" / f"expected{index}.pt").exists():
            found = pcc(*(_array(_as_real(tensor)) for tensor in (result, load(f"expected{index}"))))
            print(f"PCC against tensors/expected{index}: {found:.6f}")


def _as_real(tensor):
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
