"""LSTM and GRU cells, which torch calls as fused ops on devices that are not the CPU.

What they keep for backward (``workspace``) is our own: torch hands it from one to the other unread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor


def _lstm(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cell: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Next hidden and cell state from gates in the order input, forget, cell, output."""
    gates = _with_bias(input_gates, input_bias) + _with_bias(hidden_gates, hidden_bias)
    i, f, c, o = gates.chunk(4, -1)
    i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
    new_cell = f * cell + i * c
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, c, o], -1)


def _lstm_backward(
    grad_hidden: Tensor | None,
    grad_cell: Tensor | None,
    cell: Tensor,
    new_cell: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of the gates, of the cell state, and of each bias."""
    i, f, c, o = workspace.chunk(4, -1)
    squashed = new_cell.tanh()
    grad_hidden = torch.zeros_like(cell) if grad_hidden is None else grad_hidden
    total = grad_hidden * o * (1 - squashed * squashed)
    if grad_cell is not None:
        total = total + grad_cell
    grad_gates = torch.cat(
        [
            total * c * i * (1 - i),
            total * cell * f * (1 - f),
            total * i * (1 - c * c),
            grad_hidden * squashed * o * (1 - o),
        ],
        -1,
    )
    return grad_gates, total * f, grad_gates.sum(0) if has_bias else None


def _gru(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hidden: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Next hidden state from gates in the order reset, update, new."""
    input_r, input_z, input_n = _with_bias(input_gates, input_bias).chunk(3, -1)
    hidden_r, hidden_z, hidden_n = _with_bias(hidden_gates, hidden_bias).chunk(3, -1)
    r, z = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return n + z * (hidden - n), torch.cat([r, z, n, hidden, hidden_n], -1)


def _gru_backward(
    grad: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Gradients of both gates, of the hidden state, and of both biases."""
    r, z, n, hidden, hidden_n = workspace.chunk(5, -1)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_z = grad * (hidden - n) * z * (1 - z)
    grad_r = grad_n * hidden_n * r * (1 - r)
    of_input = torch.cat([grad_r, grad_z, grad_n], -1)
    of_hidden = torch.cat([grad_r, grad_z, grad_n * r], -1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_input, of_hidden, grad * z, *biases


def _with_bias(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


CELL_KERNELS: dict[str, Callable[..., Any]] = {
    "_thnn_fused_gru_cell": _gru,
    "_thnn_fused_gru_cell_backward": _gru_backward,
    "_thnn_fused_lstm_cell": _lstm,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
}
