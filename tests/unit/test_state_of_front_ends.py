"""What the front ends remember belongs to a session, which a test can make anew; what does not is listed here."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

SOURCES = Path(__file__).parents[2] / "src"
FRONT_ENDS = ("tt_xla/frontends", "tt_torch", "tt_jax", "torch_plugin_tt", "jax_plugin_tt", "pjrt_plugin_tt")

MAKE_CONSTANTS = {
    "DispatchKeySet",
    "Path",
    "Path(__file__).with_name",
    "TypeVar",
    "ctypes.addressof",
    "ctypes.sizeof",
    "dict.fromkeys",
    "field",
    "frozenset",
    "import_module",
    "logging.getLogger",
    "operator.attrgetter",
    "re.compile",
    "signature",
    "staticmethod",
    "str",
    "struct.Struct",
    "timedelta",
    "tuple",
}
"""Calls that make an object which nobody changes, or a field of instances."""

REGISTER = {"Primitive", "Registry", "torch.library.Library"}
"""Calls that tell PyTorch or JAX of something for good, or make a table that modules fill while they are imported."""

CHANGES = {
    *("add", "append", "clear", "discard", "extend", "insert", "move_to_end", "pop", "popitem", "remove"),
    *("setdefault", "update"),
}
"""Methods that change a container."""

OF_THE_PROCESS = {
    "the one variable that holds the session": {
        "torch.session.current",
        "jax.session.current",
    },
    "unique in the process, because tensors of an earlier session meet those of the current one": {
        "torch.device.buffers.ADDRESSES",
        "torch.device.values._KIND_SERIALS",
        "torch.device.values._NODE_SERIALS",
        "torch.graph.marks._GROUPS",
        "torch.jax_calls._FUNCTIONS",  # by content; a recorded op of any session names one
    },
    "registered with PyTorch or JAX once, or by the import of a module": {
        "jax.pjrt.table.HANDLERS",
        "torch.aten.registry.LOWERINGS",
        "torch.device.buffers._synchronize",
        "torch.device.native.NATIVE",  # kernels in C++
        "torch.device.mode.Mode",  # import torch_xla changes rules for operands
        "torch.device.registration._LIBRARIES",
        "torch.device.xla_type._LIBRARIES",
        "torch.graph.fusion.FusionProvider._registered_providers",
        "torch.lanes._LOADED",  # plug-ins of PyTorch's profiler
        "torch.private.device_guard._KEPT",
        "torch.private.storages.UntypedStorage",  # what makes storages
    },
    "restored by the block that sets it, in its thread": {
        "torch.device.kinds._SILENCE",
        "torch.private.aot_cache._ACTIVE",
        "torch.private.dynamo_patches._CURRENT",
        "torch.private.patches._COMPILATION",
        "torch.private.stamping._ACTIVE",
        "torch.replicas._CURRENT",
        "torch.symbolic._DIMENSIONS",
        "torch.xla_api.fsdp_shards._WHOLE",
    },
    "stands for something that a process has once": {
        "jax.pjrt.errors._arrived",  # handlers of signals
        "jax.pjrt.errors._held",
        "jax.pjrt.profiler._HANDLES",  # what jaxlib has handles of
        "jax.pjrt.profiler._PROFILES",
        "torch.current_device._INSTALLED",  # PyTorch's stack of function modes in a thread
        "torch.device.analysis._WRITING",  # the file of reports
        "torch.device.dlpack._DESCRIPTOR",  # memory that PyTorch reads at shutdown
        "torch.device.dlpack._LOCK",
        "torch.device.kinds.COMPUTING",  # the fake mode; kinds of all sessions have its fake tensors
        "torch.processes._JOINING",  # the place among processes of torchrun
        "torch.processes._STORES",
        "torch.replicas._Current",
        "torch.xla_api.preemption._Notice",  # a handler of a signal
        "torch.xla_api.preemption._Notice.received",
    },
    "known for good, from arguments alone": {
        "torch.device.recording._OWN_FILES",
        "torch.device.signatures.signature_of",
    },
    "an object without state": {
        "torch.frame_cache.FRAMES",
        "tt_torch.torch_overrides.torch_function_override",
        "torch.xla_api.xla_sharded_tensor.XLAShardedTensor.__tensor_flatten__",
        "torch.xla_api.xla_sharded_tensor.XLAShardedTensor.__tensor_unflatten__",
    },
}
"""Variables of modules and classes that change, by the reason for which they belong to the process."""

CACHES = {
    "known for good, from arguments alone": {
        "jax.parameters._primitive",
        "jax.pjrt.buffer._element",
        "jax.pjrt.client._mesh",
        "jax.pjrt.structs.struct",
        "torch.aten.decompositions._table",
        "torch.device.buffers._bytes_layout",
        "torch.device.buffers._empty_layout",
        "torch.device.chips._chips_of",
        "torch.device.chips.device",
        "torch.device.geometry.find_view",
        "torch.device.kinds._decompositions",
        "torch.device.signatures._overload_for_numbers",
        "capacity.sizes._parsed",
        "torch.device.generalized._code_of",
        "torch.device.tensor_factory.factory_for",
        "torch.errors._with_base",
        "torch.fingerprints._process_start",
        "torch.fingerprints.file_digest",
        "torch.graph.fusion._traced",
        "torch.libraries.torch_xla.is_asked_for",
        "torch.lowering._tracing_device",
        "torch.distributed.process_group._check_chips",
        "torch.private.names.optional",
        "torch.xla_api.fsdp_shards._with_properties",
    },
    "one for each handle of the C API, or one in all": {
        "jax.pjrt.api.api_capsule",
        "jax.pjrt.buffer.layout_handle",
        "jax.pjrt.buffer.place",
        "torch.device.kinds._mode",
    },
    "registers something with PyTorch once": {
        "torch.device.chips._use_chip",
        "torch.device.generators._tell_dynamo",
        "torch.device.kinds._add_log_filter",
        "torch.device.xla_type.register",
        "torch.lanes.show_chips_if_built",
        "torch.private.aot_cache.install",
        "torch.private.dispatcher.backward_on_calling_thread",
        "torch.private.patches._patch_makers_of_tensors",
        "torch.private.patches._patch_parallel_styles",
        "torch.xla_api.xla_sharded_tensor._tell_dynamo",
        "torch.private.process_groups._keep_groups_per_thread",
        "torch.private.rng_regions.install",
        "torch.xla_api.donor_op.register",
        "torch.xla_api.process_groups.register",
    },
}
"""Functions that remember their results, by the reason for which the process may keep these."""


def _changed(tree):
    """Yields what functions of a module change, and classes that their own methods change."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(changed == "cls" for changed in _changed_by_functions(node)):
            yield node.name
    yield from _changed_by_functions(tree)


