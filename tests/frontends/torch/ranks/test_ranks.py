"""The process group ``tt``: what ranks receive, the bits of their sums, and what they are told when one goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.frontends.torch.ranks.launch import FOLDER, ended, run, start

COLLECTIVES = {
    "SUM": [[3, 6, 9]] * 2,
    "AVG": [[1.5, 3, 4.5]] * 2,
    "PRODUCT": [[2, 8, 18]] * 2,
    "MAX": [[2, 4, 6]] * 2,
    "MIN": [[1, 2, 3]] * 2,
    "BAND": [[0, 0, 2]] * 2,
    "BOR": [[3, 6, 7]] * 2,
    "BXOR": [[3, 6, 5]] * 2,
    "premultiplied": [[1.5, 3]] * 2,
    "reduce": [[1, 2], [3, 6]],
    "broadcast": [[2, 4]] * 2,
    "all_gather": [[[1], [2, 4]]] * 2,
    "all_gather_single": [[1, 2, 2, 4]] * 2,
    "gather": [[[1, 2], [2, 4]], []],
    "scatter": [[2, 4], [3, 5]],
    "reduce_scatter": [[3, 6], [30, 60]],
    "reduce_scatter_single": [[2, 4], [6, 8]],
    "all_to_all": [[0, 10, 11], [1, 2, 12]],
    "complex": [[2, 6]] * 2,
    "flags": [[False, True]] * 2,
    "nothing": [[0, 3]] * 2,
    "strided": [[[0, 0], [0, 0]], [[1, 3], [2, 4]]],
    "messages": [[[2, 4], [0, 0]], [[1, 2], [6, 7]]],
    "objects": [[{"rank": 0}, {"rank": 1}]] * 2,
    "async": [[True, True]] * 2,
    "functional": [[[3, 6], [1, 2, 2, 4], [3, 6]], [[3, 6], [1, 2, 2, 4], [9, 12]]],
    "compiled": [[7, 13]] * 2,
    "threads": [[[2, 4], True]] * 2,
    "backend": ["tt", "tt"],
    "in programs": [
        [
            *["all_reduce"] * 6,
            *("broadcast", "all_gather", "reduce_scatter", "reduce_scatter", "all_to_all", "all_gather", "broadcast"),
            *("all_reduce", "all_reduce", "all_gather", "reduce_scatter", "all_reduce"),
            *["all_reduce"] * 20,
        ]
    ]
    * 2,
}


def test_collectives(tmp_path):
    reports = run("collectives.py", tmp_path, TTXLA_NUMERICS="exact")
    for name, expected in COLLECTIVES.items():
        assert [report[name] for report in reports] == expected, name
    assert reports[0]["cpu"] == pytest.approx(2 + 3e-9, abs=1e-15)
    assert reports[1]["source"] == 0


def test_sums_have_the_bits_of_a_mesh_in_one_process(tmp_path):
    ranks = run("sums.py", tmp_path / "ranks", size=4, TTXLA_SYSTEM="n300-llmbox")
    assert ranks == run("sums.py", tmp_path / "mesh", "mesh", size=1, TTXLA_SYSTEM="n300-llmbox") * 4


def test_large_tensors_cross_in_shared_memory_between_ranks_of_one_machine(tmp_path):
    """One exchange each opens the memory for tensors of the CPU and of the device."""
    assert run("large.py", tmp_path, size=3, TTXLA_SYSTEM="n300-llmbox") == [[[[], 13], [[], 0], [[], 0]]] * 3


def test_compiled_graphs_exchange_within_their_programs(tmp_path):
    """Runs the script twice: the second time, the ranks find programs and graphs on disk."""
    cache = {"TTXLA_CACHE": str(tmp_path / "programs"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "graphs")}
    for number in range(2):
        first, second = run("compiled.py", tmp_path / str(number), **cache)
        on_host = ["_c10d_functional.all_to_all_single.default", "_c10d_functional.wait_tensor.default"]
        assert first.pop("partly on the host") == [[True] * 4, [*on_host, "aten.linalg_qr.default"]]
        assert second.pop("partly on the host") == [[True] * 4, []]
        reached = [report.pop("compilations") > 0 for report in (first, second)]
        assert reached == [number == 0] * 2
        for report, place in ((first, ""), (second, "At ")):
            kind, message = report.pop("refused")
            assert kind == "CollectiveError"
            assert (
                "rank 0: all_reduce(max) of float32[64, 32]; rank 1: all_reduce(sum) of float32[64, 32]. " + place
            ) in message
            assert report == {
                "every kind": [[True] * 16, []],
                "exchanges": [
                    *["all_reduce"] * 8,
                    *("all_gather", "reduce_scatter", "all_to_all", "broadcast", "all_reduce"),
                    *("all_gather", "all_gather", "reduce_scatter", "reduce_scatter", "all_reduce", "all_reduce"),
                ],
                "ranks without a price": [1],
                "neither on the chip": [
                    [True, True],
                    ["_c10d_functional.all_reduce.default", "_c10d_functional.wait_tensor.default"],
                ],
                "DTensor": [[True, True], []],
                "backward": [[True] * 5, True],
                "eager on one rank": True,
            }


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("other op", "rank 0: broadcast(src=0) of float32[2, 2]; rank 1: all_reduce(sum) of float32[2, 2]"),
        ("other shape", "rank 0: all_reduce(sum) of float32[2]; rank 1: all_reduce(sum) of float32[2, 2]"),
        ("other part", "all_to_all: rank 0 sends 12 bytes to rank 0, which expects 4"),
        ("late", "did not come: rank 1 (its last one was number 1, barrier())"),
        ("late for a new timeout", "did not come: rank 1 (its last one was number 1, barrier())"),
        ("killed", "did not come: rank 1 (its last one was number 1, barrier())"),
        ("killed before a message", "Rank 0 waits for a message of rank 1, which has ended"),
    ],
)
def test_what_goes_wrong_is_said_with_the_rank(tmp_path, case, words):
    first = ended(start("failures.py", tmp_path, case), tmp_path)[0]
    kind, message, is_torch_error, seconds = first.report
    assert words in message
    assert (kind, is_torch_error) == ("CollectiveError", True)
    assert seconds < 10


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("unfit output", "rank 1 gives float32[2, 2], and its place among the outputs is float32[3]"),
        ("unfit part", "scatter: the input is float32[3] and the output float32[2]."),
        ("other dtype", "reduce_scatter_single: the input is float32[2, 2] and the output int32[1, 2]."),
    ],
)
def test_a_tensor_that_does_not_fit_is_refused_before_the_others_wait(tmp_path, case, words):
    second = ended(start("failures.py", tmp_path, case), tmp_path)[1]
    assert second.report[0] == "ValueError"
    assert words in second.report[1]
    assert second.report[-1] < 1


def test_torchrun_needs_a_chip_for_each_process(tmp_path):
    options = ["--standalone", "--nproc-per-node=2", str(FOLDER / "alone.py")]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *options],
        env=os.environ | {"TTXLA_SYSTEM": "n150"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "torchrun started 2 processes, each of which needs a chip, and the system has 1." in done.stderr


def test_every_way_of_spreading_a_model_has_the_losses_of_the_cpu(tmp_path):
    """Compares with the same script over gloo."""
    expected = run("parallel.py", tmp_path / "cpu", "cpu")
    found = run("parallel.py", tmp_path / "tt", "tt", TTXLA_NUMERICS="exact")
    for own, other in zip(found, expected, strict=True):
        assert own.keys() == other.keys()
        for way, values in own.items():
            assert _close(values, other[way]), way


def test_experts_on_four_ranks_have_the_losses_of_the_cpu(tmp_path):
    """Tokens cross by exchanges between different parts, eagerly by functional collectives and by c10d's, and compiled.

    The experts multiply in bfloat16 on both sides, as PyTorch's grouped products do on the CPU.
    """
    expected = run("experts.py", tmp_path / "cpu", "cpu", size=4)
    found = run("experts.py", tmp_path / "tt", "tt", size=4, TTXLA_SYSTEM="n300-llmbox", TTXLA_NUMERICS="exact")
    for own, other in zip(found, expected, strict=True):
        assert own.pop("exchanges")
        assert own.pop("priced")
        for way, losses in own.items():
            assert _close(losses, other[way]), way


def _close(one, other):
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_close, one, other))
    return one == pytest.approx(other, rel=1e-3, abs=1e-4)


def test_shards_draw_different_numbers_and_replicas_the_same(tmp_path):
    first, second = run("random_numbers.py", tmp_path)
    assert first == second
    assert len({number for row in first["halves"] for number in row}) == 8
    assert len({number for row in first["weight"] for number in row}) == 16
    assert first["again"] == first["halves"]
    assert 0.45 < first["dropped"] < 0.55
