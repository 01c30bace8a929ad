"""Programs in a worker share the contents of tensors, and the results of const-eval functions.

The worker's script imports this module, so it imports no tt_xla either.
"""

import ast
import functools

import numpy
import ttnn

if __package__:
    from tt_xla.runtime.ttnn.worker_inputs import LEAST_BYTES, MOST_BYTES
else:
    from worker_inputs import LEAST_BYTES, MOST_BYTES  # beside it


def widened(bits):
    """Returns bfloat16 elements, given as their bits, as float32."""
    return (bits.view("<u2").astype("<u4") << 16).view("<f4")


def narrowed(values):
    """Returns float32 elements that are bfloat16 numbers as their bits."""
    return (numpy.ascontiguousarray(values, "<f4").view("<u4") >> 16).astype("<u2").view("<i2").reshape(values.shape)


class Contents:
    """The elements of a tensor: an array, until a tensor of TT-NN has been made of it.

    The other process sends the contents for one element type, so each tensor that is made of them has all of them.
    """

    def __init__(self, array=None, device=None, tensor=None):
        self.array = array
        self.made = [] if tensor is None else [(device, tensor)]
        """Tensors and their devices."""
        self.users = None
        """Number of each program, and name of its argument, that is bound to the contents; None for no program yet."""
        self.shard = None
        """Tensor of several chips, and numbers of the chips that have these elements; None without such a tensor."""

    def tensor(self, utils, dtype, layout, device, memory_config, inputs=None):
        """Returns the tensor with these properties; it is made if there is none.

        Args:
            utils: the helpers.
            dtype: data type.
            layout: layout.
            device: the device.
            memory_config: where the tensor lies on the device; None on the host.
            inputs: writes large arguments beside the last run; None to write them after it.
        """
        for place, tensor in self.made:
            if place is device and has_form(tensor, dtype, layout, memory_config):
                return tensor
        elements = self.elements(utils)
        if inputs is not None and memory_config is not None and LEAST_BYTES <= elements.nbytes <= MOST_BYTES:
            tensor = inputs.tensor(self, utils.tensor(elements, dtype, layout), elements.nbytes, memory_config)
        else:
            tensor = utils.tensor(elements, dtype, layout, device, memory_config)
        self.made.append((device, tensor))
        self.array = None
        return tensor

    def on_device(self, device, dtype, layout):
        """Returns a tensor in the device's DRAM with these properties, which can be copied there; None without one."""
        for place, tensor in self.made:
            if place is device and has_form(tensor, dtype, layout, ttnn.DRAM_MEMORY_CONFIG):
                return tensor
        return None

    def elements(self, utils):
        """Returns the elements as an array, floats as float32."""
        if self.array is not None:
            return self.array
        if self.made:
            return utils.array_of(self.made[0][1])
        tensor, chips = self.shard
        return utils.array_of(ttnn.get_device_tensors(utils.on_host(tensor))[chips[0]])

    def became_shard(self, tensor, chips):
        """Notes that these chips have the elements, in a tensor of several chips."""
        self.shard, self.array = (tensor, chips), None

    def in_own_type(self, utils, seen):
        """Returns the elements as an array, bfloat16 ones as bits.

        Args:
            utils: the helpers.
            seen: tensors of several chips that are on the host already, as those of each chip, by id.
        """
        if self.array is not None:
            return array_in_own_type(utils, self.array)
        if self.made:
            return array_in_own_type(utils, self.made[0][1])
        tensor, chips = self.shard
        if id(tensor) not in seen:
            seen[id(tensor)] = ttnn.get_device_tensors(utils.on_host(tensor))
        array = utils.array_of(seen[id(tensor)][chips[0]])
        return narrowed(array) if data_type(tensor) == "BFLOAT16" else array

    def copy(self, clones):
        """Returns contents with the same elements in memory of their own.

        Args:
            clones: tensors of several chips and their copies, by id; shards of one tensor stay together.
        """
        if self.shard is not None:
            tensor, chips = self.shard
            _, clone = clones.setdefault(id(tensor), (tensor, None))
            if clone is None:
                clones[id(tensor)] = tensor, (clone := ttnn.clone(tensor))
            copy = Contents()
            copy.shard = clone, chips
            return copy
        if not self.made:
            return Contents(self.array.copy())
        device, tensor = self.made[0]
        return Contents(None, device, ttnn.clone(tensor))


