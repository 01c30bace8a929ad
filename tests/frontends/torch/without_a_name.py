"""Runs steps that need private names of PyTorch, and prints the result or the error of each, while one name is hidden.

    python without_a_name.py [MODULE NAME]

The name is hidden from ``tt_xla.frontends.torch.private.MODULE`` alone: PyTorch itself has it.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any

PRIVATE = "tt_xla.frontends.torch.private"


class Missing:
    """An attribute of a class that is not there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(
            f"type object {owner.__name__!r} has no attribute {self.name!r}", name=self.name, obj=owner
        )


class Hiding(importlib.abc.MetaPathFinder):
    """Hides a name from one module: from its import statements always, and as an attribute while it is imported."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self._import = builtins.__import__
        builtins.__import__ = self.imported

    def imported(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if globals and globals.get("__name__") == self.module:
            if name == self.name:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            for part in fromlist or ():
                if f"{name}.{part}" == self.name:
                    raise ImportError(f"cannot import name {part!r} from {name!r}", name=name)
        return self._import(name, globals, locals, fromlist, level)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        execute = spec.loader.exec_module
        spec.loader.exec_module = lambda module: self.executed(execute, module)
        return spec

    def executed(self, execute: Callable[[Any], None], module: Any) -> None:
        """Imports the module while its name is no attribute of its owner."""
        path, *parts, last = self.name.split(".")
        owner = importlib.import_module(path)
        for part in parts:
            path = f"{path}.{part}"
            try:
                owner = importlib.import_module(path)
            except ModuleNotFoundError:  # a class, or a module of C++
                owner = getattr(owner, part)
        value = vars(owner).get(last, getattr(owner, last))
        is_own = last in vars(owner)
        if isinstance(owner, type):
            setattr(owner, last, Missing(last))
        else:
            delattr(owner, last)
        try:
            execute(module)
        finally:
            if isinstance(owner, type):
                delattr(owner, last)
            if is_own:
                setattr(owner, last, value)


def device() -> Any:
    import torch

    import tt_torch  # noqa: F401

    x = torch.arange(4.0, device="tt", requires_grad=True)
    (x.sin() * x).sum().backward()
    return x.grad.tolist(), repr(x.detach())


def compiled() -> Any:
    import torch

    import tt_torch  # noqa: F401

    torch.manual_seed(0)
    layer = [torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.LayerNorm(4)]
    model = torch.nn.Sequential(*layer, *layer, *layer, *layer).eval().to("tt")
    with torch.no_grad():
        return torch.compile(model, backend="tt")(torch.ones(2, 4, device="tt")).tolist()


def artifacts() -> Any:
    import torch

    saved = torch.compiler.save_cache_artifacts()
    return saved is None or "tt_program" in repr(saved[1])


def chips() -> Any:
    import torch

    import tt_torch  # noqa: F401

    return str(torch.zeros(1, device="tt").device), torch.tt.current_device()


def replicas() -> Any:
    import torch_xla.distributed.xla_multiprocessing as xmp

    ordinals: list[int] = []
    xmp.spawn(ordinals.append)
    return sorted(ordinals)


def sharded() -> Any:
    import numpy
    import torch
    import torch_xla.distributed.spmd as xs

    mesh = xs.Mesh(numpy.arange(1), (1,), ("x",))
    return type(xs.mark_sharding(torch.ones(2, 2, device="tt"), mesh, ("x", None))).__name__


def ranks() -> Any:
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, rand

    import tt_torch  # noqa: F401

    dist.init_process_group("tt", store=dist.HashStore(), rank=0, world_size=1)
    try:
        torch.manual_seed(0)
        return rand(2, device_mesh=init_device_mesh("tt", (1,)), placements=[Shard(0)]).to_local().tolist()
    finally:
        dist.destroy_process_group()


def checkpoints() -> Any:
    import torch_xla.experimental.distributed_checkpoint as module

    return module.CheckpointManager.__name__


STEPS = (device, compiled, artifacts, chips, ranks, replicas, sharded, checkpoints)


def main() -> None:
    if len(sys.argv) > 1:
        sys.meta_path.insert(0, Hiding(f"{PRIVATE}.{sys.argv[1]}", sys.argv[2]))
    import torch

    print("import torch", torch.ones(2).tolist(), sep="\t")
    for step in STEPS:
        try:
            result = repr(step())
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        print(step.__name__, " ".join(result.split()), sep="\t")


if __name__ == "__main__":
    main()
