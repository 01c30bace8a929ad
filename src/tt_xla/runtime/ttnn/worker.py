"""Runs generated programs on TT-NN for another process. It is a script for another interpreter and imports no tt_xla.

    python worker.py SOCKET MEMORY LIFELINE UTILS TRACE_REGION_BYTES L1_SMALL_BYTES MODE MESH

SOCKET, MEMORY and LIFELINE are file descriptors. A message is its length in four bytes, then a pickle. Tensors lie in
MEMORY, which both processes map and grow. Those of a request stay there until its answer, those of an answer until the
next request. Requests may be sent before earlier ones are answered, and are answered in their order.
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

CLOSING_SECONDS = 3.0
"""Time that the device has to close after the other process has ended."""

PROGRAM = "program"
"""Name of the module that a program is executed as."""

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

import contextlib  # noqa: E402
import importlib.metadata  # noqa: E402
import importlib.util  # noqa: E402

import numpy  # noqa: E402
import ttnn  # noqa: E402

if __name__ == "__main__":
    import worker_contents as contents_of  # beside this script
else:
    from tt_xla.runtime.ttnn import worker_contents as contents_of

Contents, data_type, widened = contents_of.Contents, contents_of.data_type, contents_of.widened


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


class Ended(SystemExit):
    """The other process has ended."""


class HostFailed(Exception):
    """A host op failed in the other process, which keeps the error."""


class Lacking(Exception):
    """A run reads contents that are not there, because the run that computes them failed."""

    def __init__(self, number):
        super().__init__(f"contents {number} were not computed")
        self.number = number


class Program:
    """One generated program and its tensors on the device."""

    def __init__(self, worker, message):
        self.worker = worker
        self.device = worker.device_for(message["mesh"])
        self.shards = message["shards"]
        """For each argument that is not one tensor for all chips: the name of each chip's tensor."""
        self.results = message["results"]
        """Number of the result and of its chips for each tensor of an answer; None if each result is one tensor."""
        self.bound = {name: Contents(worker.memory.read(segment)) for name, segment in message["tensors"].items()}
        """Contents of each argument and constant by name."""
        self.tensors = {}
        self.weights = None
        """Tensors of the weights, by the names that the source has for them; None when an argument has changed."""
        self.traces = []
        self.names = set()
        """Names of the arguments that the source loaded since the last run began."""
        self.weight_names = set()
        self.lacking = {}
        """Numbers of contents that are not there, by the names of the arguments that are bound to them."""
        self.prepares = False
        """Whether const-eval functions must run again, as arguments of theirs have changed."""
        """Names of the arguments that the source loads as weights."""
        self.prepared = None
        """Results of const-eval functions by name; None before they were computed."""
        self.folder = message.get("folder")
        """Folder of source that runs as it is; None for source that was generated for this process."""
        self.file = os.path.join(self.folder, "main.py") if self.folder else f"<program {message['program']}>"
        with self.imports():
            self.utils = worker.fresh_utils(self.folder)
            self.stored_in_folder = self.utils.stored
            self.utils.load = self.load
            self.utils.stored = self.array
            new_trace = self.utils.Trace
            self.utils.Trace = lambda *arguments: self.traces.append(new_trace(*arguments)) or self.traces[-1]
            self.ones, self.utils.ones = self.utils.ones, self.passed_or_ones
            if not self.folder:
                self.utils.host_call = self.host_call
                self.utils.host_callback = self.host_callback
            self.module = {"__name__": PROGRAM, "__file__": self.file}
            sys.modules["utils"] = self.utils
            exec(compile(message["source"], self.file, "exec"), self.module)
        self.prepared_keys = set() if self.folder else worker.prepared.share(self.module, message["source"])
        """Keys of the results of const-eval functions that this program shares with others."""
        for name in ("load_weights", "load_inputs", "forward"):
            if not callable(self.module.get(name)):
                raise AttributeError(f"{self.file} has no function {name}")

    @contextlib.contextmanager
    def imports(self):
        """Has ``import`` look in the source's folder first; what it found there stays this program's own."""
        if self.folder is None:
            yield
            return
        own = [entry[:-3] for entry in os.listdir(self.folder) if entry.endswith(".py")]
        others = {name: sys.modules.pop(name) for name in own if name in sys.modules}
        sys.path.insert(0, self.folder)
        try:
            yield
        finally:
            sys.path.remove(self.folder)
            for name in own:
                sys.modules.pop(name, None)
            sys.modules.update(others)

    def load(self, name, dtype, layout, device=None, memory_config=None, mapper=None, padded=None):
        """Returns an argument or constant as a tensor, which is made once for the same contents.

        A mapper is not needed, because the shards of arguments are passed.
        """
        self.names.add(name)
        key = (name, str(dtype), str(layout), device is None)
        if key not in self.tensors:
            self.tensors[key] = self.new_tensor(name, dtype, layout, device, memory_config)
        return self.tensors[key]

    def passed_or_ones(self, name, shape, dtype, layout, device=None, memory_config=None):
        """Returns an argument in place of the ones that stand for it; ones for an argument that nobody passes."""
        if name in self.bound or name in self.shards:
            return self.load(name, dtype, layout, device, memory_config)
        return self.ones(name, shape, dtype, layout, device, memory_config)

    def new_tensor(self, name, dtype, layout, device, memory_config):
        """Returns a new tensor of an argument or constant."""
        names = self.shards.get(name, [name])
        if len(set(names)) == 1:
            return self.contents(names[0]).tensor(self.utils, dtype, layout, device, memory_config)
        tensor = contents_of.tensor_of_shards([self.contents(shard) for shard in names])
        if tensor is not None and contents_of.has_form(tensor, dtype, layout, memory_config):
            return tensor
        shards = {shard: self.utils.tensor(self.elements(shard), dtype, layout) for shard in set(names)}
        tensor = ttnn.from_host_shards([shards[shard] for shard in names], ttnn.MeshShape(*self.device.shape))
        if memory_config is not None:
            tensor = ttnn.to_device(tensor, device, memory_config=memory_config)
        for shard in set(names):
            self.contents(shard).became_shard(tensor, [chip for chip, name in enumerate(names) if name == shard])
        return tensor

    def contents(self, name):
        """Returns the contents of an argument or constant; an argument that no request passes is read from its file."""
        if name not in self.bound and self.folder:
            return Contents(self.stored_in_folder(name))
        return self.bound[name]

    def elements(self, name):
        """Returns the elements of an argument or constant as an array."""
        return self.contents(name).elements(self.utils)

    def array(self, name):
        """Returns an argument that TT-NN has no data type for: an array, or a list of the arrays of all chips."""
        names = self.shards.get(name, [name])
        return self.elements(names[0]) if len(set(names)) == 1 else [self.elements(shard) for shard in names]

    def bind(self, message):
        """Binds arguments to the contents that a request names or passes."""
        contents, memory = self.worker.contents, self.worker.memory
        passed = {name: segment for name, segment in message["tensors"].items() if not name.isdigit()}
        self.forget([*message["bind"], *passed])
        for name, number in message["bind"].items():
            if number not in contents:
                self.lacking[name] = number
                continue
            self.bound[name] = contents[number]
            contents[number].users.add((message["program"], name))
        self.bound |= {name: Contents(memory.read(segment)) for name, segment in passed.items()}
        for name in message["consumed"]:
            contents.pop(message["bind"][name], None)
        for number in self.lacking.values():
            raise Lacking(number)
        clones = {}
        for name in message["copied"]:
            self.bound[name] = self.bound[name].copy(clones)

    def forget(self, names):
        """Unbinds arguments and shards of arguments by name, and drops the tensors made of them."""
        if not names:
            return
        for name in names:
            self.bound.pop(name, None)
            self.lacking.pop(name, None)
        loaded = {*names, *(name for name, shards in self.shards.items() if not set(names).isdisjoint(shards))}
        if not self.weight_names.isdisjoint(loaded):
            self.weights = None
        for key in [key for key in self.tensors if key[0] in loaded]:
            del self.tensors[key]

    def lose(self, name):
        """Drops an argument whose contents nobody has any more, and what was made of it."""
        self.forget([name])
        if name.partition(".")[0] in self.weight_names:
            self.prepared = None
            self.prepared_keys.clear()

    def run(self, message):
        """Runs the program once and returns the answer."""
        self.names.clear()
        self.prepares = self.prepares or message["prepare"]
        try:
            self.bind(message)
            return self.computed(message)
        finally:
            self.forget(message["passing"])

    def computed(self, message):
        """Runs the program with the arguments that are bound, and returns the answer."""
        device = self.device
        weights, prepares = self.loaded_weights(message)
        inputs = self.module["load_inputs"](device)
        before = getattr(device, "predicted_us", None)
        results = self.module["forward"](device, weights, *inputs)
        if not isinstance(results, (list, tuple)):
            raise TypeError(f"forward returned {type(results).__name__}, not a list of tensors")
        sent = self.answered(results, message)
        answer = {"prepared": prepares, "types": [kind for _, kind in sent]}
        answer |= {} if before is None else {"predicted_us": device.predicted_us - before}
        answer["device_us"] = self.worker.measured() if message["profile"] else None
        answer["results"] = self.worker.memory.write([array for array, _ in sent])
        return answer

    def loaded_weights(self, message):
        """Returns the weights with the results of const-eval functions, and whether these were computed anew."""
        if self.weights is not None and not self.prepares and not self.folder:
            return dict(self.weights), False
        weights = self.module["load_weights"](self.device)
        self.weight_names = set(self.names)
        changed = self.folder and self.names & {name.partition(".")[0] for name in message["tensors"]}
        prepares = "const_eval" in self.module and bool(self.prepares or self.prepared is None or changed)
        if prepares:
            all_weights = dict(weights)
            self.prepared_keys.clear()
            self.module["const_eval"](self.device, all_weights)
            self.worker.prepared.keep(program.prepared_keys for program in self.worker.programs.values())
            self.prepared = {name: tensor for name, tensor in all_weights.items() if name not in weights}
        self.prepares = False
        self.weights = weights | (self.prepared or {})
        return dict(self.weights), prepares

    def answered(self, results, message):
        """Keeps the results if a request asks for that. Returns the arrays and data types of what is sent."""
        places = [(number, ()) for number in range(len(results))] if self.results is None else self.results
        if self.results is not None and len(results) != (count := 1 + max((each[0] for each in places), default=-1)):
            raise TypeError(f"forward returned {len(results)} results; the model has {count}")
        if message["keep"]:
            self.keep(results, places, message)
            return []
        if self.results is None:
            return [(contents_of.array_in_own_type(self.utils, result), data_type(result)) for result in results]
        chips = [self.utils.shards_of(result, self.worker.chips) for result in results]
        return [(self.utils.array_of(chips[number][of[0]]), data_type(results[number])) for number, of in places]

    def keep(self, results, places, message):
        """Keeps the results under the numbers that a request names."""
        held = self.held_tensors(message["consumed"])
        own = []
        for result in results:
            own.append(ttnn.clone(result) if id(result) in held and data_type(result) else result)
            held.add(id(own[-1]))
        for kept, (number, chips) in zip(message["keep"], places, strict=True):
            contents = contents_of.kept(own[number], self.device, chips, self.worker.chips, self.utils)
            self.worker.contents[kept] = contents

    def held_tensors(self, consumed):
        """Returns the ids of the tensors that a kept result must not be: somebody else reads or writes them."""
        names = {name.partition(".")[0] for name in consumed}
        loaded = [tensor for key, tensor in self.tensors.items() if key[0] not in names]
        slots = [slot for trace in self.traces for slot in trace.slots or ()]
        return {id(tensor) for tensor in (*loaded, *slots, *(self.weights or {}).values())}

    def host_call(self, module, inputs, input_dtypes, output_dtypes):
        return self.on_host(module, inputs, output_dtypes)

    def host_callback(self, function, inputs, input_dtypes, output_dtypes):
        return self.on_host(function.__name__, inputs, output_dtypes)

    def on_host(self, name, inputs, output_dtypes):
        """Has the other process compute a host op, and returns its results."""
        segments = self.worker.memory.write([self.utils.array_of(tensor) for tensor in inputs])
        answer = self.worker.ask({"host": name, "inputs": segments})
        if "failed" in answer:
            raise HostFailed
        arrays = [self.worker.memory.read(segment) for segment in answer["arrays"]]
        return [self.utils.held(array, dtype) for array, dtype in zip(arrays, output_dtypes, strict=True)]


