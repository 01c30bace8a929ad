"""``multilabel_margin_loss``, which PyTorch's decomposition computes otherwise than its kernels.

The decomposition gives the loss of a single row a dimension too many, and before PyTorch 2.14 it adds the margins of
labels after the first -1.
"""

from __future__ import annotations

from typing import Any

import torch


def multilabel_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Computes ``F.multilabel_margin_loss``, whose old arguments stand for a reduction."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    return multilabel_margin_loss_op(input, target, ("none", "mean", "sum").index(reduction))


def multilabel_margin_loss_op(input: torch.Tensor, target: torch.Tensor, reduction: int = 1) -> torch.Tensor:
    """Computes ``aten.multilabel_margin_loss``, which autograd decomposes before the compiler sees it."""
    return forward(input, target, reduction)[0]


def forward(input: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, Any]:
    """Computes ``aten.multilabel_margin_loss_forward``.

    Args:
        input: scores [N, C] or [C].
        target: labels of the same shape; those of a row end before the first -1.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Returns:
        The loss, and a mask of the classes that are targets.
    """
    scores, labels = torch.atleast_2d(input), torch.atleast_2d(target)
    class_count = scores.shape[1]
    classes = torch.arange(class_count, device=target.device)
    end = torch.where(labels == -1, classes, class_count).amin(-1, keepdim=True)
    is_label = classes < end
    label_scores = scores.gather(-1, torch.where(is_label, labels, 0))
    is_target = (classes == torch.where(is_label, labels, -1).unsqueeze(-1)).any(1)
    margins = (1 - label_scores.unsqueeze(-1) + scores.unsqueeze(1)).clamp_min(0) / class_count
    counts = is_label.unsqueeze(-1) & ~is_target.unsqueeze(1)
    loss = torch.where(counts, margins, 0).sum((1, 2))
    loss = {0: lambda: loss.reshape(input.shape[:-1]), 1: loss.mean, 2: loss.sum}[reduction]()
    return loss, is_target.to(input.dtype).reshape(target.shape)


__all__ = ["forward", "multilabel_margin_loss", "multilabel_margin_loss_op"]