def _changed_by_functions(tree):
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield ast.unparse(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            yield ast.unparse(node.func.value)


def _makers_of_functions(tree):
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.returns is not None)
    return {function.name for function in functions if ast.unparse(function.returns).startswith("Callable")}


def _is_there_to_be_changed(value, constant):
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) not in constant
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.List | ast.Set) and not value.elts


def _variables(tree):
    """Returns the names of variables of a module, and of its classes, that hold state."""
    constant = MAKE_CONSTANTS | REGISTER | _makers_of_functions(tree)
    return list(_variables_in(tree.body, {*_changed(tree)}, constant))


def _variables_in(body, changed, constant, within=""):
    for statement in body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            is_state = _is_there_to_be_changed(statement.value, constant)
            yield from (within + name for name in names if is_state or within + name in changed)
        elif isinstance(statement, ast.ClassDef):
            if statement.name in changed:
                yield within + statement.name
            yield from _variables_in(statement.body, changed, constant, f"{within}{statement.name}.")


def _caches(tree):
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    for node in functions:
        if any("cache" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield node.name


@functools.cache
def _trees():
    """Returns the syntax trees of the front ends' modules by name."""
    paths = [path for folder in FRONT_ENDS for path in (SOURCES / folder).rglob("*.py")]
    names = (".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in paths)
    trees = (ast.parse(path.read_text()) for path in paths)
    return {name.removeprefix("tt_xla.frontends."): tree for name, tree in zip(names, trees, strict=True)}


def _in_front_ends(find):
    """Returns what a function finds in the front ends' modules, with the modules' names."""
    return {f"{module}.{name}" for module, tree in _trees().items() for name in find(tree)}


def test_state_belongs_to_a_session():
    """Move a variable that is new here to ``session.py``, or to a part of the session: a test sees it otherwise."""
    found = _in_front_ends(_variables)
    assert found == set().union(*OF_THE_PROCESS.values())


def test_functions_remember_what_does_not_change():
    assert _in_front_ends(_caches) == set().union(*CACHES.values())


@pytest.mark.parametrize(
    "source",
    [
        "X = {}",
        "X: list[int] = []",
        "X = Lock()",
        "X = Counter()",
        "X = itertools.count()",
        "X = None\ndef f():\n    global X\n    X = 1",
        "X = {1: 2}\ndef f():\n    X[3] = 4",
        "X = {1: 2}\ndef f():\n    X.clear()",
        "class X:\n    y = 0\ndef f():\n    X.y = 1",
        "class X:\n    y = 0\n    @classmethod\n    def f(cls):\n        cls.y = 1",
    ],
)
def test_state_is_found(source):
    assert _variables(ast.parse(source)) == ["X"]


@pytest.mark.parametrize(
    "source",
    [
        "X = {1: 2}\ndef f():\n    return X[1]",
        "X = re.compile('x')",
        "X = None",
        "def f() -> Callable[[], int]:\n    return lambda: 1\nX = f()",
        "def f():\n    x = {}\n    x[1] = 2",
        "class X:\n    y: list[int] = field(default_factory=list)\n    def f(self):\n        self.y = [1]",
    ],
)
def test_constants_are_no_state(source):
    assert _variables(ast.parse(source)) == []


def test_sessions_are_read_where_they_are_used():
    """``from session import current`` would keep the session that was current at the import."""
    nodes = (node for tree in _trees().values() for node in ast.walk(tree))
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom) and str(node.module).endswith(".session"))
    assert [alias.name for node in imports for alias in node.names if alias.name == "current"] == []
