"""Supervised fine-tuning by trl. Usage: trl_sft.py MODE FOLDER, where MODE is cpu or auto."""

import json
import sys

import datasets
import tokenizers
import torch
import transformers
import trl

MODE, FOLDER = sys.argv[1:3]
WORDS = [f"w{index}" for index in range(60)]
vocabulary = {word: index for index, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
tokenizer = transformers.PreTrainedTokenizerFast(
    tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
)
config = transformers.LlamaConfig(
    vocab_size=len(vocabulary),
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    pad_token_id=0,
    eos_token_id=1,
)
generator = torch.Generator().manual_seed(1)
rows = torch.randint(0, len(WORDS), (24, 8), generator=generator).tolist()
data = datasets.Dataset.from_list([{"text": " ".join(WORDS[index] for index in row)} for row in rows])


def trained(model, steps):
    arguments = trl.SFTConfig(
        output_dir=FOLDER,
        max_steps=steps,
        logging_steps=1,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        optim="sgd",
        max_length=16,
        bf16=False,
        gradient_checkpointing=False,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        train_sampling_strategy="sequential",
        use_cpu=MODE == "cpu",
        model_init_kwargs={"dtype": "float32"} if isinstance(model, str) else None,
    )
    trainer = trl.SFTTrainer(model, arguments, train_dataset=data, processing_class=tokenizer)
    trainer.train()
    return trainer, [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]


torch.manual_seed(0)
first, losses = trained(transformers.LlamaForCausalLM(config), 3)
first.save_model(f"{FOLDER}/final")
_, further = trained(first.model, 2)
second, resumed = trained(f"{FOLDER}/final", 2)
report = {"device": str(first.args.device), "losses": losses + further, "resumed": resumed}
print(json.dumps({**report, "processes": second.args.world_size}))
