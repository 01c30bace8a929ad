"""Fine-tunes LoRA adapters of a Llama in bfloat16 on sentences that repeat four tokens."""

import torch
import torch_xla
from peft import LoraConfig, get_peft_model
from pydantic import Field
from transformers import LlamaConfig, LlamaForCausalLM

from tt_xla.profiling.workload import TrainingWorkload, begin


class Config(TrainingWorkload):
    hidden_size: int = Field(gt=0)
    layers: int = Field(gt=0)
    heads: int = Field(gt=0)
    key_value_heads: int = Field(gt=0)
    sequence_length: int = Field(gt=0)
    vocabulary: int = Field(gt=0)
    lora_rank: int = Field(gt=0)


def sentences(config: Config) -> torch.Tensor:
    """Draws token ids, [N, S]: four random tokens per sentence, repeated."""
    words = torch.randint(0, config.vocabulary, (config.batch_size, 4))
    return words.repeat(1, -(-config.sequence_length // 4))[:, : config.sequence_length]


def main() -> None:
    config = begin(Config, __doc__)
    device = torch_xla.device()
    shape = LlamaConfig(
        vocab_size=config.vocabulary,
        hidden_size=config.hidden_size,
        intermediate_size=3 * config.hidden_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.key_value_heads,
        max_position_embeddings=config.sequence_length,
        use_cache=False,
    )
    lora = LoraConfig(r=config.lora_rank, lora_alpha=2 * config.lora_rank, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(LlamaForCausalLM(shape).bfloat16(), lora).to(device).train()
    call = torch.compile(model, backend="tt")
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=config.learning_rate)
    for step in range(config.max_steps):
        tokens = sentences(config).to(device)
        optimizer.zero_grad()
        loss = call(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
