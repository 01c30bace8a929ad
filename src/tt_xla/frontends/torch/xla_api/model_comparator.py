"""``torch_xla.debug.model_comparator``: saves tensors of two runs by name, and reports where they differ."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from pathlib import Path

import torch
import torch_xla.core.xla_model as _xm

from tt_xla.frontends.torch import session as _session


class _State:
    """State of the session.

    Attributes:
        folder: the folder of this run; None while tensors are not saved.
        step: the step of the last tensor.
        saved: number of tensors that were saved under each name in this step.
    """

    def __init__(self) -> None:
        self.folder: str | os.PathLike[str] | None = None
        self.step: int | None = None
        self.saved: Counter[str] = Counter()


def configure(save_dir: str | os.PathLike[str] | None) -> None:
    """Sets the folder that :func:`save` writes to; with None it writes nothing."""
    state = _session.current.part(_State)
    state.folder, state.step = save_dir, None
    state.saved.clear()


def save(name: str | None, tensor: torch.Tensor, step: int | None = None) -> torch.Tensor:
    """Saves a tensor in the run's folder, if there is one, and returns it.

    Args:
        name: name of the tensor; None for the file and line of the call.
        tensor: the tensor.
        step: number of the step. Tensors of a step have a folder of their own.
    """
    state = _session.current.part(_State)
    if state.folder is None:
        return tensor
    contents = tensor.detach().cpu()
    if _xm.is_master_ordinal():
        caller = traceback.extract_stack(limit=2)[0]
        name = f"{Path(caller.filename).name}.l{caller.lineno}" if name is None else name
        folder = Path(state.folder)
        if step is not None:
            folder /= f"step-{step}"
            folder.mkdir(parents=True, exist_ok=True)
            if step != state.step:
                state.step = step
                state.saved.clear()
        torch.save(contents, folder / f"{name}.{state.saved[name]}")
        state.saved[name] += 1
    return tensor


def compare_tensors(
    tensor1: torch.Tensor, tensor2: torch.Tensor, rtol: float = 1e-05, atol: float = 1e-08, max_diffs: int = 25
) -> str:
    """Returns the elements of two tensors that differ most, a line each; an empty string if they agree.

    Args:
        tensor1: a tensor.
        tensor2: another one.
        rtol: relative difference that elements may have.
        atol: absolute difference that they may have; they need to keep one of the two.
        max_diffs: number of lines at most.
    """
    if tensor1.shape != tensor2.shape:
        return f"Tensors have different shape: {list(tensor1.shape)} vs. {list(tensor2.shape)}\n"
    wide = torch.complex128 if tensor1.is_complex() else torch.float64
    one, other = tensor1.to(wide).flatten(), tensor2.to(wide).flatten()
    error = (one - other).abs()
    allowed = torch.maximum(one.abs(), other.abs()).mul(rtol).clamp(min=atol)
    differing = (~(error <= allowed) & ~(one.isnan() & other.isnan())).nonzero().flatten()
    order = differing[error[differing].argsort(descending=True, stable=True)][:max_diffs].tolist()
    values1, values2 = tensor1.flatten(), tensor2.flatten()
    lines = [
        f"{_position(tensor1.shape, number)}: {values1[number].item()} vs. {values2[number].item()}"
        f"\terror={error[number].item()}"
        for number in order
    ]
    if len(differing) > max_diffs:
        lines.append(f"... aborting after {max_diffs} differences")
    return "".join(f"{line}\n" for line in lines)


def _position(sizes: torch.Size, number: int) -> list[int]:
    """Returns the index of an element, by its number in the order of memory."""
    return [int(index) for index in torch.unravel_index(torch.tensor(number), sizes)]


def compare(
    save_dir1: str | os.PathLike[str],
    save_dir2: str | os.PathLike[str],
    rtol: float = 1e-05,
    atol: float = 1e-08,
    max_diffs: int = 25,
) -> str:
    """Returns how the tensors in two folders differ; an empty string if they agree.

    Args:
        save_dir1: folder of a run.
        save_dir2: folder of another one.
        rtol: see :func:`compare_tensors`.
        atol: see :func:`compare_tensors`.
        max_diffs: number of lines for a tensor at most.
    """
    folders = Path(save_dir1), Path(save_dir2)
    names = [{str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} for folder in folders]
    report = ""
    for name in sorted(names[0] & names[1]):
        one, other = (torch.load(folder / name) for folder in folders)
        differences = compare_tensors(one, other, rtol, atol, max_diffs)
        if differences:
            report += f"Changes in saved tensor {name!r}\n" + "".join(
                f"  {line}\n" for line in differences.splitlines()
            )
    report += "".join(f"Mismatch: {name} not in {save_dir2}\n" for name in sorted(names[0] - names[1]))
    return report + "".join(f"Mismatch: {name} not in {save_dir1}\n" for name in sorted(names[1] - names[0]))
