"""Predicts the device time of a script's steps without computing anything: ``tt-xla bench --predict-only``.

Programs are compiled and their runs return zeros, so weights need no memory: a model of any size is made under
``torch.device("meta")`` and moved by ``model.to_empty(device="tt")``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tt_xla.errors import EmptyRecordingError
from tt_xla.ir.program import Program, Role
from tt_xla.profiling.recording import StopScript
from tt_xla.profiling.scripts import check_exists, run_script
from tt_xla.runtime.compiled_only import nothing_computed
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.observation import RUNS


@dataclass
class PredictedProgram:
    """A program of a script, and how often the script ran it."""

    program: Program
    runs: int = 0

    @property
    def device_us(self) -> float:
        """Predicted device time of a run in microseconds."""
        return self.program.predicted_device_us

    @property
    def weight_bytes(self) -> int:
        """Bytes of its parameters and constants, as the script declares them; of one chip's shards."""
        weights = [argument for argument in self.program.arguments if argument.role is not Role.INPUT]
        return sum(math.prod(weight.shape) * DECLARED[weight.dtype].itemsize for weight in weights)

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures for JSON."""
        return {
            "name": self.program.name,
            "target": self.program.target,
            "runs": self.runs,
            "device_us": self.device_us,
            "weight_bytes": self.weight_bytes,
        }


@dataclass
class Prediction:
    """The runs of a script."""

    programs: list[PredictedProgram] = field(default_factory=list)
    """The programs in the order of their first runs."""
    order: list[int] = field(default_factory=list)
    """Positions in ``programs`` of all runs, in order."""
    error: str = ""
    """The error that ended the script early; empty if none did."""

    @property
    def longest_program(self) -> int:
        """Position of the program that takes most of the device's time. A step begins with each of its runs."""
        return max(
            range(len(self.programs)),
            key=lambda position: self.programs[position].runs * self.programs[position].device_us,
        )

    @property
    def step_us(self) -> float:
        """Predicted device time of the last complete step, in microseconds; of all runs if there is none."""
        starts = [place for place, position in enumerate(self.order) if position == self.longest_program]
        step = self.order[starts[-2] : starts[-1]] if len(starts) > 1 else self.order
        return sum(self.programs[position].device_us for position in step)

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures for JSON."""
        programs = [program.as_dict() for program in self.programs]
        return {"step_us": self.step_us, "programs": programs, "partial": self.error}


def predict(script: str, arguments: Sequence[str], steps: int) -> Prediction:
    """Runs a script whose programs compute nothing, until the program that takes most time begins another step.

    Raises:
        OptionError: the script does not exist.
        EmptyRecordingError: the script ran no program.
    """
    check_exists(script)
    prediction, places, stopped = Prediction(), dict[int, int](), list[bool]()

    def ran(program: Program, _: Sequence[torch.Tensor]) -> None:
        place = places.setdefault(id(program), len(places))
        if place == len(prediction.programs):
            prediction.programs.append(PredictedProgram(program))
        prediction.programs[place].runs += 1
        prediction.order.append(place)
        if prediction.programs[place].runs > steps and place == prediction.longest_program:
            stopped.append(True)
            raise StopScript

    with nothing_computed(), RUNS.added(ran):
        prediction.error = run_script(script, arguments, stopped=lambda: bool(stopped))
    if not prediction.order:
        raise EmptyRecordingError(
            f"The script ran nothing on the device{f' ({prediction.error})' if prediction.error else ''}.",
            hint="Compile its model with backend='tt', or move its tensors to the device.",
        )
    return prediction
