"""Steps, micro-steps and figures of recordings that are made by hand."""

from __future__ import annotations

import weakref
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from tt_xla.errors import EmptyRecordingError
from tt_xla.ir.program import Cost, FunctionKind, Instruction, Role
from tt_xla.profiling.bench import Bench, MicroSteps, Spread, measure
from tt_xla.profiling.bench_files import mark_steps, summary
from tt_xla.profiling.communication import AxisLine
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.micro_steps import MicroStep, find_micro_steps
from tt_xla.profiling.predicting import PredictedProgram, Prediction
from tt_xla.profiling.recording import LoadedProgram, Op, Recorder, Recording, Run, Signpost, StopScript
from tt_xla.profiling.steps import Enough, Step, find_steps, steady
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

N150 = load_target("n150")


def loaded(us: float, number: int = 0, *kinds: FunctionKind) -> LoadedProgram:
    functions = [SimpleNamespace(kind=kind) for kind in kinds]
    program = SimpleNamespace(predicted_device_us=us, functions=functions, name=f"program {number}")
    return LoadedProgram(number, cast("Any", program), N150)


def run(program: int, start: int, end: int, state: str = "warm", first: int = 0, last: int = 0) -> Run:
    return Run(program, state, start, end, first, last)


def recorded(*runs: Run, programs: int = 2, **fields: Any) -> Recording:
    return Recording(
        started=fields.pop("started", 0),
        programs=[loaded(10.0 + 5 * number, number) for number in range(programs)],
        runs=list(runs),
        **fields,
    )


def spans(recording: Recording) -> list[tuple[int, int]]:
    return [(step.start, step.end) for step in find_steps(recording)]


def test_steps_of_inference_are_runs_of_the_program_that_takes_most_time() -> None:
    # The second program takes 15 us in each of two runs, the first one 10 us in each of four.
    runs = [run(0, 10, 20), run(1, 20, 30), run(0, 40, 50), run(1, 60, 70), run(0, 80, 90), run(0, 100, 110)]
    assert spans(recorded(*runs)) == [(10, 40), (40, 80), (80, 100)]
    assert spans(recorded(*runs[:4])) == [(20, 60), (60, 70)]  # two runs: the second one ends the last step
    with pytest.raises(EmptyRecordingError, match="The script has no steps: it ran 2 programs, none of them in a loop"):
        find_steps(recorded(*runs[:2]))
    with pytest.raises(EmptyRecordingError, match=r"^The script ran nothing on the device"):
        find_steps(recorded())


def test_steps_of_training_end_with_the_optimizer() -> None:
    runs = [run(0, 10, 20), run(0, 40, 50), run(0, 80, 90)]
    assert spans(recorded(*runs, optimizer_steps=[30, 60, 95], ended=100)) == [(0, 30), (30, 60), (60, 95)]
    assert spans(recorded(*runs, optimizer_steps=[30], ended=100)) == [(10, 40), (40, 80)]
    # Lazy: the ops of a step run after the optimizer recorded its own.
    assert spans(recorded(*runs, optimizer_steps=[5, 35, 70], ended=100)) == [(0, 20), (20, 50), (50, 90)]
    # A last step that never ran is left out, and so is a run after the end of the recording.
    assert spans(recorded(*runs, optimizer_steps=[30, 60, 92, 95], ended=100)) == [(0, 30), (30, 60), (60, 92)]
    assert spans(recorded(*runs, optimizer_steps=[30, 60, 70], ended=80)) == [(0, 30), (30, 60)]
    assert spans(recorded(*runs, optimizer_steps=[30, 60, 70])) == [(0, 30), (30, 60), (60, 90)]


def compiled(*steps: tuple[int, int], ended: bool = True) -> list[Any]:
    return [SimpleNamespace(started=start, ended=end if ended else 0) for start, end in steps]


