"""Trains BERT to decide from which half of the vocabulary a sentence has more tokens."""

import torch
import torch_xla
from pydantic import Field
from transformers import BertConfig, BertForSequenceClassification

from tt_xla.profiling.workload import TrainingWorkload, begin


class Config(TrainingWorkload):
    hidden_size: int = Field(gt=0)
    layers: int = Field(gt=0)
    heads: int = Field(gt=0)
    sequence_length: int = Field(gt=0)
    vocabulary: int = Field(gt=1)


def sentences(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    """Draws token ids, [N, S], with 70 % of each sentence from one half of the vocabulary, and that half, [N]."""
    labels = torch.randint(0, 2, (config.batch_size,))
    half = config.vocabulary // 2
    low = torch.rand(config.batch_size, config.sequence_length) < torch.where(labels == 0, 0.7, 0.3)[:, None]
    tokens = torch.randint(0, half, low.shape)
    return torch.where(low, tokens, tokens + half), labels


def main() -> None:
    config = begin(Config, __doc__)
    device = torch_xla.device()
    shape = BertConfig(
        vocab_size=config.vocabulary,
        hidden_size=config.hidden_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.hidden_size,
        max_position_embeddings=config.sequence_length,
        num_labels=2,
    )
    model = BertForSequenceClassification(shape).to(device).train()
    model.compile(backend="tt")
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    for step in range(config.max_steps):
        tokens, labels = sentences(config)
        optimizer.zero_grad()
        loss = model(input_ids=tokens.to(device), labels=labels.to(device)).loss
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
