"""Writes arguments from the host to the device while the last run still computes.

A second command queue writes them into tensors that stay allocated. Memory that another tensor has just left could
still be read by a run, so an argument whose tensor is new is written on the queue of the runs.

The worker's script imports this module, so it imports no tt_xla.
"""

import weakref

import ttnn

RUNS, WRITES = 0, 1
"""Numbers of the command queue that runs programs and of the one that writes arguments."""

LEAST_BYTES = 1 << 16
"""Size from which an argument is written beside a run; events would cost more than they save below."""

MOST_BYTES = 1 << 26
"""Size up to which an argument is written beside a run."""

MOST_SLOT_BYTES = 1 << 28
"""Bytes that all slots take together; the form that was used least recently loses its slots."""

MOST_TENSORS = 4
"""Number of tensors for arguments of one form: one that is written, one that a run reads, and two whose contents the
other process has not given up yet."""


class Slot:
    """A tensor whose contents change.

    Args:
        tensor: the tensor on the device.
        contents: the contents that it has.
        nbytes: size of its elements.
    """

    def __init__(self, tensor, contents, nbytes):
        self.tensor, self.nbytes = tensor, nbytes
        self.user = weakref.ref(contents)
        """The contents of the tensor, which end with their last user."""
        self.read = None
        """Event after the last run that reads the tensor; None before there was one."""


class Inputs:
    """Tensors of arguments that come from the host, by their form.

    Args:
        device: the device, which has two command queues.
    """

    def __init__(self, device):
        self.device = device
        self.slots = {}
        """Slots by form, the least recently written first. One is reused once there is another for the last run."""
        self.loaded = {}
        """Slots that programs have loaded since the last run began, by the tensor's id."""
        self.by_id = {}
        """All slots, by the tensor's id."""

    def tensor(self, contents, host, nbytes, memory_config):
        """Returns a tensor on the device with the elements of a tensor on the host.

        Args:
            contents: the contents, as whose tensor the result counts.
            host: the tensor on the host.
            nbytes: size of its elements.
            memory_config: where the result lies on the device.
        """
        form = tuple(host.shape), host.dtype, host.layout
        slots = self.slots[form] = self.slots.pop(form, [])  # the last form is the most recent one
        for slot in slots if len(slots) > 1 else ():
            if slot.user() is None and slot.tensor.memory_config() == memory_config:
                read = ttnn.record_event(self.device, RUNS) if slot.read is None else slot.read
                ttnn.wait_for_event(WRITES, read)
                ttnn.copy_host_to_device_tensor(host, slot.tensor, cq_id=WRITES)
                ttnn.wait_for_event(RUNS, ttnn.record_event(self.device, WRITES))
                slot.user, slot.read = weakref.ref(contents), None
                slots.remove(slot)
                slots.append(slot)
                return slot.tensor
        tensor = ttnn.to_device(host, self.device, memory_config=memory_config)
        if len(slots) < MOST_TENSORS:
            slots.append(slot := Slot(tensor, contents, nbytes))
            self.by_id[id(tensor)] = slot
            while sum(slot.nbytes for slot in self.by_id.values()) > MOST_SLOT_BYTES:
                for slot in self.slots.pop(next(iter(self.slots))):
                    del self.by_id[id(slot.tensor)]
        return tensor

    def has(self, tensor):
        """Returns whether other contents will take a tensor's place."""
        return id(tensor) in self.by_id

    def reads(self, tensor):
        """Notes that the run which is prepared reads a tensor."""
        if (slot := self.by_id.get(id(tensor))) is not None:
            self.loaded[id(tensor)] = slot

    def is_alias(self, tensor):
        """Returns whether a result lies in the memory of a slot that the run has read."""
        if not self.loaded or tensor.storage_type() != ttnn.StorageType.DEVICE:
            return False
        return tensor.buffer_address() in {slot.tensor.buffer_address() for slot in self.loaded.values()}

    def end_run(self):
        """Notes that all calls of a run were made."""
        if self.loaded:
            event = ttnn.record_event(self.device, RUNS)
            for slot in self.loaded.values():
                slot.read = event
            self.loaded.clear()