def test_steps_that_compile() -> None:
    runs = [run(0, 10, 20, "cold"), run(0, 40, 50), run(0, 60, 70), run(0, 80, 90), run(0, 95, 99)]
    steps = find_steps(recorded(*runs, compilations=compiled((60, 65))))
    assert [(step.name, step.compiles) for step in steps] == [
        ("step_compile", True),
        ("step_steady_1", False),
        ("step_compile", True),
        ("step_steady_3", False),
    ]
    assert [step.number for step in steady(steps)] == [3]
    assert [step.number for step in steady(steps[:3])] == [1]  # the last one compiles
    assert [step.compiles for step in find_steps(recorded(*runs, compilations=compiled((80, 85), ended=False)))] == [
        True,
        False,
        False,
        True,
    ]
    # A step that another one's compilation reaches into is not steady either, and tracing alone takes time too.
    prepared = recorded(*runs, compilations=compiled((70, 85)), preparations=[(45, 48)])
    assert [step.compiles for step in find_steps(prepared)] == [True, True, True, True]
    assert [step.compiles for step in find_steps(recorded(*runs, preparations=[(62, 64), (62, 66)]))] == [
        *(True, False, True, False)
    ]
    later = [Step(number, 0, 1, False) for number in range(4)]
    assert [step.number for step in steady(later, 2)] == [2, 3]
    assert len(steady(later, None)) == len(steady(later, 0)) == len(steady(later, 9)) == 4
    with pytest.raises(EmptyRecordingError, match="All 1 steps compiled programs, so none is steady"):
        steady(steps[:1])


def test_the_first_runs_of_a_traced_program_compile() -> None:
    recording = Recording(programs=[loaded(1.0, 0, FunctionKind.TRACE), loaded(1.0, 1, FunctionKind.FORWARD)])
    states = [
        recording.is_first(run(program, 0, 1, state)) for program in (0, 1) for state in ("cold", "warm", "captured")
    ]
    assert states == [True, True, False, True, False, False]


def test_enough_steps() -> None:
    runs = [run(0, 10 * number, 10 * number + 5, "cold" if number == 0 else "warm") for number in range(5)]
    # Of n + 1 runs the first is cold and the last one ends the step before it.
    assert [Enough(2)(recorded(*runs[:count])) for count in range(1, 6)] == [False, False, False, True, True]
    marks = [9, 19, 29, 39]
    assert not Enough(2)(recorded(*runs, optimizer_steps=marks[:2]))
    assert Enough(2)(recorded(*runs, optimizer_steps=marks[:3]))
    optimizer = torch.optim.SGD([torch.zeros(1)])
    held = weakref.WeakSet([optimizer])
    assert not Enough(2)(recorded(*runs, optimizers=held))
    assert not Enough(2)(recorded(*runs, optimizers=held, optimizer_steps=marks[:2]))
    del optimizer
    assert Enough(2)(recorded(*runs, optimizers=held))
    assert not Enough(2)(recorded(*[run(0, number, number, "cold") for number in range(5)], optimizer_steps=[1, 2, 3]))


def micro(recording: Recording, *steps: Step) -> list[MicroStep]:
    return find_micro_steps(recording, steps)


def test_micro_steps_of_compiled_passes() -> None:
    runs = [run(0, 10, 15), run(0, 22, 25), run(0, 40, 45), run(0, 52, 55)]
    step = Step(3, 0, 100, False)
    found = micro(recorded(*runs, backwards=[(20, 30), (50, 60)]), step)
    assert found == [
        MicroStep("step_steady_3_micro_1", 10, 30, 20),
        MicroStep("step_steady_3_micro_2", 40, 60, 50),
    ]
    assert micro(recorded(*runs, backwards=[(100, 110)]), step) == []
    # Without a run of the forward pass, the micro-step begins where the one before ended.
    assert micro(recorded(runs[1], backwards=[(20, 30)]), step)[0].start == 0
    # The optimizer's own run comes first: it is the work of the step before.
    later = Step(4, 31, 100, False)
    pending = recorded(*runs[:2], run(0, 35, 38), *runs[2:], backwards=[(20, 30), (50, 60)])
    assert [found.start for found in micro(pending, later)] == [40]
    ran = recorded(*runs[:2], run(0, 30, 31), run(0, 35, 38), *runs[2:], backwards=[(20, 30), (50, 60)])
    assert [found.start for found in micro(ran, later)] == [35]
    assert [found.start for found in micro(recorded(*pending.runs, backwards=[(50, 60)]), later)] == [35]


def test_micro_steps_that_one_run_holds() -> None:
    step = Step(0, 0, 100, True)
    runs = [run(0, 32, 38), run(0, 62, 68)]
    assert micro(recorded(*runs, backwards=[(20, 30), (50, 60)]), step) == [
        MicroStep("step_compile_micro_1", 0, 38, None),
        MicroStep("step_compile_micro_2", 38, 68, None),
    ]
    assert micro(recorded(run(0, 5, 9), *runs, backwards=[(20, 30)]), step) == [
        MicroStep("step_compile_micro_1", 9, 38, None)
    ]
    assert micro(recorded(run(0, 90, 100), backwards=[(20, 30)]), step) == []  # that run ends the step
    assert micro(recorded(run(0, 90, 99), backwards=[(20, 30)]), step)[0].end == 99
    assert micro(recorded(run(0, 50, 55), backwards=[(20, 30), (40, 45)]), step) == [
        MicroStep("step_compile_micro_1", 0, 55, None)
    ]


