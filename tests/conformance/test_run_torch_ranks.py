"""The runner of PyTorch's tests of torch.distributed compares gloo and ``tt`` correctly over a small suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.run_torch_ranks import BORROWED, Suite, adapted, load, mistakes, table

CASES = """
import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcessTestCase, requires_nccl, skip_if_lt_x_gpu

class Cases(MultiProcessTestCase):
    world_size = 2

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def begin(self):
        dist.init_process_group(
            "nccl", rank=self.rank, world_size=self.world_size, init_method=f"file://{self.file_name}"
        )
        return torch.ones(2).cuda()

    @requires_nccl()
    @skip_if_lt_x_gpu(2)
    def test_sums(self):
        ones = self.begin()
        dist.all_reduce(ones)
        self.assertEqual(ones.device.type, "cuda")
        self.assertEqual(ones.cpu().tolist(), [2, 2])

    def test_passes_with_gloo_alone(self):
        self.assertTrue(self.begin().is_cpu)

    def test_is_known_to_pass_with_gloo_alone(self):
        self.assertTrue(self.begin().is_cpu)

    def test_is_known_to_fail_and_passes(self):
        pass

    def test_fails(self):
        self.assertEqual(1, 2)
"""

DECLARED = """
files = ["tensor/test_cases.py"]

[[known_failures]]
reason = "wants the CPU"
tests = ["tensor/test_cases.py::*::test_is_known*"]
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    folder = tmp_path_factory.mktemp("ranks")
    path = folder / "checkout" / "test" / "distributed" / "tensor" / "test_cases.py"
    path.parent.mkdir(parents=True)
    path.write_text(CASES)
    declared = folder / "declared.toml"
    declared.write_text(DECLARED)
    found = load(folder / "checkout", folder / "work", 60, declared)
    for device in ("cpu", "tt"):
        found.run_file("tensor/test_cases.py", device)
    return found


@pytest.mark.nightly
def test_what_passes_with_gloo_is_run_with_tt(suite: Suite) -> None:
    of_gloo, of_tt = (suite.outcomes("tensor/test_cases.py", device) for device in ("cpu", "tt"))
    names = ["test_fails", "test_is_known_to_fail_and_passes", "test_is_known_to_pass_with_gloo_alone"]
    names += ["test_passes_with_gloo_alone", "test_sums"]
    assert {name.removeprefix("Cases::"): record["outcome"] for name, record in of_gloo.items()} == dict(
        zip(names, ["failed", "passed", "passed", "passed", "passed"], strict=True)
    )
    assert {name.removeprefix("Cases::"): record["outcome"] for name, record in of_tt.items()} == dict(
        zip(names[1:], ["passed", "failed", "failed", "passed"], strict=True)
    )


@pytest.mark.nightly
def test_declarations_are_checked(suite: Suite) -> None:
    wrong = [line.partition("::")[2] for line in mistakes(suite, "tensor/test_cases.py")]
    assert len(wrong) == 2
    assert wrong[0].startswith("Cases::test_is_known_to_fail_and_passes: passed, declared: wants the CPU")
    assert wrong[1].startswith("Cases::test_passes_with_gloo_alone: failed, declared: None")


@pytest.mark.nightly
def test_table(suite: Suite) -> None:
    lines = table(suite, ["tensor/test_cases.py"]).splitlines()
    assert "| `tensor/test_cases.py` | 5 | 4 | 4 | 2 | 50.0 % |" in lines
    assert "| wants the CPU | 1 |" in lines


@pytest.mark.nightly
def test_failures_are_run_again(suite: Suite) -> None:
    suite.forget_failures("tensor/test_cases.py")
    assert [*suite.outcomes("tensor/test_cases.py", "tt")] == suite.passing("tensor/test_cases.py", "tt")


def test_what_tests_import_from_beside_their_folder_is_copied(tmp_path: Path) -> None:
    tests = tmp_path / "checkout" / "test"
    for name in ("distributed/test_one.py", BORROWED):
        (tests / name).parent.mkdir(parents=True)
        (tests / name).write_text("")
    suite = Suite(tmp_path / "checkout", tmp_path / "work", ["test_one.py"])
    assert (suite.copy("tt").parent / BORROWED).exists()
    suite.run_file("test_one.py", "tt")  # no test has passed with gloo
    assert not suite.results("test_one.py", "tt").with_suffix(".log").exists()


def test_sources_name_the_device() -> None:
    source = 'x.cuda().to("cuda:0"); torch.cuda.synchronize(); init("nccl", dist.Backend.NCCL); y.is_cuda; "cudagraph"'
    expected = 'x.to("tt").to("tt:0"); torch.tt.synchronize(); init("tt", dist.Backend("tt")); y.is_tt; "cudagraph"'
    assert adapted(source, "tt") == expected