def kept(result, device, chips, everywhere, utils):
    """Returns the contents that a result of a program leaves on the device.

    Args:
        result: the result; an array, or one for each chip, if TT-NN has no data type for it.
        device: the program's device.
        chips: numbers of the chips that have these elements; empty in a program for one chip.
        everywhere: number of chips of a program for several.
        utils: the helpers.
    """
    if isinstance(result, (list, numpy.ndarray)):
        return Contents(numpy.array(utils.shards_of(result, everywhere)[chips[0]] if chips else result))
    if not chips or len(chips) == everywhere:
        return Contents(None, device, result)
    contents = Contents()
    contents.became_shard(result, chips)
    return contents


def tensor_of_shards(shards):
    """Returns the tensor of several chips whose shards these are; None if there is none.

    Args:
        shards: for each chip, the contents that it is to have.
    """
    tensor = None if shards[0].shard is None else shards[0].shard[0]
    for chip, contents in enumerate(shards):
        if contents.shard is None or contents.shard[0] is not tensor or chip not in contents.shard[1]:
            return None
    return tensor


def has_form(tensor, dtype, layout, memory_config):
    """Returns whether a tensor has a data type, a layout and a memory config, which is None on the host."""
    if tensor.dtype != dtype or tensor.layout != layout:
        return False
    if tensor.storage_type() != ttnn.StorageType.DEVICE:
        return memory_config is None
    return memory_config is not None and tensor.memory_config() == memory_config


class Prepared:
    """Results of const-eval functions, which programs that compute the same of the same tensors have once."""

    def __init__(self):
        self.results = {}
        """Operands, which must not end before, and the result, by the text of the function and the operands' ids."""

    def share(self, module, source):
        """Makes a program's const-eval functions look for a result before they compute it.

        Args:
            module: the globals of the program.
            source: its source.

        Returns:
            A set that receives the key of each result that ``const_eval`` takes.
        """
        keys = set()
        for name, text in const_eval_texts(source).items():
            module[name] = functools.partial(self.result, keys, text, module[name])
        return keys

    def result(self, keys, text, function, *operands):
        """Returns the result of a function of a text."""
        key = (text, *map(id, operands))
        if key not in self.results:
            self.results[key] = operands, function(*operands)
        keys.add(key)
        return self.results[key][1]

    def keep(self, kept):
        """Drops all results but those of these sets of keys."""
        used = set().union(*kept)
        for key in [key for key in self.results if key not in used]:
            del self.results[key]


def const_eval_texts(source):
    """Returns the functions that ``const_eval`` calls, by name: all that decides on their results besides operands.

    The text has the parameters and statements of the function, and the variables of the module that it reads. Functions
    that call other functions of the program, or its helpers, which may load constants, are left out.
    """
    module = ast.parse(source).body
    functions = {each.name: each for each in module if isinstance(each, ast.FunctionDef)}
    variables = {each.targets[0].id: ast.unparse(each) for each in module if is_variable(each)}
    texts = {}
    for name in names_in(functions["const_eval"]) & functions.keys() if "const_eval" in functions else ():
        function, used = functions[name], names_in(functions[name])
        if "utils" not in used and used.isdisjoint(functions):
            statements = [ast.unparse(each) for each in (function.args, *function.body)]
            texts[name] = "\n".join([*statements, *(variables[each] for each in sorted(used & variables.keys()))])
    return texts


def is_variable(statement):
    """Returns whether a statement gives one variable a value."""
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)


def names_in(tree):
    """Returns the names that statements use."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def array_in_own_type(utils, result):
    """Returns the array of a result, a bfloat16 one as bits."""
    array = utils.array_of(result)
    return narrowed(array) if data_type(result) == "BFLOAT16" else array


def data_type(result):
    """Returns the name of a result's data type; an empty text for an array."""
    return "" if isinstance(result, (list, numpy.ndarray)) else str(result.dtype).rpartition(".")[2]