def test_signposts_of_steps() -> None:
    recording = recorded(run(0, 10, 15), run(0, 22, 25), backwards=[(20, 30)])
    mark_steps(recording, [Step(2, 0, 100, False)])
    assert recording.signposts == [
        Signpost("step_steady_2_start", "", 0),
        Signpost("step_steady_2_end", "", 99),
        Signpost("step_steady_2_micro_1_start", "", 10),
        Signpost("step_steady_2_micro_1_end", "", 29),
    ]


MS = 1_000_000


def op(number: int, name: str, us: float, program: LoadedProgram, identity: bytes = b"", **parts: float) -> Op:
    cost = Cost(total_us=us, cores=8, **parts)
    instruction = Instruction(f"ttnn.{name}", {}, (), {}, f"a.py:{number}", cost)
    return Op(number, program, "main", False, False, instruction, (), (), identity)


def two_steps() -> Recording:
    """Returns a recording whose steps 1 and 2 are steady and have an add, a transfer and an exchange each."""
    program = loaded(1.0)
    ops = [
        op(0, "exp", 400.0, program, b"a"),
        op(1, "exp", 100.0, program, b"a"),
        op(2, "to_device", 50.0, program),
        op(3, "all_gather", 200.0, program, b"b", link_us=200.0),
        op(4, "reshape", 20.0, program, b"c"),
    ]
    runs, events = [run(0, 0, MS, "cold")], []
    for step, start in enumerate((2 * MS, 4 * MS, 7 * MS)):
        first = len(events)
        for number in range(5 if step < 2 else 0):
            events.append((number, start + number * 100_000, start + number * 100_000 + 50_000))
        runs.append(run(0, start, start + 600_000, "warm", first, len(events)))
    return Recording(started=0, programs=[program], ops=ops, events=events, runs=runs)


def test_figures_of_steady_steps() -> None:
    bench = measure(two_steps())
    device, pcie = 0.72, 0.05
    assert (bench.system, bench.steps, bench.compile_steps, bench.compile_ms) == ("n150", 2, 1, 2.0)
    assert bench.measured_ms == Spread(2.5, 2.5, 2.0, 3.0)
    assert bench.host_ms == pytest.approx(2.5 - 0.25)
    gaps = 4 * N150.gap_us_untraced / 1e3
    assert (bench.device_ms, bench.gaps_ms) == (pytest.approx(device), pytest.approx(gaps))
    wall = 2.25 + device + gaps + pcie
    assert bench.wall_ms == Spread(*map(pytest.approx, (wall, wall, wall - 0.5, wall + 0.5)))
    assert bench.overhead_percent == pytest.approx(100 * (wall - device) / wall)
    assert (bench.op_count, bench.host_ops, bench.long_gaps) == (4, 0, 0)
    assert bench.dispatch_us == pytest.approx(1e3 * (wall - device) / 4)
    assert bench.communication_ms == pytest.approx(0.2)
    assert bench.links == (AxisLine("all", "", None, 1, 200.0),)
    assert bench.categories == {
        "Compute": pytest.approx(100 * 500 / 720),
        "TM": pytest.approx(100 * 20 / 720),
        "CCL": pytest.approx(100 * 200 / 720),
        "Other": 0.0,
    }
    assert (bench.matmul_utilisation, bench.micro_steps, bench.partial) == (None, None, "")
    shown = [(line.code, line.category, line.count, line.device_us, line.bound, line.source) for line in bench.ops]
    assert shown == [
        ("Unary ", "Compute", 2, 500.0, "", "a.py:0"),
        ("AllGather ", "CCL", 1, 200.0, "LINK", "a.py:3"),
        ("ReshapeView ", "TM", 1, 20.0, "", "a.py:4"),
    ]
    assert [line.share for line in bench.ops] == pytest.approx([100 * us / 720 for us in (500, 200, 20)])
    assert [line.code for line in bench.slow] == ["Unary ", "ReshapeView "]
    assert bench.verdict == "HOST-bound"
    assert bench.reasons == (
        f"overhead is {bench.overhead_percent:.0f} % of the wall-clock time, more than 70 %",
        f"an op costs the host {bench.dispatch_us:.1f} us; fewer ops (fusion, trace) or larger batches help",
    )
    assert measure(two_steps(), 1).measured_ms == Spread(3.0, 3.0, 3.0, 3.0)
    assert bench.card_ms == pytest.approx(device + gaps + pcie)
    assert bench.as_dict()["measured_ms"] == {"median": 2.5, "mean": 2.5, "min": 2.0, "max": 3.0}


