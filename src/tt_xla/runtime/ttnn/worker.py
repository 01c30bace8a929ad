"""Runs generated programs on TT-NN for another process. It is a script for another interpreter and imports no tt_xla.

    python worker.py SOCKET MEMORY LIFELINE UTILS TRACE_REGION_BYTES L1_SMALL_BYTES MODE MESH

SOCKET, MEMORY and LIFELINE are file descriptors. A message is its length in four bytes, then a pickle. Tensors lie in
MEMORY, which both processes map and grow. Those of a request stay there until its answer, those of an answer until the
next request. Requests may be sent before earlier ones are answered, and are answered in their order. Runs whose results
all stay have one answer for several of them, at the latest before the answer to another request.
LIFELINE closes when the other process ends; then this process ends too, whatever TT-NN is doing. MODE is ``mock`` when
TT-NN only checks calls and computes nothing. MESH is JSON: shape and fabric config of a mesh device, or null for one
chip.

A program is loaded with its source, or with ``folder``, whose ``main.py`` and helpers the user may have edited. For a
mesh it is loaded with ``shards``, the names of the tensors that the chips have for each of its arguments, and with
``results``: for each tensor of the answer, the number of a result and of the chips that have it.

Contents of tensors that outlive a run have numbers, under which all programs find them: those that the other process
sent under a number, and results that it asked this process to keep. Each program makes of them the tensors that it
needs, and programs that need the same one share it. A run names the arguments that are bound to other contents than in
the last run, and ``consumed`` ones, whose tensors it may write to: their contents end with it. A run that fails has no
results, and what reads them fails too: its answer names the contents that it ``lacked``.
"""

import json
import mmap
import os
import pickle
import select
import signal
import socket
import struct
import sys
import time

SIZE = struct.Struct("<I")
"""Size of a message, before its bytes."""

CLOSING_SECONDS = 3.0
"""Time that the device has to close after the other process has ended."""

KERNEL_TIME = "DEVICE KERNEL DURATION [ns]"
"""Name of the kernels' time in TT-NN's profiler results."""


def guard(lifeline, unshared):
    """Starts a process that ends this one once the lifeline closes, even while TT-NN hangs.

    Args:
        lifeline: descriptor to watch.
        unshared: descriptors that the new process closes.
    """
    worker = os.getpid()
    if os.fork():
        return
    for descriptor in unshared:
        os.close(descriptor)
    while os.getppid() == worker:
        if select.select([lifeline], [], [], 1.0)[0]:
            end = time.monotonic() + CLOSING_SECONDS
            while os.getppid() == worker and time.monotonic() < end:
                time.sleep(0.05)
            if os.getppid() == worker:
                os.kill(worker, signal.SIGKILL)
            break
    os._exit(0)


if __name__ == "__main__":  # a fork is safe only before TT-NN starts threads
    guard(int(sys.argv[3]), (int(sys.argv[1]), int(sys.argv[2])))

import importlib.metadata  # noqa: E402
import importlib.util  # noqa: E402

import numpy  # noqa: E402
import ttnn  # noqa: E402

if __name__ == "__main__":
    from worker_contents import Contents, Prepared, widened  # beside this script
    from worker_inputs import Inputs
    from worker_program import DEFAULTS, KEPT, MODULE, Ended, HostFailed, Lacking, Program
else:
    from tt_xla.runtime.ttnn.worker_contents import Contents, Prepared, widened
    from tt_xla.runtime.ttnn.worker_inputs import Inputs
    from tt_xla.runtime.ttnn.worker_program import DEFAULTS, KEPT, MODULE, Ended, HostFailed, Lacking, Program

NOT_IN_MOCK_MODE = "begin_trace_capture", "end_trace_capture", "execute_trace", "release_trace", "wait_for_event"
"""Functions that do nothing in mock mode: it records no traces, so a traced function runs each time, and waiting for an
event crashes it."""

ANSWER_EVERY = 16
"""Number of runs whose results all stay that have one answer."""


