"""A program in a worker: runs generated source with the tensors that a request names.

The worker's script imports this module, so it imports no tt_xla either.
"""

import contextlib
import os
import sys

import numpy
import ttnn

if __package__:
    from tt_xla.runtime.ttnn.worker_contents import (
        Contents,
        array_in_own_type,
        data_type,
        has_form,
        kept,
        tensor_of_shards,
    )
else:
    from worker_contents import Contents, array_in_own_type, data_type, has_form, kept, tensor_of_shards  # beside it

MODULE = "program"
"""Name of the module that a program is executed as."""

DEFAULTS = {
    "prepare": False, "bind": {}, "consumed": (), "copied": (), "passing": (), "keep": (), "dropped": (), "forget": (),
    "profile": False, "tensors": {},
}  # fmt: skip
"""Values of the fields that a request to run a program leaves out."""

KEPT = {"prepared": False, "types": [], "device_us": None, "results": []}
"""The answer to a run whose results all stay, and that computed no const-eval functions."""


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
        self.staged = frozenset(message["staged"])
        """Names of the arguments that traces alone read, out of slots."""
        self.results = message["results"]
        """Number of the result and of its chips for each tensor of an answer; None if each result is one tensor."""
        self.bound = {name: Contents(worker.memory.read(segment)) for name, segment in message["tensors"].items()}
        """Contents of each argument and constant by name."""
        self.argument_of = {shard: name for name, shards in self.shards.items() for shard in shards}
        """Name of the argument of each shard."""
        self.tensors = {}
        """Tensors by the names of arguments and constants, each with its data type, layout and whether it is here."""
        self.weights = None
        """Tensors of the weights, by the names that the source has for them; None when an argument has changed."""
        self.traces = []
        self.names = set()
        """Names of the arguments that the source loaded since the last run began."""
        self.loaded = {}
        """Names of the tensors that the source loaded since then, by id."""
        self.weight_names = set()
        """Names of the arguments that the source loads as weights."""
        self.weight_ids = set()
        """The ids of the tensors of the weights."""
        self.lacking = {}
        """Numbers of contents that are not there, by the names of the arguments that are bound to them."""
        self.loads_weights = False
        """Whether the source is loading weights now."""
        self.prepares = False
        """Whether const-eval functions must run again, as arguments of theirs have changed."""
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
            self.module = {"__name__": MODULE, "__file__": self.file}
            sys.modules["utils"] = self.utils
            exec(compile(message["source"], self.file, "exec"), self.module)
        self.prepared_keys = set() if self.folder else worker.prepared.share(self.module, message["source"])
        """Keys of the results of const-eval functions that this program shares with others."""
        for name in ("load_weights", "load_inputs", "forward"):
            if not callable(self.module.get(name)):
                raise AttributeError(f"{self.file} has no function {name}")
        self.load_inputs, self.forward = self.module["load_inputs"], self.module["forward"]

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
        form = dtype, layout, device is None
        tensor = next((tensor for own, tensor in self.tensors.get(name, ()) if own == form), None)
        if tensor is None:
            tensor = self.new_tensor(name, dtype, layout, device, memory_config)
            self.tensors.setdefault(name, []).append((form, tensor))
        if (inputs := self.worker.inputs) is not None:
            inputs.reads(tensor)
            if self.loads_weights and inputs.has(tensor):
                tensor = ttnn.clone(tensor)
        self.loaded[id(tensor)] = name
        return tensor

    def passed_or_ones(self, name, shape, dtype, layout, device=None, memory_config=None):
        """Returns an argument in place of the ones that stand for it; ones for an argument that nobody passes."""
        if name in self.bound or name in self.shards:
            return self.load(name, dtype, layout, device, memory_config)
        return self.ones(name, shape, dtype, layout, device, memory_config)

    def new_tensor(self, name, dtype, layout, device, memory_config):
        """Returns a new tensor of an argument or constant."""
        names = self.shards.get(name)
        if names is None or len(set(names)) == 1:
            contents = self.contents(names[0] if names else name)
            tensor = contents.on_device(self.device, dtype, layout) if name in self.staged else None
            inputs = None if self.loads_weights or self.folder else self.worker.inputs
            return tensor or contents.tensor(self.utils, dtype, layout, device, memory_config, inputs)
        tensor = tensor_of_shards([self.contents(shard) for shard in names])
        if tensor is not None and has_form(tensor, dtype, layout, memory_config):
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
        contents, bind, user = self.worker.contents, message["bind"], message["program"]
        self.forget(bind)
        for name, number in bind.items():
            found = contents.get(number)
            if found is None:
                self.lacking[name] = number
                continue
            self.bound[name] = found
            if found.users is None:
                found.users = {(user, name)}
            else:
                found.users.add((user, name))
        for name, segment in message["tensors"].items():
            if not name.isdigit():
                self.forget((name,))
                self.bound[name] = Contents(self.worker.memory.read(segment))
        for name in message["consumed"]:
            contents.pop(bind[name], None)
        for number in self.lacking.values():
            raise Lacking(number)
        clones = {}
        for name in message["copied"]:
            self.bound[name] = self.bound[name].copy(clones)

    def forget(self, names):
        """Unbinds arguments and shards of arguments by name, and drops the tensors made of them."""
        for name in names:
            self.bound.pop(name, None)
            self.lacking.pop(name, None)
            argument = self.argument_of.get(name, name)
            self.tensors.pop(argument, None)
            if argument in self.weight_names:
                self.weights = None

    def lose(self, name):
        """Drops an argument whose contents nobody has any more. Returns whether results of const-eval go, too."""
        self.forget((name,))
        if self.argument_of.get(name, name) not in self.weight_names:
            return False
        self.prepared = None
        self.prepared_keys.clear()
        return True

    def run(self, message):
        """Runs the program once and returns the answer."""
        self.names.clear()
        self.loaded.clear()
        self.prepares = self.prepares or message["prepare"]
        try:
            self.bind(message)
            return self.computed(message)
        finally:
            self.forget(message["passing"])
            if self.worker.inputs is not None:
                self.worker.inputs.end_run()

    def computed(self, message):
        """Runs the program with the arguments that are bound, and returns the answer."""
        device = self.device
        weights, prepares = self.loaded_weights(message)
        inputs = self.load_inputs(device)
        before = getattr(device, "predicted_us", None) if self.folder else None
        results = self.forward(device, weights, *inputs)
        if not isinstance(results, (list, tuple)):
            raise TypeError(f"forward returned {type(results).__name__}, not a list of tensors")
        self.check_count(results)
        if message["keep"]:
            self.keep(results, message)
            if not prepares and not message["profile"]:
                return KEPT
        sent = [] if message["keep"] else self.answered(results)
        answer = {"prepared": prepares, "types": [kind for _, kind in sent]}
        answer |= {} if before is None else {"predicted_us": device.predicted_us - before}
        answer["device_us"] = self.worker.measured() if message["profile"] else None
        answer["results"] = self.worker.memory.write([array for array, _ in sent])
        return answer

    def loaded_weights(self, message):
        """Returns the weights with the results of const-eval functions, and whether these were computed anew."""
        if self.weights is not None and not self.prepares and not self.folder:
            return dict(self.weights), False
        self.loads_weights = True
        try:
            weights = self.module["load_weights"](self.device)
        finally:
            self.loads_weights = False
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
        self.weight_ids = {id(tensor) for tensor in self.weights.values()}
        return dict(self.weights), prepares

    def check_count(self, results):
        """Raises an error if a program for a mesh did not return the results whose shards the chips have."""
        if self.results is None:
            return
        count = 1 + max((number for number, _ in self.results), default=-1)
        if len(results) != count:
            raise TypeError(f"forward returned {len(results)} results; the model has {count}")

    def answered(self, results):
        """Returns the arrays and data types of what is sent."""
        if self.results is None:
            return [(array_in_own_type(self.utils, result), data_type(result)) for result in results]
        chips = [self.utils.shards_of(result, self.worker.chips) for result in results]
        return [(self.utils.array_of(chips[number][of[0]]), data_type(results[number])) for number, of in self.results]

    def keep(self, results, message):
        """Keeps the results under the numbers that a request names."""
        held, own, inputs = self.held_tensors(message["consumed"]), [], self.worker.inputs
        for result in results:
            if not isinstance(result, (list, numpy.ndarray)):
                is_held = id(result) in held or id(result) in self.weight_ids
                if is_held or (inputs is not None and inputs.is_alias(result)):
                    result = ttnn.clone(result)
            own.append(result)
            held.add(id(result))
        contents, device, chips = self.worker.contents, self.device, self.worker.chips
        if self.results is None:
            for number, result in zip(message["keep"], own, strict=True):
                contents[number] = kept(result, device, (), chips, self.utils)
            return
        for number, (index, of) in zip(message["keep"], self.results, strict=True):
            contents[number] = kept(own[index], device, of, chips, self.utils)

    def held_tensors(self, consumed):
        """Returns the ids of the tensors beside the weights that a kept result must not be: others read or write them.

        A result can be what this run has loaded, or a slot of a trace.
        """
        names = {self.argument_of.get(name, name) for name in consumed} if consumed else ()
        held = {key for key, name in self.loaded.items() if name not in names}
        for trace in self.traces:
            held.update(map(id, trace.slots or ()))
        return held

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
        arrays = [self.worker.memory.read(segment) for segment in answer.get("tensors", {}).values()]
        return [self.utils.held(array, dtype) for array, dtype in zip(arrays, output_dtypes, strict=True)]