def test_the_recorders_own_work_is_in_no_figure() -> None:
    recording = two_steps()
    recording.interruptions = [(1, 2), (4 * MS - 500_000, 4 * MS + 250_000), (5 * MS, 6 * MS)]
    bench = measure(recording)
    assert bench.measured_ms == Spread(*map(pytest.approx, (1.75, 1.75, 1.5, 2.0)))
    assert bench.host_ms == pytest.approx(1.75 - 0.25)
    assert [recording.interrupted_ns(5 * MS, end) for end in (5 * MS, 5 * MS + 7, 9 * MS)] == [0, 7, MS]
    # The device's clock stops too: the first op of the run waits for the script alone.
    recording.interruptions = [(3 * MS, 3 * MS + 300_000)]
    idle = [kernel.idle_ns for kernel in kernels(recording) if kernel.idle_ns]
    assert idle == [2 * MS - MS, 2 * MS - 600_000 - 300_000]
    recorder = Recorder(lambda recording: len(recording.interruptions) == 1)
    recorder.stop_if_enough()
    with pytest.raises(StopScript):
        recorder.stop_if_enough()
    assert len(recorder.recording.interruptions) == 2
    with pytest.raises(StopScript):  # whichever thread comes next ends too
        recorder.stop_if_enough()


def test_one_slow_step_does_not_change_the_figures() -> None:
    recording = two_steps()
    recording.runs += [run(0, start * MS, start * MS + 1) for start in (9, 109)]
    bench = measure(recording)
    assert bench.measured_ms == Spread(*map(pytest.approx, (2.5, 26.75, 2.0, 100.0)))


def test_a_step_that_the_device_bounds() -> None:
    recording = two_steps()
    for slow in recording.ops[:2]:
        slow.instruction = Instruction("ttnn.exp", {}, (), {}, "a.py:0", Cost(total_us=9000.0, cores=8))
    bench = measure(recording)
    assert bench.verdict == "DEVICE-bound"
    assert bench.reasons == ("ops of kind Compute take 99 % of device time",)


def test_long_gaps_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tt_xla.profiling.bench.LONG_GAP_US", 4.0)
    bench = measure(two_steps())
    assert bench.long_gaps == 3
    assert bench.reasons[1] == "3 of 4 ops start more than 4.0 us after the op before"
    monkeypatch.setattr("tt_xla.profiling.bench.LONG_GAP_US", 4.8)
    assert measure(two_steps()).long_gaps == 0


def test_steady_steps_without_an_op_are_refused() -> None:
    recording = two_steps()
    recording.events, recording.runs = [], [run._replace(first=0, last=0) for run in recording.runs]
    with pytest.raises(EmptyRecordingError, match="The steady steps run no op on the device; they only read earlier"):
        measure(recording)


def test_times_of_micro_steps() -> None:
    recording = two_steps()
    recording.backwards = [(4 * MS + 150_000, 4 * MS + 350_000)]
    assert measure(recording).micro_steps is None  # that pass runs no program of its own
    program = recording.runs[2]
    recording.runs[2:3] = [
        program._replace(end=4 * MS + 120_000, last=program.first + 2),
        program._replace(start=4 * MS + 200_000, first=program.first + 2),
    ]
    recording.optimizer_steps = [2 * MS, 4 * MS, 7 * MS]
    recording.ended = 8 * MS
    times = measure(recording).micro_steps
    assert times is not None
    assert times.per_step == 0.5
    gap = N150.gap_us_untraced / 1e3
    # 150 us of the host, of which two kernels are emulated in 100, with 500 us on the device and one gap between ops.
    assert times.forward_ms is not None
    assert times.forward_ms.mean == pytest.approx(0.05 + 0.5 + gap)
    assert times.backward_ms is not None
    assert times.wall_ms.mean == pytest.approx(times.forward_ms.mean + times.backward_ms.mean)


