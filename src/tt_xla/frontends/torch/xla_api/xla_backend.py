"""``torch_xla.distributed.xla_backend``: the backend ``xla`` of ``torch.distributed``, whose members are replicas.

``dist.init_process_group("xla", init_method="xla://")`` makes a group of all replicas that ``xmp.spawn`` started, or of
the processes that torchrun started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch_xla.core.xla_model as _xm
import torch_xla.runtime as _runtime

from tt_xla.frontends.torch import processes as _processes
from tt_xla.frontends.torch import replicas as _replicas
from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.distributed.work import FinishedWork as _FinishedWork
from tt_xla.locks import Lock as _Lock

_REDUCTIONS = {
    dist.ReduceOp.SUM: _xm.REDUCE_SUM,
    dist.ReduceOp.AVG: _xm.REDUCE_SUM,
    dist.ReduceOp.PRODUCT: _xm.REDUCE_MUL,
    dist.ReduceOp.BAND: _xm.REDUCE_AND,
    dist.ReduceOp.BOR: _xm.REDUCE_OR,
    dist.ReduceOp.MIN: _xm.REDUCE_MIN,
    dist.ReduceOp.MAX: _xm.REDUCE_MAX,
}


class ProcessGroupXla(dist.ProcessGroup):
    """A process group of replicas. Its collectives are those of ``xm``, and are done when they return.

    Args:
        prefix_store: the store of the group, which is not needed.
        rank: number of this replica in the group.
        size: number of replicas.
        timeout: ignored: replicas that wait for one that has ended raise an error at once.
    """

    def __init__(self, prefix_store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self._name = ""
        self._mesh: list[list[int]] = []
        """Groups of replicas that exchange tensors; none for one group of all."""

    def getBackendName(self) -> str:
        return "xla"

    def _set_group_name(self, name: str) -> None:
        self._name = name

    @property
    def group_name(self) -> str:
        return self._name

    def _groups(self) -> list[list[int]] | None:
        return self._mesh or None

    def _reduction(self, op: Any) -> tuple[str, float]:
        """Returns the reduction of ``xm`` for one of ``torch.distributed``, and the scale of its result.

        Raises:
            NotImplementedError: there is none.
        """
        kind = dist.ReduceOp.RedOpType(op.op if hasattr(op, "op") else op)
        if kind not in _REDUCTIONS:
            raise NotImplementedError(
                f"The backend 'xla' has no reduction {kind.name}: it has {', '.join(op.name for op in _REDUCTIONS)}."
            )
        return _REDUCTIONS[kind], 1.0 / self.size() if kind == dist.ReduceOp.AVG else 1.0

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        reduction, scale = self._reduction(dist.ReduceOp.SUM if opts is None else opts.reduceOp)
        with torch.no_grad():
            _xm.all_reduce(reduction, [*tensors], scale, self._groups())
        return _FinishedWork(tensors)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: Any, opts: Any) -> Any:
        reduction, scale = self._reduction(opts.reduceOp)
        results = [_xm.all_reduce(reduction, tensor, scale, self._groups()) for tensor in tensors]
        if self.rank() == opts.rootRank:
            self._write(tensors, results)
        return _FinishedWork(tensors)

    def broadcast(self, tensors: Any, opts: Any) -> Any:
        with torch.no_grad():
            _xm.collective_broadcast([*tensors], self._ordinal(opts.rootRank), self._groups())
        return _FinishedWork(tensors)

    def _ordinal(self, rank: int) -> int:
        """Returns the number of the replica that has a rank; the rank itself in a group unknown to PyTorch."""
        try:
            return dist.get_process_group_ranks(self)[rank]
        except KeyError:
            return rank

    def _gathered(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Returns the tensors of all members."""
        return [*_xm.all_gather(tensor.unsqueeze(0), 0, self._groups()).unbind()]

    def _write(self, targets: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> None:
        with torch.no_grad():
            for target, value in zip(targets, values, strict=True):
                target.copy_(value.reshape(target.shape))

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        for outputs, tensor in zip(output_tensors, input_tensors, strict=True):
            self._write(outputs, self._gathered(tensor))
        return _FinishedWork([tensor for outputs in output_tensors for tensor in outputs])

    def allgather_coalesced(self, output_lists: Any, input_list: Any, opts: Any = None) -> Any:
        return self.allgather(output_lists, input_list, opts)

    def _allgather_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        gathered = torch.stack(self._gathered(input))
        if output.numel() != gathered.numel():
            raise ValueError(
                f"all_gather_into_tensor: {self.size()} tensors of shape {[*input.shape]} do not fill one of shape "
                f"{[*output.shape]}. Stack or join them along the first dimension."
            )
        self._write([output], [gathered])
        return _FinishedWork([output])

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        for output, tensor in zip(outputs, inputs, strict=True):
            self._allgather_base(output, tensor)
        return _FinishedWork(outputs)

    def gather(self, output_tensors: Any, input_tensors: Any, opts: Any) -> Any:
        for position, tensor in enumerate(input_tensors):
            gathered = self._gathered(tensor)
            if self.rank() == opts.rootRank:
                self._write(output_tensors[position], gathered)
        return _FinishedWork(output_tensors)

    def scatter(self, output_tensors: Any, input_tensors: Any, opts: Any) -> Any:
        for position, output in enumerate(output_tensors):
            is_root = self.rank() == opts.rootRank
            parts = [*input_tensors[position]] if is_root else [torch.zeros_like(output)] * self.size()
            of_root = self._gathered(torch.stack(parts))[opts.rootRank]
            self._write([output], [of_root[self.rank()]])
        return _FinishedWork(output_tensors)

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any) -> Any:
        reduction, scale = self._reduction(opts.reduceOp)
        for output, parts in zip(output_tensors, input_tensors, strict=True):
            shapes = {tuple(part.shape) for part in parts}
            if len(shapes) > 1:
                raise ValueError(f"reduce_scatter: the parts differ in shape: {sorted(shapes)}.")
            reduced = _xm.all_reduce(reduction, torch.stack([*parts]), scale, self._groups())
            parts_of_all = reduced.reshape(self.size(), -1)  # also of a list with one tensor for all members
            self._write([output], [parts_of_all[self.rank()]])
        return _FinishedWork(output_tensors)

    def reduce_scatter_coalesced(self, output_tensors: Any, input_tensors: Any, opts: Any) -> Any:
        return self.reduce_scatter(output_tensors, input_tensors, opts)

    def _reduce_scatter_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any) -> Any:
        return self.reduce_scatter([output], [input.chunk(self.size())], opts)

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any) -> Any:
        for output, tensor in zip(outputs, inputs, strict=True):
            self._reduce_scatter_base(output, tensor, opts)
        return _FinishedWork(outputs)

    def alltoall(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        received = self._gathered(torch.stack([*input_tensors]))
        self._write(output_tensors, [parts[self.rank()] for parts in received])
        return _FinishedWork(output_tensors)

    def alltoall_base(
        self, output: torch.Tensor, input: torch.Tensor, output_sizes: Any, input_sizes: Any, opts: Any = None
    ) -> Any:
        if len({*output_sizes}) > 1 or len({*input_sizes}) > 1:
            raise NotImplementedError(
                "all_to_all_single of the backend 'xla' splits tensors into equal parts. Leave the split sizes out, or "
                "use all_to_all with tensors of one shape."
            )
        return self.alltoall(output.chunk(self.size()), input.chunk(self.size()))

    # Names of PyTorch 2.13
    all_gather_single = _allgather_base
    reduce_scatter_single = _reduce_scatter_base
    all_to_all_single = alltoall_base

    def send(self, tensors: Any, dst_rank: int, tag: int = 0) -> Any:
        pair = [[_runtime.global_ordinal(), self._ordinal(dst_rank)]]
        return _FinishedWork([_xm.collective_permute(tensor, pair) for tensor in tensors])

    def recv(self, tensors: Any, src_rank: int, tag: int = 0) -> Any:
        pair = [[self._ordinal(src_rank), _runtime.global_ordinal()]]
        self._write(tensors, [_xm.collective_permute(tensor, pair) for tensor in tensors])
        return _FinishedWork(tensors)

    def barrier(self, opts: Any = None) -> Any:
        _replicas.exchange(None)
        return _FinishedWork([])


class _Shared:
    """The store that all replicas of the session share.

    Attributes:
        store: the store; None until a replica needs it.
        lock: held while it is made.
    """

    def __init__(self) -> None:
        self.store: dist.Store | None = None
        self.lock = _Lock()


def rendezvous() -> Iterator[tuple[dist.Store, int, int]]:
    """Yields the store of the replicas, and the number of this one and of all; processes of torchrun become some."""
    _processes.join()
    shared = _session.current.part(_Shared)
    with shared.lock:
        shared.store = shared.store or _processes.store() or dist.HashStore()
    yield shared.store, _replicas.ordinal(), _replicas.size()


_new_group = dist.new_group


def new_xla_process_group(ranks: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Same as ``torch.distributed.new_group``; a group of some replicas exchanges tensors between them alone.

    With ``pg_options={"xla_pg_options": {"mesh": groups}}`` all groups of a mesh exchange tensors at the same time, and
    with ``{"spmd": True}`` those of the mesh in which ``ranks`` is a row or a column.

    Raises:
        ValueError: no mesh has such a row or column.
    """
    options = kwargs.pop("pg_options", None)
    options = options.get("xla_pg_options", {}) if isinstance(options, dict) else {}
    group = _new_group(ranks, *args, **kwargs)
    if isinstance(group, ProcessGroupXla) and ranks is not None:
        members, size = [*ranks], dist.get_world_size()
        group._mesh = options.get("mesh") or [members]
        if len(members) == 1 or (options.get("spmd") and "mesh" not in options):
            group._mesh = _mesh_with(members, size)
    return group


def _mesh_with(ranks: list[int], size: int) -> list[list[int]]:
    """Returns the rows, or the columns, of the mesh of all replicas of which ``ranks`` is one."""
    rest = size // len(ranks)
    everywhere = torch.arange(size)
    for mesh in (everywhere.view(-1, len(ranks)), everywhere.view(-1, rest).T) if size % len(ranks) == 0 else ():
        if ranks in mesh.tolist():
            return mesh.tolist()
    raise ValueError(f"The ranks {ranks} are neither a row nor a column of a mesh of {size} replicas.")


dist.new_group = new_xla_process_group
