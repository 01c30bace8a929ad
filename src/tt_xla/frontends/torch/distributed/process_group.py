"""The process group ``tt``: collectives between processes, each of which has a chip of the emulated board.

Tensors cross as bytes in host memory, and each rank reduces what it receives in TT-NN's order, so results are those of
the same collectives between the chips of a mesh in one process. Tensors on the CPU are reduced in the same way; for
those on the device, :mod:`.eager` runs a program whose op calls the group.
Collectives are done when they return; messages between two ranks are done when they are waited for.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from tt_xla.environment import launched_process, variable
from tt_xla.frontends.torch import processes
from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.distributed.eager import EagerPrograms
from tt_xla.frontends.torch.distributed.reductions import REDUCTIONS, reduced, reduced_part, scattered
from tt_xla.frontends.torch.distributed.shared_memory import LEAST_BYTES
from tt_xla.frontends.torch.distributed.transport import Transport
from tt_xla.frontends.torch.distributed.work import FinishedWork, Message
from tt_xla.frontends.torch.errors import in_torch_classes
from tt_xla.ir.element_types import TILE
from tt_xla.ir.ranks import rows_of
from tt_xla.runtime import process_groups

Tensors = Sequence[torch.Tensor]


class ProcessGroupTT(dist.ProcessGroup):
    """A process group of ranks, as ``dist.init_process_group("tt")`` makes it.

    Args:
        store: the store of the group.
        rank: number of this process in the group.
        size: number of processes.
        timeout: how long a rank waits for the others.
    """

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        group = weakref.ref(self)
        stores = store, dist.PrefixStore("cpu", store)
        self._of_device, self._of_cpu = (
            Transport(own, rank, size, timeout, lambda place: _global_rank(group(), place)) for own in stores
        )
        self._of_cpu.gloo.follower = self._of_device.gloo
        self._name = self._description = ""
        self._store = store
        self._programs = EagerPrograms(self)
        self._sizes: tuple[list[int], list[int]] | None = None
        """Rows for each rank and from each of the eager all_to_all in progress, between parts of different sizes."""

    supports_splitting = supports_coalescing = supports_tensor_alloc = supports_shrinking = False
    """PyTorch asks the backend of a device for these features, and the group is its own backend."""

    def getBackendName(self) -> str:
        return chips.DEVICE_TYPE

    def name(self) -> str:
        return chips.DEVICE_TYPE

    def _set_group_name(self, name: str) -> None:
        self._name = name
        process_groups.register(name, self)

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    @property
    def group_name(self) -> str:
        return self._name

    @property
    def group_desc(self) -> str:
        return self._description

    def get_group_store(self) -> dist.Store:
        return self._store

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device(chips.DEVICE_TYPE), torch.device("cpu")]

    def _get_backend(self, device: torch.device) -> Any:
        """Returns what exchanges tensors of a device: PyTorch sets the timeout of gloo there."""
        return self._of_cpu.gloo if device.type == "cpu" else self

    def _transport(self, tensors: Tensors) -> Transport:
        """Returns what exchanges tensors: one for those of the device, one for those of the CPU, as with nccl and gloo.

        So a thread may exchange CPU tensors, as one that saves a checkpoint does, while another one trains. A barrier,
        which has no tensors, is of the device.
        """
        on_cpu = bool(tensors) and all(tensor.device.type != chips.DEVICE_TYPE for tensor in tensors)
        return self._of_cpu if on_cpu and not process_groups.exchanges_for_device() else self._of_device

    def allreduce(self, tensors: Tensors, opts: Any = None) -> Any:
        op = dist.ReduceOp.SUM if opts is None else opts.reduceOp
        kind = _kind(op)
        for tensor in tensors:
            given = _scaled(tensor, op)
            result = self._programs.run("all_reduce", given, given.shape, reduction=kind)
            _write([tensor], [self._reduced(given, kind) if result is None else result])
        return FinishedWork(tensors)

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> Any:
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: Tensors, opts: Any) -> Any:
        kind, root = _kind(opts.reduceOp), opts.rootRank
        for tensor in tensors:
            parts = self._gathered(_scaled(tensor, opts.reduceOp), f"reduce({kind}, dst={root}) of {_text(tensor)}")
            if self.rank() == root:
                _write([tensor], [reduced(parts, kind)])
        return FinishedWork(tensors)

    def broadcast(self, tensors: Tensors, opts: Any) -> Any:
        for tensor in tensors:
            result = self._programs.run("broadcast", tensor, tensor.shape, root=opts.rootRank)
            if result is None:
                self._agree(f"broadcast(src={opts.rootRank}) of {_text(tensor)}", [tensor])
                with in_torch_classes():
                    result = _tensor(self._transport([tensor]).broadcast(_bytes(tensor).clone(), opts.rootRank), tensor)
            if self.rank() != opts.rootRank:
                _write([tensor], [result])
        return FinishedWork(tensors)

    def allgather(self, output_tensors: Sequence[Tensors], input_tensors: Tensors, opts: Any = None) -> Any:
        for outputs, tensor in zip(output_tensors, input_tensors, strict=True):
            self._check_own(tensor, outputs)
            if tensor.dim() and all(output.shape == tensor.shape for output in outputs):
                joined = self._programs.run("all_gather", tensor, self._joined(tensor.shape))
                if joined is not None:
                    _write(outputs, joined.chunk(self.size()))
                    continue
            self._agree(f"all_gather of {' '.join(map(_text, outputs))}", [tensor])
            with in_torch_classes():
                parts = self._transport([tensor]).gather_sizes(_bytes(tensor), [output.nbytes for output in outputs])
            _write(outputs, [_tensor(part, output) for part, output in zip(parts, outputs, strict=True)])
        return FinishedWork([tensor for outputs in output_tensors for tensor in outputs])

    def allgather_coalesced(self, output_lists: Sequence[Tensors], input_list: Tensors, opts: Any = None) -> Any:
        columns = [[outputs[position] for outputs in output_lists] for position in range(len(input_list))]
        return self.allgather(columns, input_list, opts)

    def _allgather_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        _check_fit("all_gather_single", output, input, self.size())
        result = self._programs.run("all_gather", input, self._joined(input.shape)) if input.dim() else None
        if result is None:
            result = torch.stack(self._gathered(input, f"all_gather of {_text(input)} into {_text(output)}"))
        _write([output], [result])
        return FinishedWork([output])

    def allgather_into_tensor_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Any:
        for output, tensor in zip(outputs, inputs, strict=True):
            self._allgather_base(output, tensor)
        return FinishedWork(outputs)

    def gather(self, output_tensors: Sequence[Tensors], input_tensors: Tensors, opts: Any) -> Any:
        for position, tensor in enumerate(input_tensors):
            parts = self._gathered(tensor, f"gather(dst={opts.rootRank}) of {_text(tensor)}")
            if self.rank() == opts.rootRank:
                _write(output_tensors[position], parts)
        return FinishedWork([*output_tensors])

    def scatter(self, output_tensors: Tensors, input_tensors: Sequence[Tensors], opts: Any) -> Any:
        for position, output in enumerate(output_tensors):
            for tensor in input_tensors[position] if self.rank() == opts.rootRank else ():
                _check_fit("scatter", tensor, output, 1)
            self._agree(f"scatter(src={opts.rootRank}) of {_text(output)}", [output])
            content = torch.zeros(output.nbytes * self.size(), dtype=torch.uint8, device="cpu")
            if self.rank() == opts.rootRank:
                content = torch.cat([_bytes(tensor) for tensor in input_tensors[position]])
            with in_torch_classes():
                parts = self._transport([output]).broadcast(content, opts.rootRank).chunk(self.size())
            _write([output], [_tensor(parts[self.rank()], output)])
        return FinishedWork(output_tensors)

    def reduce_scatter(self, output_tensors: Tensors, input_tensors: Sequence[Tensors], opts: Any) -> Any:
        kind = _kind(opts.reduceOp)
        for output, parts in zip(output_tensors, input_tensors, strict=True):
            for part in parts:
                _check_fit("reduce_scatter", part, output, 1)
            given = [_scaled(part, opts.reduceOp) for part in parts]
            result = None
            if output.dim() and all(part.shape == output.shape for part in parts):
                result = self._programs.run("reduce_scatter", torch.cat(given), output.shape, reduction=kind)
            _write([output], [self._reduced_part(given, kind) if result is None else result])
        return FinishedWork(output_tensors)

    def reduce_scatter_coalesced(self, output_tensors: Tensors, input_tensors: Sequence[Tensors], opts: Any) -> Any:
        return self.reduce_scatter(output_tensors, input_tensors, opts)

    def _reduce_scatter_base(self, output: torch.Tensor, input: torch.Tensor, opts: Any) -> Any:
        _check_fit("reduce_scatter_single", input, output, self.size())
        return self.reduce_scatter([output], [input.reshape(self.size(), *output.shape).unbind()], opts)

    def reduce_scatter_tensor_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any) -> Any:
        for output, tensor in zip(outputs, inputs, strict=True):
            self._reduce_scatter_base(output, tensor, opts)
        return FinishedWork(outputs)

    def alltoall(self, output_tensors: Tensors, input_tensors: Tensors, opts: Any = None) -> Any:
        self._agree("all_to_all", output_tensors)
        with in_torch_classes():
            transport = self._transport(output_tensors)
            sent = transport.check_sizes(
                [part.nbytes for part in input_tensors], [out.nbytes for out in output_tensors]
            )
            received = transport.exchange([*map(_bytes, input_tensors)], sent)
        _write(output_tensors, [*map(_tensor, received, output_tensors)])
        return FinishedWork(output_tensors)

    def alltoall_base(
        self, output: torch.Tensor, input: torch.Tensor, output_sizes: Any, input_sizes: Any, opts: Any = None
    ) -> Any:
        sent, received = self._part_sizes(input, input_sizes), self._part_sizes(output, output_sizes)
        are_rows = input.dim() and output.dim() and input.shape[1:] == output.shape[1:]
        if are_rows and (sum(sent), sum(received)) == (input.shape[0], output.shape[0]):
            is_even = len({*sent, *received}) == 1 and sent[0]
            rows = 0 if is_even else _with_room(max(sum(sent), sum(received)))
            self._sizes = None if is_even else (sent, received)
            try:
                result = self._programs.run("all_to_all", input, output.shape, rows=rows)
            finally:
                self._sizes = None
            if result is not None:
                _write([output], [result])
                return FinishedWork([output])
        return self.alltoall(output.split(received), input.split(sent))

    def _part_sizes(self, tensor: torch.Tensor, sizes: Sequence[int]) -> list[int]:
        """Returns the rows for each rank; equal parts if no sizes are given."""
        return [*sizes] or [tensor.shape[0] // self.size()] * self.size()

    # Names of PyTorch 2.13
    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    def send(self, tensors: Tensors, dst_rank: int, tag: int = 0) -> Any:
        own = [_bytes(tensor) for tensor in tensors]
        with self._waiting_for(dst_rank, "sends a message to"):
            work = self._transport(tensors).gloo.send(own, dst_rank, tag)
        waiting = functools.partial(self._waiting_for, dst_rank, "sends a message to")
        return Message(work, own, lambda: None, waiting)

    def recv(self, tensors: Tensors, src_rank: int, tag: int = 0) -> Any:
        received = [torch.empty(tensor.nbytes, dtype=torch.uint8, device="cpu") for tensor in tensors]
        with self._waiting_for(src_rank, "waits for a message of"):
            work = self._transport(tensors).gloo.recv(received, src_rank, tag)
        waiting = functools.partial(self._waiting_for, src_rank, "waits for a message of")
        return Message(work, tensors, lambda: _write(tensors, [*map(_tensor, received, tensors)]), waiting)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Any:
        received = [torch.empty(tensor.nbytes, dtype=torch.uint8, device="cpu") for tensor in tensors]
        work = self._transport(tensors).gloo.recv_anysource(received, tag)
        return Message(work, tensors, lambda: _write(tensors, [*map(_tensor, received, tensors)]), in_torch_classes)

    @contextlib.contextmanager
    def _waiting_for(self, rank: int, message: str) -> Iterator[None]:
        with in_torch_classes(), self._of_device.waiting_for(rank, message):
            yield

    def collective(
        self,
        kind: str,
        tensor: torch.Tensor,
        *,
        reduction: str,
        root: int,
        sent: Sequence[int],
        received: Sequence[int],
        silicon: bool,
    ) -> torch.Tensor:
        """Calls a collective for a compiled program, as :class:`tt_xla.runtime.process_groups.ProcessGroup` says.

        The other ranks may call the same one eagerly.
        """
        _check_chips()
        with process_groups.exchanging_for_device():
            if sent:
                return self._uneven(tensor, sent, received, rows_of(received))
            if self._sizes is not None:
                return self._uneven(tensor, *self._sizes, len(tensor))
            return self._of_program(kind, tensor, reduction, root, silicon=silicon)

    def _of_program(self, kind: str, tensor: torch.Tensor, reduction: str, root: int, *, silicon: bool) -> torch.Tensor:
        if kind == "all_reduce":
            return self._reduced(tensor, reduction, silicon=silicon)
        if kind == "reduce_scatter":
            parts = tensor.chunk(self.size())
            return self._reduced_part(parts, reduction, silicon=silicon)
        if kind == "all_gather":
            output = tensor.new_empty(self._joined(tensor.shape))
            self._allgather_base(output, tensor)
        elif kind == "all_to_all":
            output = torch.empty_like(tensor)
            self.alltoall_base(output, tensor, [], [])
        else:
            assert kind == "broadcast", kind
            output, options = tensor.clone(), dist.BroadcastOptions()
            options.rootRank = root
            self.broadcast([output], options)
        return output

    def _uneven(self, tensor: torch.Tensor, sent: Sequence[int], received: Sequence[int], rows: int) -> torch.Tensor:
        """Returns the rows that the other ranks send to this one, followed by zeros up to a number of rows."""
        output = tensor.new_zeros(rows, *tensor.shape[1:])
        self.alltoall(output[: sum(received)].split([*received]), tensor[: sum(sent)].split([*sent]))
        return output

    def barrier(self, opts: Any = None) -> Any:
        self._agree("barrier()", [])
        return FinishedWork([])

    def _check_own(self, tensor: torch.Tensor, outputs: Tensors) -> None:
        """Checks that the tensor of this rank fits its place among those that all ranks receive.

        Raises:
            ValueError: it does not. It is raised before the others wait for it.
        """
        place = outputs[self.rank()]
        if (tensor.dtype, tensor.numel()) != (place.dtype, place.numel()):
            raise ValueError(
                f"all_gather: rank {_global_rank(self, self.rank())} gives {_text(tensor)}, and its place among the "
                f"outputs is {_text(place)}. Each output has the shape and dtype of what its rank gives."
            )

    def _joined(self, shape: torch.Size) -> tuple[int, ...]:
        """Returns the shape of the tensors of all ranks, one after another along the first dimension."""
        return (shape[0] * self.size(), *shape[1:])

    def _agree(self, call: str, tensors: Tensors) -> None:
        with in_torch_classes():
            self._transport(tensors).agree(call)

    def _gathered(self, tensor: torch.Tensor, call: str) -> list[torch.Tensor]:
        """Returns the tensors of all ranks on the CPU."""
        self._agree(call, [tensor])
        with in_torch_classes():
            parts = self._transport([tensor]).gather(_bytes(tensor))
        return [_tensor(part, tensor) for part in parts]

    def _reduced(self, tensor: torch.Tensor, kind: str, *, silicon: bool | None = None) -> torch.Tensor:
        """Returns the reduction of the tensors of all ranks, on the CPU; arguments are those of :func:`reduced`."""
        call = f"all_reduce({kind}) of {_text(tensor)}"
        if tensor.nbytes < LEAST_BYTES or self.size() == 1:
            return reduced(self._gathered(tensor, call), kind, silicon=silicon)
        tensor = tensor.detach()
        dim, parts = scattered(tensor, self.size(), kind, silicon=silicon)
        received = self._exchanged(parts, call)
        own = reduced_part(received, self.rank(), kind, silicon=dim is not None).to(tensor.dtype)
        with in_torch_classes():
            contents = self._transport([tensor]).gather_sizes(_bytes(own), [part.nbytes for part in parts])
        joined = torch.cat([_tensor(content, part) for content, part in zip(contents, parts, strict=True)], dim or 0)
        return joined.reshape(tensor.shape)

    def _reduced_part(self, parts: Tensors, kind: str, *, silicon: bool | None = None) -> torch.Tensor:
        """Returns the reduction of what all ranks send to this one, which gives each a part, on the CPU."""
        received = self._exchanged(parts, f"reduce_scatter({kind}) of {' '.join(map(_text, parts))}")
        return reduced_part(received, self.rank(), kind, silicon=silicon)

    def _exchanged(self, parts: Tensors, call: str) -> list[torch.Tensor]:
        """Returns what each rank sends to this one on the CPU; all ranks give parts of the same sizes to each."""
        self._agree(call, parts)
        sent = [[part.nbytes for part in parts]] * self.size()
        with in_torch_classes():
            received = self._transport(parts).exchange([*map(_bytes, parts)], sent)
        return [_tensor(content, parts[self.rank()]) for content in received]


def _global_rank(group: dist.ProcessGroup | None, rank: int) -> int:
    """Returns the number of a process among all, from that in a group; the same if PyTorch does not know the group."""
    try:
        return rank if group is None else dist.get_global_rank(group, rank)
    except (KeyError, ValueError):
        return rank


def _with_room(rows: int) -> int:
    """Returns a number of rows that is rounded up: by an eighth at most, or to a row of tiles.

    So a mixture of experts, whose parts have other sizes in each step, soon runs the programs of earlier steps.
    """
    step = max(1 << max(rows.bit_length() - 4, 0), TILE)
    return max(-(-rows // step), 1) * step


def _check_fit(call: str, tensor: torch.Tensor, output: torch.Tensor, count: int) -> None:
    """Checks that a tensor is ``count`` times an output, before other ranks wait for it.

    Raises:
        ValueError: it has another number of elements or another dtype.
    """
    if (tensor.dtype, tensor.numel()) != (output.dtype, output.numel() * count):
        raise ValueError(
            f"{call}: the input is {_text(tensor)} and the output {_text(output)}. They have one dtype, and the larger "
            "one has as many elements as there are ranks times those of the smaller one."
        )


@functools.cache
def _check_chips() -> None:
    """Checks that each process of this host has a chip.

    Raises:
        RuntimeError: torchrun started more processes than there are chips.
    """
    own = launched_process()
    if own is not None and own.local_size > chips.chip_count() and not variable("TT_VISIBLE_DEVICES"):
        raise RuntimeError(processes.too_many(own.local_size))


def _kind(op: Any) -> str:
    """Returns the name of a reduction.

    Raises:
        NotImplementedError: there is none between chips.
    """
    kind = dist.ReduceOp.RedOpType(op.op if hasattr(op, "op") else op)
    if kind not in REDUCTIONS:
        raise NotImplementedError(
            f"The backend 'tt' has no reduction {kind.name}: it has {', '.join(op.name for op in REDUCTIONS)}."
        )
    return REDUCTIONS[kind]


def _scaled(tensor: torch.Tensor, op: Any) -> torch.Tensor:
    """Returns what a rank gives to a reduction: of ``PREMUL_SUM`` its tensor times a factor."""
    if not hasattr(op, "op") or op.op != dist.ReduceOp.PREMUL_SUM:
        return tensor
    return tensor.detach() * op.__getstate__()[1]


def _text(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{[*tensor.shape]}"


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the elements of a tensor as uint8 on the CPU, in the order of its dimensions."""
    if tensor.device.type == chips.DEVICE_TYPE:
        _check_chips()
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def _tensor(content: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Returns a CPU tensor of the shape and dtype of another one, from bytes."""
    return content.view(like.dtype).reshape(like.shape)


def _write(targets: Tensors, values: Tensors) -> None:
    for target, value in zip(targets, values, strict=True):
        with torch.inference_mode() if target.is_inference() else torch.no_grad():
            target.copy_(value.reshape(target.shape))


__all__ = ["ProcessGroupTT"]
