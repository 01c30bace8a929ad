"""Runs steps of Programs on TT-NN and reports each. It is a script for another interpreter and imports no tt_xla.

    python worker.py JOB.json REPORT.jsonl FIRST_PROGRAM FIRST_STEP

The job holds the text of each step and the specs of its results. A step that TT-NN refuses is reported with the reason,
and its results are replaced by tensors with these specs. A line is written and flushed before and after each step, so
that the reader knows where a crash happened.
"""

import importlib.metadata
import json
import re
import sys

import numpy
import ttnn


class Run:
    """One Program on one device."""

    def __init__(self, device, job, program):
        self.device = device
        self.specs = program["values"]
        self.blob = job["blob"]
        self.v = {}
        self.scope = {"ttnn": ttnn, "device": device, "v": _Values(self), "data": self.data}

    def make(self, number):
        """Returns a new tensor with the spec of value ``number``."""
        spec = self.specs[number]
        dtype, layout = eval(spec["dtype"], self.scope), eval(spec["layout"], self.scope)
        memory = eval(spec["memory"], self.scope)
        if memory is None:
            return ttnn.zeros(spec["shape"], dtype=dtype, layout=layout)
        return ttnn.empty(spec["shape"], dtype, layout, self.device, memory)

    def data(self, offset, size, kind, shape, dtype, layout):
        """Returns a host tensor made from bytes of the job's blob. bfloat16 elements are widened to float32."""
        with open(self.blob, "rb") as file:
            file.seek(offset)
            raw = file.read(size)
        if kind == "bf16":
            elements = (numpy.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            elements = numpy.frombuffer(
                raw, {"f32": "<f4", "si32": "<i4", "u32": "<u4", "u16": "<u2", "u8": "u1"}[kind]
            )
        if elements.size == 1:
            elements = numpy.repeat(elements, int(numpy.prod(shape)))
        return ttnn.Tensor(elements.reshape(shape).copy(), data_type=dtype, layout=layout)

    def step(self, step):
        """Runs a step and returns the differences between its results and the Program's specs."""
        returned = eval(step["source"], self.scope)
        if step["frees"] is not None:
            self.v.pop(step["frees"], None)
        results = step["results"]
        tensors = returned if isinstance(returned, (list, tuple)) and len(results) != 1 else [returned] * bool(results)
        differences = []
        for number, tensor in zip(results, tensors, strict=True):
            difference = self.difference(number, tensor)
            if difference:
                differences.append(difference)
                tensor = self.make(number)
            self.v[number] = tensor
        return differences

    def difference(self, number, tensor):
        """Returns the differences between a tensor and the spec of value ``number`` as text; empty for none."""
        spec = self.specs[number]
        memory = eval(spec["memory"], self.scope)
        on_device = tensor.storage_type() == ttnn.StorageType.DEVICE
        pairs = [
            ("shape", list(tensor.shape), spec["shape"]),
            ("data type", tensor.dtype, eval(spec["dtype"], self.scope)),
            ("layout", tensor.layout, eval(spec["layout"], self.scope)),
            ("memory", tensor.memory_config() if on_device else None, memory),
        ]
        if spec["bytes"] is not None and on_device and memory is not None and not memory.is_sharded():
            pairs.append(("bytes", tensor.buffer_num_pages() * tensor.buffer_page_size(), spec["bytes"]))
        wrong = [pair for pair in pairs if pair[1] != pair[2]]
        return "; ".join(f"{name} is {_short(got)}, the Program says {_short(want)}" for name, got, want in wrong)

    def replace(self, numbers):
        """Makes the results of a refused step. If that fails too, the steps that read them report why."""
        for number in numbers:
            try:
                self.v[number] = self.make(number)
            except Exception:  # TT-NN's, which has no class of its own for its refusals
                self.v.pop(number, None)


class _Values:
    """The object ``v`` in a step's text. A value that was lost with a crashed worker is made again."""

    def __init__(self, run):
        self.run = run

    def __getitem__(self, number):
        if number not in self.run.v:
            self.run.v[number] = self.run.make(number)
        return self.run.v[number]


def _short(value):
    """Returns the text of a value without prefixes and default fields."""
    text = str(value).replace("TensorMemoryLayout::", "").replace("BufferType::", "")
    defaults = (
        r",(?:nd_)?shard_spec=std::nullopt",
        r",created_with_nd_shard_spec=[01]",
        r",(?:per_core|range_lockstep)_allocation=0",
    )
    return re.sub("|".join(defaults), "", text)


def reason(error):
    """Returns TT-NN's error message without the backtrace of its C++."""
    text = str(error).split("backtrace:")[0]
    where, separator, message = text.partition("info:")
    if not separator:
        return " ".join(text.split("Available signatures")[0].split())[:2000]
    condition = where.partition(": ")[2].strip()
    return " ".join(f"{message.strip()} [{condition}]".split())[:2000]


def used(device):
    """Returns the bytes that are allocated in each bank of DRAM and of L1."""
    return {
        name: ttnn.get_memory_view(device, kind).total_bytes_allocated_per_bank
        for name, kind in (("dram", ttnn.BufferType.DRAM), ("l1", ttnn.BufferType.L1))
    }


def opened(mesh, l1_small_size):
    """Returns the mesh device of a shape and fabric config, or the first chip if there is none."""
    if mesh is None:
        return ttnn.open_device(device_id=0, l1_small_size=l1_small_size)
    ttnn.set_fabric_config(getattr(ttnn.FabricConfig, mesh["fabric"]))
    return ttnn.open_mesh_device(ttnn.MeshShape(*mesh["shape"]), l1_small_size=l1_small_size)


def main(job_path, report_path, first_program, first_step):
    """Runs a job from a step on and appends lines to the report."""
    with open(job_path) as file:
        job = json.load(file)
    device = opened(job["mesh"], job["l1_small_size"])
    grid = device.compute_with_storage_grid_size()
    with open(report_path, "a") as report:

        def write(**fields):
            report.write(json.dumps(fields) + "\n")
            report.flush()

        write(grid=[grid.y, grid.x], ttnn=f"ttnn {importlib.metadata.version('ttnn')}")
        for p in range(first_program, len(job["programs"])):
            program = job["programs"][p]
            run = Run(device, job, program)
            start = first_step if p == first_program else 0
            if start == 0:
                for number in program["arguments"]:
                    run.v[number] = run.make(number)
            for s in range(start, len(program["steps"])):
                step = program["steps"][s]
                write(program=p, step=s)
                try:
                    differences = run.step(step)
                    write(program=p, step=s, differs=differences, used=used(device))
                except Exception as error:  # whatever TT-NN raises for a call is what it says of the call
                    write(program=p, step=s, refused=reason(error))
                    run.replace(step["results"])
            for tensor in run.v.values():
                ttnn.deallocate(tensor)
            run.v.clear()
        write(done=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
