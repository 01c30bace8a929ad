"""SFTTrainer of trl with adapters of peft, and DPOTrainer. Usage: trl_sft.py MODE FOLDER."""

import json
import random
import sys

import torch
import transformers
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

MODE, FOLDER = sys.argv[1:3]
WORDS = ["<pad>", "<eos>", "<unk>", *(f"w{number}" for number in range(61))]
core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = transformers.PreTrainedTokenizerFast(
    tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
)
config = transformers.LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    pad_token_id=0,
    eos_token_id=1,
)
random.seed(0)


def texts(length):
    return [" ".join(random.choices(WORDS[3:], k=length)) for _ in range(32)]


def trained(trainer_type, arguments_type, columns, **options):
    data, losses = Dataset.from_dict(columns), []
    for checkpoint in (None, f"{FOLDER}/{trainer_type.__name__}/checkpoint-2"):
        torch.manual_seed(0)
        arguments = arguments_type(
            output_dir=f"{FOLDER}/{trainer_type.__name__}",
            max_length=16,
            per_device_train_batch_size=4,
            max_steps=4,
            save_steps=2,
            logging_steps=1,
            learning_rate=1e-2,
            report_to=[],
            disable_tqdm=True,
            bf16=False,
            use_cpu=MODE == "cpu",
        )
        model = transformers.LlamaForCausalLM(config)
        trainer = trainer_type(model, args=arguments, train_dataset=data, processing_class=tokenizer, **options)
        trainer.train(resume_from_checkpoint=checkpoint)
        losses.append([float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry])
    return str(arguments.device), losses[0], losses[1][-2:]


adapter = LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
device, tuned, resumed = trained(SFTTrainer, SFTConfig, {"text": texts(12)}, peft_config=adapter)
preferences = {"prompt": texts(5), "chosen": texts(6), "rejected": texts(6)}
_, preferred, continued = trained(DPOTrainer, DPOConfig, preferences)
print(json.dumps({"device": device, "losses": preferred + tuned, "resumed": resumed, "processes": 1}))
