"""The session: all that the device ``tt`` and ``torch.compile(backend="tt")`` remember from one call to the next.

:data:`current` is the one module variable that changes. Read it where it is used, as ``session.current``: a name
imported from here would stay with the session that was current at the import. :func:`fresh` replaces it for a block.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from tt_xla.environment import variables_for_now
from tt_xla.frontends.torch.device.memory import Memories
from tt_xla.frontends.torch.device.mode import Mode
from tt_xla.locks import Lock

if TYPE_CHECKING:
    import torch

    from tt_xla.frontends.torch.device.buffers import Buffer
    from tt_xla.frontends.torch.device.placements import Placement
    from tt_xla.frontends.torch.device.values import Kind, Value
    from tt_xla.frontends.torch.settings import Settings
    from tt_xla.ir.mesh import Mesh

T = TypeVar("T")

KEPT_SAMPLES = 1024
"""Number of samples kept per metric."""


class _ChipsOfThread(threading.local):
    """The chips of one thread.

    Attributes:
        current: the chip that ``tt`` without a number names.
        drawing: the chip whose random numbers PyTorch's default generator draws at present.
        replica: the chip of the replica that the thread is, whose random numbers are no other thread's; None outside of
            replicas.
    """

    current = 0
    drawing = 0
    replica: int | None = None


class Chips:
    """State that concerns several chips.

    Attributes:
        acts_as_one: whether all chips act as one device.
        splits_tensors: whether tensors may have placements: one was placed, or a mesh of several chips was created.
        default_mesh: mesh of programs that have collectives but no argument with a placement, and number of the chip at
            each position; None until one is set.
        holds_parts: whether tensors may have been replaced by every chip's part (``xs.enable_manual_sharding``).
        chooses_shardings: whether the compiler splits arguments of recorded ops that nobody marked.
        global_mesh: the object that ``xs.set_global_mesh`` set; None until then.
        generators: generators of all chips but the first, which has PyTorch's default one.
        seed: seed of chips that draw their first random number; None until one is set.
        of_thread: chips that the calling thread selected.
    """

    def __init__(self) -> None:
        self.acts_as_one = False
        self.splits_tensors = False
        self.holds_parts = False
        self.chooses_shardings = False
        self.default_mesh: tuple[Mesh, tuple[int, ...]] | None = None
        self.global_mesh: Any = None
        self.generators: dict[int, torch.Generator] = {}
        self.seed: int | None = None
        self.of_thread = _ChipsOfThread()


class Pressure:
    """Counts of the ops recorded since the last run.

    Attributes:
        nodes: number of nodes.
        draws: number of results that are drawn numbers.
        groups: number of each group of marks of a composite.
    """

    def __init__(self) -> None:
        self.nodes = 0
        self.draws = 0
        self.groups: dict[str, int] = {}


class Donation:
    """State of the run that goes on: which donated tensors it takes.

    Attributes:
        ends_step: whether a step ends with it.
        read: donated contents that its programs read.
    """

    def __init__(self) -> None:
        self.ends_step = False
        self.read: set[Value] = set()


class Session:
    """State of the device and of compiled graphs, from the first call to the last.

    What recording and running ops read is an attribute. State of one feature is a *part*: an object of a class in the
    feature's own module, which :meth:`part` makes when it is first asked for.

    **Tensors of an earlier session keep working.** A tensor holds its bytes, or the recorded ops that compute them, and
    needs no table of its session. Its memory stays on its own session's account. Its ops run when it is read, in the
    session that is current then; :func:`~.device.programs.synchronize` runs those of the current session alone. What
    identifies contents, kinds and nodes is therefore unique in the process (:mod:`.device.values`).

    **Locks.** All threads share the session. A thread takes locks in this order, and may leave some out:

    1. ``drawing``: held while random numbers are drawn, as all threads share PyTorch's one default generator.
    2. ``running``: held while recorded ops are collected and run, since backward passes record from their own threads.
    3. ``device.kinds.COMPUTING``: held while a kind is worked out or lowered; the process has one fake mode.
    4. ``claiming``, ``restoring``: held while one buffer's value and bytes are exchanged, or its bytes restored.
       No code of the user runs under them.

    Counters and tables without a lock are changed by single operations of Python's containers.

    Attributes:
        drawing, running, claiming, restoring: the locks.
        mode: how recorded ops run.
        chips: state that concerns several chips.
        memory: account of each chip's memory.
        counters: counters by name.
        samples: time stamp (seconds) and duration (nanoseconds) of the last occurrences, by metric.
        totals: number of occurrences and their total duration in nanoseconds, by metric.
        pending: buffers that became pending since recorded ops last ran, by ``id``. Some may have been freed or written
            since.
        pressure: what was recorded since the last run.
        donation: which donated tensors the run takes that goes on.
        kinds: kinds of recorded ops by op, dtypes, sizes and strides.
        integer_forms: whether results are integers that the host computes at once, by op and types of its arguments.
        positions: position in the flat base of each element of a view, by size, stride and offset.
        structures: programs by the keys of their traces, the placements of their leaves, and the chip.
        placements: how the storages of tensors are split over a mesh.
        replicated: buffers with contents that every chip has in full. Programs that take them need not run on a mesh.
        settings: compile options of all models; None until they are used.
    """

    def __init__(self) -> None:
        self.drawing = Lock()
        self.running = Lock()
        self.claiming = Lock()
        self.restoring = Lock()
        self.mode = Mode()
        self.chips = Chips()
        self.memory = Memories()
        self.counters: Counter[str] = Counter()
        self.samples: defaultdict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=KEPT_SAMPLES))
        self.totals: defaultdict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        self.pending: dict[int, weakref.ref[Buffer]] = {}
        self.pressure = Pressure()
        self.donation = Donation()
        self.kinds: dict[Any, Kind] = {}
        self.integer_forms: dict[Any, bool] = {}
        self.positions: dict[Any, Value] = {}
        self.structures: dict[Any, Any] = {}
        self.placements: weakref.WeakKeyDictionary[Buffer, Placement] = weakref.WeakKeyDictionary()
        self.replicated: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self.settings: Settings | None = None
        self._parts: dict[Callable[[], Any], Any] = {}
        self._making = Lock()

    def part(self, kind: Callable[[], T]) -> T:
        """Returns the session's one object of a class, and makes it when it is first asked for."""
        if kind not in self._parts:
            with self._making:
                if kind not in self._parts:
                    self._parts[kind] = kind()
        return self._parts[kind]


