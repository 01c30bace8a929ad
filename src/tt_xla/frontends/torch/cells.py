"""LSTM and GRU cells, which PyTorch calls as fused ops on devices other than the CPU.

Each forward op returns a ``workspace`` for its backward op. PyTorch passes it on unread, so its layout is defined here.
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
    """Computes one step of an LSTM.

    Args:
        input_gates: product of the input and its weights [N, 4 H]: input, forget, cell and output gate.
        hidden_gates: product of the hidden state and its weights, in the same layout.
        cell: cell state [N, H].
        input_bias: bias [4 H] of the input gates, or None.
        hidden_bias: bias [4 H] of the hidden gates, or None.

    Returns:
        Next hidden state, next cell state, and the workspace [N, 4 H].
    """
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
    """Returns the gradients of the gates [N, 4 H], of the cell state [N, H] and of each bias [4 H]."""
    i, f, c, o = workspace.chunk(4, -1)
    tanh_cell = new_cell.tanh()
    grad_hidden = torch.zeros_like(cell) if grad_hidden is None else grad_hidden
    grad_new_cell = grad_hidden * o * (1 - tanh_cell * tanh_cell)
    if grad_cell is not None:
        grad_new_cell = grad_new_cell + grad_cell
    grad_gates = torch.cat(
        [
            grad_new_cell * c * i * (1 - i),
            grad_new_cell * cell * f * (1 - f),
            grad_new_cell * i * (1 - c * c),
            grad_hidden * tanh_cell * o * (1 - o),
        ],
        -1,
    )
    return grad_gates, grad_new_cell * f, grad_gates.sum(0) if has_bias else None


def _gru(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hidden: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes one step of a GRU.

    Args:
        input_gates: product of the input and its weights [N, 3 H]: reset, update and new gate.
        hidden_gates: product of the hidden state and its weights, in the same layout.
        hidden: hidden state [N, H].
        input_bias: bias [3 H] of the input gates, or None.
        hidden_bias: bias [3 H] of the hidden gates, or None.

    Returns:
        Next hidden state and the workspace [N, 5 H].
    """
    input_r, input_z, input_n = _with_bias(input_gates, input_bias).chunk(3, -1)
    hidden_r, hidden_z, hidden_n = _with_bias(hidden_gates, hidden_bias).chunk(3, -1)
    r, z = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return n + z * (hidden - n), torch.cat([r, z, n, hidden, hidden_n], -1)


def _gru_backward(
    grad: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Returns the gradients of the input gates, the hidden gates, the hidden state and both biases."""
    r, z, n, hidden, hidden_n = workspace.chunk(5, -1)
    grad_n = grad * (1 - z) * (1 - n * n)
    grad_z = grad * (hidden - n) * z * (1 - z)
    grad_r = grad_n * hidden_n * r * (1 - r)
    grad_input_gates = torch.cat([grad_r, grad_z, grad_n], -1)
    grad_hidden_gates = torch.cat([grad_r, grad_z, grad_n * r], -1)
    biases = (grad_input_gates.sum(0), grad_hidden_gates.sum(0)) if has_bias else (None, None)
    return grad_input_gates, grad_hidden_gates, grad * z, *biases


def _with_bias(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


CELL_KERNELS: dict[str, Callable[..., Any]] = {
    "_thnn_fused_gru_cell": _gru,
    "_thnn_fused_gru_cell_backward": _gru_backward,
    "_thnn_fused_lstm_cell": _lstm,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
}