class Worker:
    """The device and the loaded programs."""

    def __init__(self, connection, memory, utils, trace_region_bytes, l1_small_bytes, mode, mesh):
        self.connection, self.memory, self.utils_file = connection, Memory(memory), utils
        self.sent, self.received = bytearray(), bytearray()
        self.programs = {}
        self.contents = {}
        """Contents of tensors that outlive a run, by number."""
        self.prepared = contents_of.Prepared()
        region = {"trace_region_size": trace_region_bytes} if trace_region_bytes else {}
        self.mesh = mesh
        self.chip = None
        """One chip of the mesh device, for programs for one chip; None until the first one is loaded."""
        self.chips = 1
        if mesh is None:
            self.device = ttnn.open_device(device_id=0, l1_small_size=l1_small_bytes, **region)
        else:
            rows, columns = mesh["shape"]
            self.chips = rows * columns
            ttnn.set_fabric_config(getattr(ttnn.FabricConfig, mesh["fabric"]))
            shape = ttnn.MeshShape(rows, columns)
            chips = {"physical_device_ids": mesh["chips"]} if mesh["chips"] else {}
            self.device = ttnn.open_mesh_device(shape, l1_small_size=l1_small_bytes, **region, **chips)
        self.utils = self.fresh_utils()
        if mode == "mock":  # mock mode records no traces; a traced function runs each time
            for name in ("begin_trace_capture", "end_trace_capture", "execute_trace", "release_trace"):
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
        data = pickle.dumps(message, 4)
        self.sent += struct.pack("<I", len(data)) + data

    def receive(self):
        """Returns the next message, or None when the other process has ended."""
        (size,) = struct.unpack("<I", self.exactly(4) or b"\0\0\0\0")
        return pickle.loads(self.exactly(size)) if size else None

    def exactly(self, size):
        """Receives exactly ``size`` bytes, or none when the other process has ended."""
        while len(self.received) < size:
            try:
                chunk = self.connection.recv(1 << 16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                self.connection.sendall(self.sent)
                self.sent.clear()
                chunk = self.connection.recv(1 << 16)
            if not chunk:
                return b""
            self.received += chunk
        data = bytes(self.received[:size])
        del self.received[:size]
        return data

    def ask(self, question):
        """Asks the other process, serves requests that arrive before its answer, and returns the answer."""
        self.send(question)
        while True:
            message = self.receive()
            if message is None:
                raise Ended
            if message["do"] == "answer":
                return message
            self.serve(message)

    def serve(self, message):
        """Handles one request and sends the answer."""
        program = self.programs.get(message.get("program"))
        try:
            if message["do"] == "load":
                self.programs[message["program"]] = Program(self, message)
                self.send({"loaded": True})
            elif message["do"] == "fetch":
                self.send(self.fetched(message["numbers"]))
            else:
                self.take(message)
                self.send(program.run(message))
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
        for number in message["forget"]:
            self.programs.pop(number, None)
        for number in message["dropped"]:
            contents = self.contents.pop(number, None)
            for user, name in contents.users if contents else ():
                if user in self.programs and self.programs[user].bound.get(name) is contents:
                    self.programs[user].lose(name)
        if message["forget"] or message["dropped"]:
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
        if traceback.tb_frame.f_globals.get("__name__") == PROGRAM:
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
