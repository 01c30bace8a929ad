"""The runner of pytorch/xla's tests judges a small suite of its form correctly."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.run_torch_xla import ONE_CHIP, SEVERAL_CHIPS, Run, count, table, unused
from conformance.torch_xla_suite import files_of_tests, load

CASES = """
import os
import sys
import unittest

MAIN = False

class Cases(unittest.TestCase):
    def test_passes(self):
        self.assertTrue(MAIN)
        self.assertEqual(os.environ["PJRT_DEVICE"], "TT")
        self.assertEqual(os.environ["XLA_USE_SPMD"], "1")

    def test_fails(self):
        self.assertEqual(1, 2)

    def test_only_one_subtest_fails(self):
        for number in range(2):
            with self.subTest(number):
                self.assertEqual(number, 0)

    def test_is_known_to_fail(self):
        raise NotImplementedError

    def test_is_known_to_fail_and_passes(self):
        pass

    def test_reads_hlo(self):
        raise AssertionError("a test that does not apply is not run")

    @unittest.skip("needs a TPU")
    def test_skips(self):
        raise AssertionError

    @unittest.expectedFailure
    def test_expects_to_fail(self):
        raise AssertionError

class NotPrepared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError("no device")

    def test(self):
        pass

if __name__ == "__main__":
    MAIN = True
    test = unittest.main()
    sys.exit(0 if test.result.wasSuccessful() else 1)
"""

CRASH = """
import os
import signal
import unittest

class Crashes(unittest.TestCase):
    def test_1(self):
        pass

    def test_2_dies(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def test_3_is_busy(self):
        while True:
            pass

    def test_4_waits_and_sees_no_signal(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGPROF])
        signal.sigwait([signal.SIGUSR1])

    def test_5(self):
        pass

if __name__ == "__main__":
    unittest.main()
"""

SEVERAL = """
import os
from .sizes import CHIPS

if __name__ == "__main__":
    assert CHIPS[os.environ["TTXLA_SYSTEM"]] > 1, "needs several chips"
"""

LAUNCHED = """
import os
import unittest

class Launched(unittest.TestCase):
    def test_sees_the_processes(self):
        self.assertEqual(os.environ["WORLD_SIZE"], {"n150": "1", "n300-llmbox": "2"}[os.environ["TTXLA_SYSTEM"]])

if __name__ == "__main__":
    unittest.main()
"""

WITHOUT_MODULE = """
import unittest

class Cases(unittest.TestCase):
    def test_the_rest_of_the_main_part_ran(self):
        self.assertEqual(PRECISION, "highest")

if __name__ == "__main__":
    import other_device as torch_jax
    other_device.enable()
    PRECISION = "highest"
    unittest.main()
"""

DECLARED = """
several_devices = ["several/*"]
torchrun = ["several/test_launched.py"]
modules = ["several/test_several.py", "several/test_mesh.py"]
stablehlo_export = ["test_crash.py"]

[[not_applicable]]
reason = "HLO text"
tests = ["test_cases.py::*hlo*", "test_tpu.py"]

[[not_applicable]]
reason = "needs several chips"
tests = ["several/test_mesh.py"]
systems = ["n150"]

[[known_failures]]
reason = "mended one day"
tests = ["test_cases.py::Cases.test_is_known*", "test_gone.py::*"]

[[known_failures]]
reason = "one chip"
tests = ["several/test_several.py"]
systems = ["n150"]

[environment."test_cases.py"]
XLA_USE_SPMD = "1"

[without_module]
"test_without.py" = "other_device"
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = tmp_path / "checkout" / "test"
    (folder / "several").mkdir(parents=True)
    (folder / "test_cases.py").write_text(CASES)
    (folder / "test_crash.py").write_text(CRASH)
    (folder / "test_tpu.py").write_text(CRASH)
    (folder / "test_broken.py").write_text(CRASH.replace("import os", "import no_such_module"))
    (folder / "test_helper.py").write_text("def helps(): pass\n")
    (folder / "several" / "test_several.py").write_text(SEVERAL)
    (folder / "several" / "test_mesh.py").write_text(SEVERAL)
    (folder / "several" / "test_launched.py").write_text(LAUNCHED)
    (folder / "several" / "sizes.py").write_text('CHIPS = {"n150": 1, "n300-llmbox": 8}')
    declared = tmp_path / "declared.toml"
    declared.write_text(DECLARED)
    return Run(tmp_path / "checkout", tmp_path / "work", load(declared), declared, seconds=1, wall_factor=1)


def failures(mistakes: list[str]) -> list[str]:
    return [line.partition("::")[2] for line in mistakes]


def test_files_without_a_main_part_and_without_cases_are_no_tests(run: Run) -> None:
    assert files_of_tests(run.checkout) == [
        "several/test_launched.py",
        "several/test_mesh.py",
        "several/test_several.py",
        "test_broken.py",
        "test_cases.py",
        "test_crash.py",
        "test_tpu.py",
    ]


def test_outcomes_are_those_of_the_cases(run: Run) -> None:
    run.run_file("test_cases.py", ONE_CHIP)
    counts, mistakes = count(run, "test_cases.py", [ONE_CHIP])
    assert (counts.tests, counts.not_applicable) == (9, 1)
    assert counts.outcomes[ONE_CHIP] == Counter({"passed": 2, "failed": 4, "skipped": 2})
    assert failures(mistakes) == [
        "Cases.test_fails failed: AssertionError: 1 != 2",
        "Cases.test_is_known_to_fail_and_passes passed, and is declared to fail",
        "Cases.test_only_one_subtest_fails failed: AssertionError: 1 != 0",
        "NotPrepared.test failed: ValueError: no device",
    ]


