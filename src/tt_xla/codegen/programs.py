"""Loads the programs of a generated model that runs torch code between them; they take and return torch tensors."""

import importlib.util
import sys
from pathlib import Path

import numpy
import torch
from utils import array_of, pcc

FOLDER = Path(__file__).resolve().parent


class Program:
    """A program in a folder beside this file. Its weights stay on the device.

    Args:
        name: name of the folder.
        device: the device.
        dtypes: torch dtypes of the results.
    """

    def __init__(self, name, device, dtypes):
        self.device, self.dtypes = device, dtypes
        self.arguments = {}
        modules = [
            _module(name, helper) for helper in ("utils", "host_ops") if (FOLDER / name / f"{helper}.py").exists()
        ]
        self.stored, modules[0].stored = modules[0].stored, self.argument
        self.main = _module(name, "main")
        self.weights = self.main.load_weights(device)
        if hasattr(self.main, "const_eval"):
            self.main.const_eval(device, self.weights)

    def argument(self, name):
        """Returns an argument as an array: the one that the call passed, or else the stored one."""
        return self.arguments[name] if name in self.arguments else self.stored(name)

    def __call__(self, **arguments):
        """Runs the program. Arguments have their names in the program's folder ``tensors/``."""
        self.arguments = {name: _array(tensor) for name, tensor in arguments.items()}
        results = self.main.forward(self.device, self.weights, *self.main.load_inputs(self.device))
        if hasattr(self.main, "whole"):
            results = self.main.whole(self.device, results)
        return [_tensor(result, dtype) for result, dtype in zip(results, self.dtypes, strict=True)]


def _module(folder, name):
    """Loads a module of a program. It imports modules that were loaded before it by their plain names."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / folder / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _array(tensor):
    """Returns a tensor as a NumPy array, bfloat16 as float32."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).contiguous().numpy()


def _tensor(result, dtype):
    """Returns a result as a torch tensor."""
    tensor = torch.from_numpy(numpy.array(array_of(result)))
    return tensor.ne(0) if dtype is torch.bool else tensor.to(dtype)


def load(name):
    """Returns a stored tensor."""
    file = FOLDER / "tensors" / f"{name}.pt"
    if not file.exists():
        raise SystemExit(f"{file} is missing: generate the model again with export_tensors on.")
    return torch.load(file, map_location="cpu", weights_only=True)


def refuse_steps():
    """Ends the script if the command line has the ``--steps`` of a model that is one program."""
    if "--steps" in sys.argv:
        raise SystemExit("run: this model runs torch code between its programs and has no --steps.")


def show(results):
    """Prints each result, and its correlation with the expected result if one is stored."""
    for index, result in enumerate(results):
        if not isinstance(result, torch.Tensor):
            print(f"result {index}: {result}")
            continue
        print(f"result {index}: {list(result.shape)} {result.dtype}")
        print(result)
        if (FOLDER / "tensors" / f"expected{index}.pt").exists():
            actual, expected = (_array(_as_real(tensor)) for tensor in (result, load(f"expected{index}")))
            print(f"PCC against tensors/expected{index}: {pcc(actual, expected):.6f}")
            if numpy.array_equal(actual, expected, equal_nan=actual.dtype.kind == "f"):
                print(f"result {index} has all bits of tensors/expected{index}")


def _as_real(tensor):
    """Returns a complex tensor as pairs of real numbers; a real tensor is returned as it is."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
