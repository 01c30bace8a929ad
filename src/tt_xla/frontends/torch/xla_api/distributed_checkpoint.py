"""``torch_xla.experimental.distributed_checkpoint``: checkpoints of models that chips share."""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as _wait
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import fsspec
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dist_cp
import torch_xla

from tt_xla.frontends.torch.device.marking import mark as _mark
from tt_xla.frontends.torch.device.marking import placement_of as _placement_of
from tt_xla.frontends.torch.private.checkpoints import FsspecReader, FsspecWriter
from tt_xla.frontends.torch.xla_api import preemption as _preemption
from tt_xla.frontends.torch.xla_api.checkpoint_planners import SPMDLoadPlanner, SPMDSavePlanner
from tt_xla.frontends.torch.xla_api.checkpoint_shards import sharded_cpu_state_dict as _sharded_cpu_state_dict
from tt_xla.locks import Lock

_METADATA_FILE = ".manager_metadata"


@dataclass
class _Checkpoint:
    """A checkpoint that a manager took.

    Attributes:
        step: number of the step.
        ts: when it was taken.
    """

    step: int
    ts: datetime


class CheckpointManager:
    """Takes checkpoints of a training run every so many steps, keeps the latest, and restores one.

    Args:
        path: folder of the checkpoints, each in a folder with the number of its step. Any path of ``fsspec``.
        save_interval: number of steps from one checkpoint to the next.
        max_to_keep: most checkpoints to keep; the oldest is deleted first. 0 keeps all.
        max_pending_async: most checkpoints of :meth:`save_async` that may wait to be written.
        num_of_threads: number of threads that write files.
        process_group: the processes that take checkpoints together; by default all, or this one alone.
        chkpt_on_preemption: whether to take a checkpoint at the next step once the process is told to terminate
            (SIGTERM), which then does not end it.

    Raises:
        AssertionError: a number is out of range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        save_interval: int,
        max_to_keep: int = 0,
        max_pending_async: int = 1,
        num_of_threads: int = 1,
        process_group: dist.ProcessGroup | None = None,
        chkpt_on_preemption: bool = True,
    ) -> None:
        assert save_interval > 0, f"save_interval must be positive, got {save_interval}"
        assert max_pending_async > 0, f"max_pending_async must be positive, got {max_pending_async}"
        assert max_to_keep >= 0, f"max_to_keep must be non-negative, got {max_to_keep}"
        self.base_path = os.path.join(path, "")
        self.save_interval = save_interval
        self.max_to_keep = max_to_keep
        self.num_of_threads = num_of_threads
        self.chkpt_on_preemption = chkpt_on_preemption
        self.pg = process_group or (dist.new_group() if dist.is_initialized() else None)
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._max_pending = max_pending_async
        self._futures: list[Future[None]] = []
        self._writing = Lock()
        self._checkpoints = self._found()
        if chkpt_on_preemption:
            _preemption.activate()

    def should_save(self, step: int) -> bool:
        """Returns whether a checkpoint is due: at each interval, and once the process is told to terminate."""
        return step % self.save_interval == 0 or (self.chkpt_on_preemption and self.reached_preemption(step))

    def save(self, step: int, state_dict: dict[str, Any], force: bool = False) -> bool:
        """Takes a checkpoint if one is due.

        Args:
            step: number of the step.
            state_dict: the state to save, nested as you like.
            force: whether to take it in any case.

        Returns:
            Whether it was taken.
        """
        if not (force or self.should_save(step)):
            return False
        torch_xla.sync()
        self._save(step, state_dict)
        return True

    def save_async(self, step: int, state_dict: dict[str, Any], force: bool = False) -> bool:
        """Copies the state to the CPU, and writes it in a thread, if a checkpoint is due.

        Waits while too many checkpoints are to be written. The arguments and the result are those of :meth:`save`.
        """
        if not (force or self.should_save(step)):
            return False
        torch_xla.sync()
        copied = _sharded_cpu_state_dict(state_dict)
        while len(pending := [future for future in self._futures if not future.done()]) >= self._max_pending:
            _wait(pending, return_when=FIRST_COMPLETED)
        self._futures.append(self._pool.submit(self._save, step, copied))
        return True

    def restore(self, step: int, state_dict: dict[str, Any]) -> None:
        """Reads the checkpoint of a step into a state dict, in place.

        Pass the result to ``load_state_dict`` for values that are no tensors.

        Raises:
            AssertionError: there is no checkpoint of the step.
        """
        assert step in self.all_steps(), (
            f"Cannot restore from untracked step {step}. Valid steps are: {self.all_steps()}"
        )
        reader = FsspecReader(self._path(step))
        dist_cp.load(state_dict, storage_reader=reader, planner=SPMDLoadPlanner(), process_group=self.pg)

    def all_steps(self) -> list[int]:
        """Returns the numbers of the steps that have a checkpoint."""
        return sorted(checkpoint.step for checkpoint in self._checkpoints)

    def join(self) -> None:
        """Waits until all checkpoints are written.

        Raises:
            Exception: one could not be written.
        """
        _wait(self._futures)
        futures, self._futures = self._futures, []
        for future in futures:
            future.result()

    def reached_preemption(self, step: int) -> bool:
        """Returns whether the process was told to terminate.

        Raises:
            AssertionError: the manager was made with ``chkpt_on_preemption=False``.
        """
        assert self.chkpt_on_preemption, "Preemption detection not enabled. Set chkpt_on_preemption of the manager."
        return torch_xla._XLAC._sync_point_reached(step)

    def _path(self, step: int) -> str:
        return os.path.join(self.base_path, str(step))

    def _found(self) -> deque[_Checkpoint]:
        """Returns the checkpoints in the folder, the oldest first."""
        files, folder = fsspec.url_to_fs(self.base_path)
        files.makedirs(folder, exist_ok=True)
        found: list[_Checkpoint] = []
        for path in files.ls(folder, detail=False):
            metadata = os.path.join(path, _METADATA_FILE)
            if files.exists(metadata):
                with files.open(metadata, "rb") as file:
                    found.append(_Checkpoint(**pickle.load(file)))
            else:
                logging.getLogger(__name__).warning("%s is no checkpoint: it has no %s.", path, _METADATA_FILE)
        return deque(sorted(found, key=lambda checkpoint: checkpoint.ts))

    @property
    def _is_first(self) -> bool:
        return self.pg is None or dist.get_rank(self.pg) == 0

    def _delete(self, step: int) -> None:
        files, folder = fsspec.url_to_fs(self._path(step))
        if self._is_first and files.exists(folder):
            files.rm(folder, recursive=True)

    def _save(self, step: int, state_dict: dict[str, Any]) -> None:
        """Writes a checkpoint, and deletes the oldest that are too many."""
        with self._writing:
            self._delete(step)
            writer = FsspecWriter(self._path(step), thread_count=self.num_of_threads, per_thread_copy_ahead=0)
            dist_cp.save(state_dict, storage_writer=writer, planner=SPMDSavePlanner(), process_group=self.pg)
            checkpoint = _Checkpoint(step, datetime.now())
            earlier = [other for other in self._checkpoints if other.step != step]
            self._checkpoints = deque([*earlier, checkpoint])
            if self._is_first:
                with fsspec.open(os.path.join(self._path(step), _METADATA_FILE), "wb") as file:
                    pickle.dump(vars(checkpoint), file)
            while 0 < self.max_to_keep < len(self._checkpoints):
                self._delete(self._checkpoints.popleft().step)


def prime_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Gives an optimizer its state by a step with gradients of zero, so that a checkpoint can be read into it.

    The step may change parameters, which the checkpoint then overwrites.

    Returns:
        The optimizer.
    """
    torch_xla.sync()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)
                placement = _placement_of(parameter)
                if placement is not None:
                    _mark(parameter.grad, placement)
    optimizer.step()
    torch_xla.sync()
    return optimizer


__all__ = ["CheckpointManager", "SPMDLoadPlanner", "SPMDSavePlanner", "prime_optimizer"]
