"""``torch_xla.experimental.gru``: a GRU whose loop over time is one program, which replaces ``torch.nn.GRU``."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence as _PackedSequence
from torch_xla.experimental.scan import scan as _scan


class GRU(nn.GRU):
    """``torch.nn.GRU`` in one direction, over inputs that are not packed. A bidirectional one is PyTorch's own.

    The arguments are those of ``torch.nn.GRU``.
    """

    _orig = nn.GRU

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("bidirectional") or (len(args) > 6 and args[6]):
            return cls._orig(*args, **kwargs)
        return super().__new__(cls)

    # The signature is PyTorch's to the letter, since scripts inspect it.
    def forward(self, input, hx=None):  # pyright: ignore
        """Computes the hidden states.

        Args:
            input: tensor (length, batch, features), (batch, length, features) with ``batch_first``, or
                (length, features).
            hx: hidden states at the start, (layers, batch, hidden) or (layers, hidden); zeros by default.

        Returns:
            The states of the last layer at each time, and those of all layers at the last one.

        Raises:
            ValueError: the input has a wrong number of dimensions.
            RuntimeError: sizes do not fit, or ``input`` is packed.
        """
        if isinstance(input, _PackedSequence):
            raise RuntimeError("This GRU takes no PackedSequence. Use torch.nn.GRU._orig, or pad the sequences.")
        if input.dim() not in (2, 3):
            raise ValueError(f"GRU takes inputs of 2 or 3 dimensions, got {input.dim()}.")
        is_batched = input.dim() == 3
        if hx is not None and hx.dim() != input.dim():
            raise RuntimeError(f"GRU takes hx of {input.dim()} dimensions like its input, got {hx.dim()}.")
        rows = input if is_batched else input.unsqueeze(1)
        if self.batch_first and is_batched:
            rows = rows.transpose(0, 1)
        if hx is None:
            states = rows.new_zeros(self.num_layers, rows.shape[1], self.hidden_size)
        else:
            states = hx if is_batched else hx.unsqueeze(1)
        self.check_forward_args(rows.transpose(0, 1) if self.batch_first else rows, states, None)  # type: ignore[arg-type]
        last: list[torch.Tensor] = []
        for layer in range(self.num_layers):
            names = [f"weight_ih_l{layer}", f"weight_hh_l{layer}"]
            names += [f"bias_ih_l{layer}", f"bias_hh_l{layer}"] if self.bias else []
            init = states[layer], *(getattr(self, name) for name in names)
            (state, *_), rows = _scan(_step, init, rows, is_fn_pure=True)
            last.append(state)
            if layer < self.num_layers - 1 and self.dropout:
                rows = nn.functional.dropout(rows, self.dropout, self.training)
        hidden = torch.stack(last)
        if not is_batched:
            return rows.squeeze(1), hidden.squeeze(1)
        return rows.transpose(0, 1) if self.batch_first else rows, hidden


def _step(carry: tuple[torch.Tensor, ...], x: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    """Computes the hidden state (batch, hidden) of one time."""
    state, input_weight, state_weight, *biases = carry
    input_bias, state_bias = biases or (None, None)
    of_input = nn.functional.linear(x, input_weight, input_bias).chunk(3, dim=1)
    of_state = nn.functional.linear(state, state_weight, state_bias).chunk(3, dim=1)
    reset = torch.sigmoid(of_input[0] + of_state[0])
    update = torch.sigmoid(of_input[1] + of_state[1])
    new = torch.tanh(of_input[2] + reset * of_state[2])
    state = (1 - update) * new + update * state
    return (state, *carry[1:]), state


nn.GRU = GRU  # as torch_xla does  # type: ignore[misc]