def figures(**changes: Any) -> Bench:
    spread = Spread(1.25, 1.5, 1.0, 2.0)
    values: dict[str, Any] = {
        **{"system": "n150", "steps": 3, "compile_steps": 2, "compile_ms": 9.0, "measured_ms": Spread(7, 8, 6, 9)},
        **{"wall_ms": spread, "host_ms": 0.4, "card_ms": 0.85, "device_ms": 0.75, "gaps_ms": 0.1},
        **{"overhead_percent": 50.04},
        **{"op_count": 7, "dispatch_us": 107.14, "host_ops": 0, "long_gaps": 0},
        **{"communication_ms": 0.3, "links": (), "matmul_utilisation": 12.34, "micro_steps": None, "reasons": ()},
        **{"categories": {"Compute": 60.4, "TM": 20.0, "CCL": 10.0, "Other": 9.6}, "verdict": "HOST-bound"},
        **{"ops": (), "slow": (), "runtime": "emulated", "partial": ""},
    }
    return Bench(**(values | changes))


def test_the_summary_of_a_benchmark() -> None:
    assert summary(figures()) == [
        ("time of a step on the chip, predicted", "0.850 ms"),
        ("ops / gaps between them, predicted", "0.750 / 0.100 ms"),
        ("chip and this machine's host work", "1.250 ms (mean 1.500, 1.000 to 2.000)"),
        ("overhead: all but ops", "50.0 %"),
        ("overhead an op", "107.1 us"),
        ("ops a step", "7"),
        ("compute / TM / CCL / other", "60 / 20 / 10 / 10 % of the ops' time"),
        ("matrix products", "12.3 % of peak FLOPs"),
        ("verdict", "HOST-bound"),
        ("measured here, with emulation", "7.000 ms (mean 8.000, 6.000 to 9.000)"),
        ("steady / compile steps", "3 / 2"),
    ]
    assert ("matrix products", "none in the step") in summary(figures(matmul_utilisation=None))
    spread = Spread(0.5, 0.5, 0.5, 0.5)
    both = summary(figures(micro_steps=MicroSteps(3.0, spread, spread, Spread(0.25, 0, 0, 0))))
    assert both[3:6] == [
        ("micro-steps a step", "3"),
        ("forward and backward, chip and host", "0.500 ms"),
        ("forward / backward", "0.500 / 0.250 ms"),
    ]
    one = summary(figures(micro_steps=MicroSteps(1.0, spread, None, None)))
    assert one[3:5] == [("forward and backward, chip and host", "0.500 ms"), ("overhead: all but ops", "50.0 %")]
    links = (AxisLine("x", "ring of 4 chips", (1, 2), 3, 250.0), AxisLine("all", "8 chips", None, 1, 50.0))
    assert summary(figures(links=links))[7:10] == [
        ("communication, predicted", "0.300 ms, 40.0 % of the ops' time"),
        ("axis x", "0.250 ms, ring of 4 chips, narrowest 1-2"),
        ("axis all", "0.050 ms, 8 chips"),
    ]
    assert ("communication, predicted", "0.300 ms, 0.0 % of the ops' time") in summary(
        figures(links=links, device_ms=0)
    )


def test_predictions_of_steps() -> None:
    def program(us: float, runs: int) -> PredictedProgram:
        arguments = [
            SimpleNamespace(role=Role.INPUT, shape=(100,), dtype="f32"),
            SimpleNamespace(role=Role.PARAMETER, shape=(2, 3), dtype="bf16"),
            SimpleNamespace(role=Role.CONSTANT, shape=(5,), dtype="f32"),
        ]
        made = SimpleNamespace(predicted_device_us=us, arguments=arguments, name=f"p{us:g}", target="n150")
        return PredictedProgram(cast("Any", made), runs)

    prediction = Prediction([program(10.0, 3), program(20.0, 2), program(1.0, 5)], [0, 1, 2, 0, 2, 2, 1, 2, 2, 0])
    assert prediction.longest_program == 1  # 40 us in all
    assert prediction.step_us == 20.0 + 1.0 + 10.0 + 1.0 + 1.0
    assert Prediction([program(10.0, 1), program(2.0, 1)], [0, 1]).step_us == 12.0
    assert Prediction([program(10.0, 1)], [0], "x").as_dict() == {
        "step_us": 10.0,
        "programs": [{"name": "p10", "target": "n150", "runs": 1, "device_us": 10.0, "weight_bytes": 32}],
        "partial": "x",
    }