class Memory:
    """The shared memory, which holds arrays one after another."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.map = None

    def mapped(self, size):
        """Returns the memory, grown to at least ``size`` bytes."""
        if self.map is None or len(self.map) < size:
            if os.fstat(self.descriptor).st_size < size:
                os.ftruncate(self.descriptor, size)
            self.map = mmap.mmap(self.descriptor, 0)
        return self.map

    def read(self, segment):
        """Copies an array out of the memory. bfloat16 arrays, which are sent as bits, become float32."""
        shape, dtype = segment["shape"], numpy.dtype("<u2" if segment["type"] == "bf16" else segment["type"])
        count = int(numpy.prod(shape, dtype=numpy.int64))
        memory = self.mapped(segment["offset"] + count * dtype.itemsize) if count else b""
        array = numpy.frombuffer(memory, dtype, count, segment["offset"] if count else 0)
        return (widened(array) if segment["type"] == "bf16" else array.copy()).reshape(shape)

    def write(self, arrays):
        """Writes arrays from the start of the memory and returns their segments."""
        arrays = [numpy.asarray(array) for array in arrays]
        offsets = [0]
        for array in arrays:
            offsets.append(-(-(offsets[-1] + array.nbytes) // 64) * 64)
        memory = self.mapped(offsets[-1]) if offsets[-1] else None
        segments = []
        for array, offset in zip(arrays, offsets, strict=False):
            if array.nbytes:
                numpy.frombuffer(memory, array.dtype, array.size, offset)[:] = array.reshape(-1)
            kind = "bf16" if array.dtype == numpy.int16 else array.dtype.str
            segments.append({"offset": offset, "shape": list(array.shape), "type": kind})
        return segments


class Worker:
    """The device and the loaded programs."""

    def __init__(self, connection, memory, utils, trace_region_bytes, l1_small_bytes, mode, mesh):
        self.connection, self.memory, self.utils_file = connection, Memory(memory), utils
        self.sent, self.received = bytearray(), bytearray()
        self.kept = 0
        """Number of runs that are done, and that no answer has told of."""
        self.programs = {}
        self.contents = {}
        """Contents of tensors that outlive a run, by number."""
        self.prepared = Prepared()
        region = {"trace_region_size": trace_region_bytes} if trace_region_bytes else {}
        self.mesh = mesh
        self.chip = None
        """One chip of the mesh device, for programs for one chip; None until the first one is loaded."""
        self.chips = 1
        self.inputs = None
        """Writes arguments beside the last run; None on a mesh device."""
        if mesh is None:
            self.device = ttnn.open_device(device_id=0, l1_small_size=l1_small_bytes, num_command_queues=2, **region)
            self.inputs = Inputs(self.device)
        else:
            rows, columns = mesh["shape"]
            self.chips = rows * columns
            ttnn.set_fabric_config(getattr(ttnn.FabricConfig, mesh["fabric"]))
            shape = ttnn.MeshShape(rows, columns)
            chips = {"physical_device_ids": mesh["chips"]} if mesh["chips"] else {}
            self.device = ttnn.open_mesh_device(shape, l1_small_size=l1_small_bytes, **region, **chips)
        self.utils = self.fresh_utils()
        if mode == "mock":
            for name in NOT_IN_MOCK_MODE:
                setattr(ttnn, name, lambda *arguments, **keywords: 0)

    def device_for(self, on_mesh):
        """Returns the device for a program: the mesh device, or one chip."""
        if on_mesh or self.mesh is None:
            return self.device
        if self.chip is None:
            self.chip = self.device.create_submesh(ttnn.MeshShape(1, 1))
        return self.chip

    def close(self):
        """Closes the device."""
        self.programs.clear()
        self.contents.clear()
        self.prepared.keep(())
        self.inputs = None
        if self.mesh is None:
            ttnn.close_device(self.device)
            return
        if self.chip is not None:
            ttnn.close_mesh_device(self.chip)
        ttnn.close_mesh_device(self.device)
        ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)

    def fresh_utils(self, folder=None):
        """Loads the module of helpers that generated programs import; each program has its own."""
        path = self.utils_file if folder is None else os.path.join(folder, "utils.py")
        spec = importlib.util.spec_from_file_location("utils", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def send(self, message):
        """Sends a message before this process waits for another one. Answers to several requests go together."""
        if message is KEPT:
            self.kept += 1
            if self.kept == ANSWER_EVERY:
                self.answer_runs()
            return
        self.answer_runs()
        self.put(message)

    def answer_runs(self):
        """Sends the answer to all runs that are done."""
        if self.kept:
            self.put({"kept": self.kept})
            self.kept = 0

    def put(self, message):
        """Puts a message behind those that are to be sent."""
        data = pickle.dumps(message, 4)
        self.sent += SIZE.pack(len(data)) + data

    def receive(self):
        """Returns the next message, or None when the other process has ended."""
        received = self.received
        while len(received) < 4 or len(received) < (end := 4 + int.from_bytes(received[:4], "little")):
            if not self.receive_more():
                return None
        message = pickle.loads(memoryview(received)[4:end].tobytes())
        del received[:end]
        return message

    def receive_more(self):
        """Receives bytes, before which the answers are sent if none have come. Returns False at their end."""
        try:
            chunk = self.connection.recv(1 << 16, socket.MSG_DONTWAIT if self.sent else 0)
        except BlockingIOError:
            self.connection.sendall(self.sent)
            self.sent.clear()
            chunk = self.connection.recv(1 << 16)
        self.received += chunk
        return bool(chunk)

    def ask(self, question):
        """Asks the other process, serves requests that arrive before its answer, and returns the answer."""
        self.send(question)
        while True:
            message = self.receive()
            if message is None:
                raise Ended
            if message.get("do") == "answer":
                return message
            self.serve(message)

    def serve(self, message):
        """Handles one request and sends the answer."""
        program = self.programs.get(message.get("program"))
        try:
            if program is not None and "do" not in message:
                message = DEFAULTS | message
                self.take(message)
                self.send(program.run(message))
            elif message["do"] == "load":
                message = {"tensors": {}} | message
                self.programs[message["program"]] = Program(self, message)
                self.send({"loaded": True})
            elif message["do"] == "fetch":
                self.send(self.fetched(message["numbers"]))
            else:
                self.answer_runs()
        except HostFailed:
            self.send({"failed": True})
        except Ended:
            raise
        except Lacking as error:
            self.send(self.failed(error) | {"lacked": error.number})
        except (Exception, SystemExit) as error:  # helpers exit when a tensor's file is missing
            self.send(self.failed(error))

    def take(self, message):
        """Drops the programs and contents that nobody needs, and stores the contents that a request passes."""
        goes = bool(message["forget"])
        for number in message["forget"]:
            self.programs.pop(number, None)
        for number in message["dropped"]:
            contents = self.contents.pop(number, None)
            for user, name in contents.users or () if contents else ():
                program = self.programs.get(user)
                if program is not None and program.bound.get(name) is contents:
                    goes |= program.lose(name)
        if goes:
            self.prepared.keep(program.prepared_keys for program in self.programs.values())
        for name, segment in message["tensors"].items():
            if name.isdigit():
                self.contents[int(name)] = Contents(self.memory.read(segment))

    def fetched(self, numbers):
        """Returns the answer with the elements of contents."""
        seen = {}
        arrays = [self.contents[number].in_own_type(self.utils, seen) for number in numbers]
        return {"results": self.memory.write(arrays)}

    def failed(self, error):
        """Returns the answer that reports an error."""
        file, line = place_of(error)
        return {"error": reason(error), "type": type(error).__name__, "line": line, "file": file}

    def measured(self):
        """Returns the time of the kernels that ran since the last call, in microseconds; None if none was measured."""
        ttnn.synchronize_device(self.device)
        ttnn.ReadDeviceProfiler(self.device)
        durations = []
        for programs in (ttnn.get_latest_programs_perf_data() or {}).values():
            for program in programs:
                result = program.program_analyses_results.get(KERNEL_TIME)
                if result is not None:
                    durations.append(float(result.duration) / 1000)
        return sum(durations) if durations else None

    def properties(self):
        """Returns the device's properties."""
        grid = self.device.compute_with_storage_grid_size()
        arch = str(self.device.arch()).rpartition(".")[2].lower()
        return {"arch": arch, "grid": [grid.y, grid.x], "ttnn": version()}

    def main(self):
        """Sends the device's properties, then serves requests until the other process ends."""
        self.send(self.properties())
        while (message := self.receive()) is not None:
            self.serve(message)
        self.close()


def version():
    """Returns the version of ttnn."""
    try:
        return importlib.metadata.version("ttnn")
    except importlib.metadata.PackageNotFoundError:
        return getattr(ttnn, "__version__", "unknown")


def place_of(error):
    """Returns file and line of the last statement of a program that the error passed through; empty and 0 for none."""
    if isinstance(error, SyntaxError):
        return error.filename or "", error.lineno or 0
    place, traceback = ("", 0), error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__") == MODULE:
            place = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def reason(error):
    """Returns TT-NN's error message without the backtrace of its C++."""
    text = str(error).split("backtrace:")[0]
    where, separator, message = text.partition("info:")
    if not separator:
        return " ".join(text.split("Available signatures")[0].split())[:2000]
    condition = where.partition(": ")[2].strip()
    return " ".join(f"{message.strip()} [{condition}]".split())[:2000]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process handles a terminal's interrupt
    Worker(
        socket.socket(fileno=int(sys.argv[1])),
        int(sys.argv[2]),
        sys.argv[4],
        int(sys.argv[5]),
        int(sys.argv[6]),
        sys.argv[7],
        json.loads(sys.argv[8]),
    ).main()
