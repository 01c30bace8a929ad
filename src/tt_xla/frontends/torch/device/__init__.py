"""The torch device ``tt``: a PrivateUse1 backend in Python, on plain tensors.

A ``tt`` tensor is an ordinary ``torch.Tensor`` whose storage has the device ``tt`` and carries a buffer
(:mod:`.buffers`). Ops are recorded (:mod:`.recording`, :mod:`.kinds`) and run as one program when a result is read
(:mod:`.programs`). Ops without a lowering run on the host (:mod:`.on_host`) and are counted.
"""

from tt_xla.frontends.torch.device.buffers import Buffer, buffer_of, host_alias, lift
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.programs import synchronize
from tt_xla.frontends.torch.device.registration import register
from tt_xla.frontends.torch.device.tensor_factory import TensorFactory

__all__ = [
    "DEVICE_TYPE",
    "Buffer",
    "TensorFactory",
    "buffer_of",
    "host_alias",
    "lift",
    "register",
    "synchronize",
]
