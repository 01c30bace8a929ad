"""``torch.autocast("tt")`` follows PyTorch's policy for CUDA, op by op."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from tt_xla.frontends.torch.device.autocast import POLICY

HEADER = (Path(torch.__file__).parent / "include/ATen/autocast_mode.h").read_text()
LISTS = ("LOWER_PRECISION_FP", "FP32", "FP32_SET_OPT_DTYPE", "PROMOTE")
"""Lists of the header, in the order of the policy."""
WITHOUT_A_LIST = {"norm.Scalar", "norm.ScalarOpt_dim"}
"""Ops that PyTorch gives a dtype of float32 by another overload."""


def _of_pytorch(name):
    """Returns the ops of one of PyTorch's lists, which is a macro with a line for each op."""
    body = re.search(rf"#define AT_FORALL_{name}\(_\)((?:.*\\\n)*.*)", HEADER).group(1)
    return {".".join(filter(None, found)) for found in re.findall(r"_\((\w+)(?:, (\w+))?\)", body)}


@pytest.mark.parametrize(("name", "ops"), [*zip(LISTS, POLICY.values(), strict=False)])
def test_the_policy_is_that_of_pytorch(name, ops):
    assert {*ops} - WITHOUT_A_LIST == _of_pytorch(name)
    assert len({*ops}) == len(ops)


def test_a_loss_on_probabilities_is_refused():
    x = torch.rand(3).to("tt")
    with torch.autocast("tt"), pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits"):
        F.binary_cross_entropy(x, x)
    F.binary_cross_entropy(x, x)


X = torch.linspace(0.1, 0.9, 16).reshape(4, 4)
CELL = torch.nn.LSTMCell(4, 4)
CASES = {
    "binary_cross_entropy_with_logits": (lambda x: F.binary_cross_entropy_with_logits(x, x), torch.float32),
    "vdot": (lambda x: torch.vdot(x[0], x[1].float()), torch.float32),
    "vdot of one dtype": (lambda x: torch.vdot(x[0], x[1]), torch.bfloat16),
    "interpolate": (lambda x: F.interpolate(x[None, None], scale_factor=2), torch.float32),
    "rms_norm": (lambda x: F.rms_norm(x, (4,)), torch.float32),
    "einsum": (lambda x: torch.einsum("ij,jk->ik", x.float(), x.float()), torch.bfloat16),
    "vector norm": (lambda x: torch.linalg.vector_norm(x), torch.float32),
    "softmax in a dtype": (lambda x: torch.softmax(x, -1, dtype=torch.bfloat16), torch.bfloat16),
    "sum": (lambda x: x.sum(), torch.float32),
    "cat": (lambda x: torch.cat([x, x.float()]), torch.float32),
    "cell": (lambda x: _cell(x.float()), torch.bfloat16),
}


def _cell(x):
    return CELL.to("tt")(x)[0]


@pytest.mark.parametrize("case", CASES)
def test_dtypes_of_results(case):
    function, dtype = CASES[case]
    with torch.autocast("tt", torch.bfloat16), torch.no_grad():
        result = function(X.bfloat16().to("tt"))
    assert result.dtype is dtype
    assert torch.isfinite(result).all()


def test_compiled_losses_run_in_float32():
    with torch.autocast("tt", torch.bfloat16):
        function = torch.compile(CASES["binary_cross_entropy_with_logits"][0], backend="tt")
        assert function(X.bfloat16().to("tt")).dtype is torch.float32