current = Session()
"""The session of the process."""


@contextlib.contextmanager
def fresh_chips() -> Generator[None]:
    """Runs a block as in a session that has neither entered SPMD mode nor created a mesh, and then restores the state.

    A script itself cannot leave SPMD mode, because its tensors are on the one device.
    """
    own = current
    before, own.chips = own.chips, Chips()
    try:
        with variables_for_now(XLA_USE_SPMD=""):
            yield
    finally:
        own.chips = before


@contextlib.contextmanager
def fresh() -> Generator[Session]:
    """Runs a block in a session of its own, and then continues the one before. Tests begin so without a past.

    What PyTorch itself keeps is no part of it: dynamo's code of compiled functions (``torch.compiler.reset``) and the
    default generator. Other threads that use the device meanwhile would be torn between two sessions.

    Yields:
        The new session.

    Raises:
        RuntimeError: this thread has selected another chip than the first. PyTorch's stack of function modes knows it,
            which is no part of a session either.
    """
    global current
    if current.chips.of_thread.current:
        raise RuntimeError(
            f"A new session begins with device tt:0, and tt:{current.chips.of_thread.current} is selected: call "
            "torch.tt.set_device(0) first."
        )
    before, current = current, Session()
    try:
        with fresh_chips():
            yield current
    finally:
        current = before