def test_tests_after_one_that_ends_the_process_are_run(run: Run) -> None:
    run.run_file("test_crash.py", ONE_CHIP)
    counts, mistakes = count(run, "test_crash.py", [ONE_CHIP])
    assert counts.outcomes[ONE_CHIP] == Counter({"passed": 2, "failed": 3})
    dies, busy, waits = failures(mistakes)
    assert dies.startswith("Crashes.test_2_dies failed: the process died with exit status -9")
    assert "took more than 1 s of processor time" in busy
    assert "took more than 1 s, and the process was ended" in waits


def test_a_file_that_cannot_be_loaded_fails_all_its_tests(run: Run) -> None:
    run.run_file("test_broken.py", ONE_CHIP)
    counts, mistakes = count(run, "test_broken.py", [ONE_CHIP])
    assert counts.outcomes[ONE_CHIP] == Counter({"failed": 5})
    assert all("No module named 'no_such_module'" in line for line in mistakes)


def test_a_script_is_one_test_on_each_system(run: Run) -> None:
    file = "several/test_several.py"
    for system in run.systems_of(file):
        run.run_file(file, system)
    counts, mistakes = count(run, file, [ONE_CHIP, SEVERAL_CHIPS])
    assert counts.outcomes == {ONE_CHIP: Counter(failed=1), SEVERAL_CHIPS: Counter(passed=1)}
    assert not mistakes
    assert table({file: counts}, run).splitlines()[2] == (
        "| `several/test_several.py` | 1 | 0 | 0 | 0 | 1 | 0.0 % | 0 | 1 | 0 | 100.0 % |"
    )


def test_what_does_not_apply_on_one_of_the_systems_is_skipped_there(run: Run) -> None:
    file = "several/test_mesh.py"
    for system in run.systems_of(file):
        run.run_file(file, system)
    counts, mistakes = count(run, file, [ONE_CHIP, SEVERAL_CHIPS])
    assert (counts.tests, counts.not_applicable) == (1, 0)
    assert counts.outcomes == {ONE_CHIP: Counter(skipped=1), SEVERAL_CHIPS: Counter(passed=1)}
    assert not mistakes


def test_torchrun_starts_a_process_or_two(run: Run) -> None:
    file = "several/test_launched.py"
    run = replace(run, seconds=60)
    for system in run.systems_of(file):
        run.run_file(file, system)
    counts, mistakes = count(run, file, [ONE_CHIP, SEVERAL_CHIPS])
    assert counts.outcomes == {ONE_CHIP: Counter(passed=1), SEVERAL_CHIPS: Counter(passed=1)}
    assert not mistakes


def test_only_what_has_no_result_is_run(run: Run) -> None:
    run.run_file("test_cases.py", ONE_CHIP)
    results = run.results("test_cases.py", ONE_CHIP)
    before = results.read_text()
    run.run_file("test_cases.py", ONE_CHIP)
    assert results.read_text() == before
    run.forget_failures(["test_cases.py"], [ONE_CHIP])
    assert len(run.records("test_cases.py", ONE_CHIP)) == 4
    run.run_file("test_cases.py", ONE_CHIP)
    assert len(run.records("test_cases.py", ONE_CHIP)) == 8


def test_cases_of_a_file_without_a_main_part_are_run(run: Run) -> None:
    (run.checkout / "test" / "test_plain.py").write_text(
        CASES.partition("if __name__")[0].replace("MAIN = False", "MAIN = 1")
    )
    run.run_file("test_plain.py", ONE_CHIP)
    counts, _ = count(run, "test_plain.py", [ONE_CHIP])
    assert counts.outcomes[ONE_CHIP] == Counter({"passed": 1, "failed": 6, "skipped": 2})


def test_a_main_part_runs_without_a_module(run: Run) -> None:
    (run.checkout / "test" / "test_without.py").write_text(WITHOUT_MODULE)
    run.run_file("test_without.py", ONE_CHIP)
    counts, mistakes = count(run, "test_without.py", [ONE_CHIP])
    assert (counts.outcomes[ONE_CHIP], mistakes) == (Counter(passed=1), [])


def test_tests_without_a_result_are_counted_apart(run: Run) -> None:
    run.run_file("test_cases.py", ONE_CHIP)
    results = run.results("test_cases.py", ONE_CHIP)
    results.write_text("".join(results.read_text().splitlines(keepends=True)[:-2]))
    counts, mistakes = count(run, "test_cases.py", [ONE_CHIP])
    assert counts.outcomes[ONE_CHIP]["without result"] == 2
    assert f"{ONE_CHIP} test_cases.py: 2 tests have no result" in mistakes
    assert table({"test_cases.py": counts}, run).endswith(
        "2 tests have no result on n150: the run was ended before them."
    )


def test_what_does_not_apply_is_not_run_and_a_glob_that_matches_nothing_is_named(run: Run) -> None:
    run.run_file("test_tpu.py", ONE_CHIP)
    assert not run.results("test_tpu.py", ONE_CHIP).exists()
    assert unused(run, files_of_tests(run.checkout)) == ["test_gone.py::*: the declaration matches no test"]
