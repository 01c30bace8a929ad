"""Precision files and override files for ``torch.compile`` and for the options of the process."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch_xla

from tt_xla.errors import OptionError
from tt_xla.frontends.torch.backend import compiled_programs

FILE = 'layers: {"0.weight": {weights: bfp_bf4, math_fidelity: lofi}, "2.weight": {fp32_dest_acc_en: false}}'


@pytest.fixture
def model() -> torch.nn.Module:
    torch._dynamo.reset()
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 32)).bfloat16().eval()


def layers() -> list[tuple[str, str, bool]]:
    """Returns weight format, fidelity and accumulation of each product of the last program."""
    (function, *_) = compiled_programs()[-1].functions
    steps = [step for step in function.body if step.op in ("ttnn.matmul", "ttnn.linear")]
    return [
        (
            str(function.values[step.operands["b"]].layout.dtype),
            str(step.attributes["compute_config"]["math_fidelity"]),
            step.attributes["compute_config"]["fp32_dest_acc_en"],
        )
        for step in steps
    ]


@pytest.mark.parametrize("for_process", [False, True])
def test_layers_of_a_model_have_the_precision_of_the_file(
    model: torch.nn.Module, tmp_path: Path, for_process: bool
) -> None:
    path = tmp_path / "precision.yaml"
    path.write_text(FILE)
    options = {"precision": str(path)}
    torch_xla.set_custom_compile_options(options if for_process else {})
    try:
        with torch.no_grad():
            torch.compile(model, backend="tt", options={} if for_process else options)(torch.ones(16, 64).bfloat16())
    finally:
        torch_xla.set_custom_compile_options({})
    assert layers() == [("bfp_bf4", "lofi", True), ("bf16", "hifi4", False)]


def test_a_file_of_another_model_is_refused(model: torch.nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "precision.yaml"
    path.write_text("layers: {encoder.weight: {weights: bfp_bf8}}")
    call = torch.compile(model, backend="tt", options={"precision": str(path)})
    with torch.no_grad(), pytest.raises(OptionError, match=r"layer 'encoder\.weight', which the program lacks"):
        call(torch.ones(16, 64).bfloat16())


def test_single_ops_of_a_model_have_the_choices_of_an_override_file(model: torch.nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "overrides.yaml"
    path.write_text('ops: {"linear*#0": {math_fidelity: lofi}}')
    with torch.no_grad():
        torch.compile(model, backend="tt", options={"overrides": str(path)})(torch.ones(16, 64).bfloat16())
    assert [fidelity for _, fidelity, _ in layers()] == ["lofi", "hifi4"]
