"""Trainer of transformers. Usage: trainer.py MODE FOLDER, where MODE is cpu, replicas, fsdp2 or auto."""

import json
import os
import sys

MODE, FOLDER = sys.argv[1:3]
if MODE in ("replicas", "fsdp2"):
    import torch_xla.distributed.xla_multiprocessing as xmp
    import torch_xla.runtime as xr
if MODE == "fsdp2":
    xr.use_spmd()
import torch  # noqa: E402
import transformers  # noqa: E402

config = transformers.LlamaConfig(
    vocab_size=64,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    pad_token_id=0,
    eos_token_id=None,
)
torch.manual_seed(0)
initial = transformers.LlamaForCausalLM(config).state_dict()
generator = torch.Generator().manual_seed(1)
data = [{"input_ids": ids, "labels": ids} for ids in torch.randint(1, 64, (48, 8), generator=generator)]


def trainer(**options):
    model = transformers.LlamaForCausalLM(config)
    model.load_state_dict(initial)
    arguments = transformers.TrainingArguments(
        output_dir=FOLDER,
        max_steps=4,
        save_steps=2,
        logging_steps=1,
        learning_rate=1e-2,
        report_to=[],
        disable_tqdm=True,
        train_sampling_strategy="sequential",
        use_cpu=MODE == "cpu",
        **options,
    )
    return transformers.Trainer(model, arguments, train_dataset=data)


def losses(trainer):
    return [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]


def main(*_):
    options = {"per_device_train_batch_size": 8 // int(os.environ.get("WORLD_SIZE", 1))}
    if MODE == "replicas":
        options["per_device_train_batch_size"] //= xr.world_size()
    if MODE == "fsdp2":
        sharding = {"xla": True, "xla_fsdp_v2": True, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}
        options |= {"fsdp": True, "fsdp_config": sharding}
    first = trainer(**options)
    first.train()
    first.save_model(f"{FOLDER}/final")
    second = trainer(**options)
    second.train(resume_from_checkpoint=f"{FOLDER}/checkpoint-2")
    if first.args.process_index == 0:
        loaded = transformers.LlamaForCausalLM.from_pretrained(f"{FOLDER}/final")
        same = [torch.equal(loaded.state_dict()[name], value) for name, value in initial.items()]
        report = {"device": str(first.args.device), "losses": losses(first), "resumed": losses(second)[-2:]}
        print(json.dumps({**report, "processes": first.args.world_size, "unchanged": sum(same)}))


if __name__ == "__main__":
    if MODE == "replicas":
        xmp.spawn(main)
    else:
        main()
