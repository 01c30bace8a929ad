"""Compares steps of transformers' ``Trainer`` on the device with eager torch and inductor: ``make bench-trainer``.

A small Llama with random weights, batches of 4 sequences of 64 tokens, AdamW. Eager torch and inductor train on the
CPU; ``tt`` has ``torch_compile_backend="tt"`` and the model on the device. All take turns, one step at a time.
"""

from __future__ import annotations

import functools
import os
import statistics
import tempfile
import threading
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import click
import torch

from benchmarks.turns import Turns, measured_in_turns
from docs.tables import write_between_marks

WAYS = ("eager", "inductor", "tt")
SETTINGS: dict[str, dict[str, Any]] = {
    "float32": {},
    "autocast to bfloat16": {"bf16": True},
    "2 accumulated batches": {"gradient_accumulation_steps": 2},
    "activation checkpointing": {"activation_checkpointing": True},
    "LoRA": {},
}
"""Arguments of ``TrainingArguments`` by name. LoRA is of the model, not of the arguments."""

HEAD = "| training | way | step ms | of eager's | processor ms | graphs | programs | recompiled | last loss |"


class TrainerSteps:
    """Steps of one training run, which waits between them in a thread of its own.

    Args:
        setting: name among :data:`SETTINGS`.
        way: one of :data:`WAYS`.
        threads: threads of torch; 0 for as many as there are cores.
    """

    def __init__(self, setting: str, way: str, threads: int) -> None:
        torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
        self.next, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.losses: list[float] = []
        self.compiled: list[int] = []
        self.error: BaseException | None = None
        threading.Thread(target=self._train, args=(setting, way), daemon=True).start()

    def _train(self, setting: str, way: str) -> None:
        try:
            self._run(setting, way)
        except BaseException as error:
            self.error = error
            self.done.release()

    def _run(self, setting: str, way: str) -> None:
        import transformers

        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            vocab_size=1024,
            hidden_size=256,
            intermediate_size=768,
            num_hidden_layers=4,
            num_attention_heads=8,
            num_key_value_heads=4,
        )
        model: Any = transformers.LlamaForCausalLM(config)
        if setting == "LoRA":
            from peft import LoraConfig, get_peft_model

            lora = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
            model = get_peft_model(model, lora)
        tokens = torch.randint(1, 1024, (64, 64), generator=torch.Generator().manual_seed(1))
        steps = self

        class Turn(transformers.TrainerCallback):
            """Waits for its turn before a step and reports after it."""

            def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
                steps.next.acquire()

            def on_log(self, *args: Any, logs: dict[str, Any], **kwargs: Any) -> None:
                if "loss" in logs:
                    steps.losses.append(float(logs["loss"]))
                    steps.compiled.append(steps.compilations())
                    steps.done.release()

        compiles = {"torch_compile": True, "torch_compile_backend": way} if way != "eager" else {}
        arguments = transformers.TrainingArguments(
            output_dir=tempfile.mkdtemp(),
            use_cpu=way != "tt",
            per_device_train_batch_size=4,
            max_steps=1_000_000,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            lr_scheduler_type="constant",
            learning_rate=1e-3,
            **SETTINGS[setting],
            **compiles,
        )
        data = [{"input_ids": ids, "labels": ids} for ids in tokens]
        trainer = transformers.Trainer(model, arguments, train_dataset=data, callbacks=[Turn()])
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()

    def __call__(self) -> None:
        self.next.release()
        self.done.acquire()
        if self.error is not None:
            raise self.error

    def compilations(self) -> int:
        """Returns the number of graphs and programs that were compiled so far."""
        from tt_xla.frontends.torch.backend import compiled_programs

        return torch._dynamo.utils.counters["stats"].get("unique_graphs", 0) + len(compiled_programs())

    def report(self) -> dict[str, Any]:
        from tt_xla.frontends.torch.backend import compiled_programs

        graphs = torch._dynamo.utils.counters["stats"].get("unique_graphs", 0)
        again = self.compiled[-1] - self.compiled[5]
        return {"losses": self.losses, "graphs": graphs, "programs": len(compiled_programs()), "recompiled": again}


def rows(setting: str, turns: dict[str, Turns]) -> list[str]:
    """Returns the rows of a table."""
    reference = statistics.median(turns["eager"].wall)
    lines = []
    for way, turn in turns.items():
        wall, processor, report = statistics.median(turn.wall), statistics.median(turn.processor), turn.report
        counts = [report["graphs"], report["programs"] if way == "tt" else "", report["recompiled"]]
        cells = [f"{wall * 1e3:.0f}", f"{wall / reference:.2f}", f"{processor * 1e3:.0f}"]
        cells += ["" if way == "eager" else str(count) for count in counts]
        lines.append(f"| {setting} | {way} | {' | '.join(cells)} | {report['losses'][-1]:.4f} |")
    return lines


@click.command(help=__doc__)
@click.argument("settings", nargs=-1)
@click.option("--rounds", default=9, help="Rounds of one step each (default 9).")
@click.option("--threads", default=0, help="Threads of torch (default: as many as there are cores).")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(settings: tuple[str, ...], rounds: int, threads: int, document: Path | None) -> None:
    lines = [HEAD, "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    click.echo("\n".join(lines))
    for setting in settings or SETTINGS:
        makers = {way: functools.partial(TrainerSteps, setting, way, threads) for way in WAYS}
        new = rows(setting, measured_in_turns(makers, rounds, number=1, warmups=6))
        lines.extend(new)
        click.echo("\n".join(new))
    if document is not None:
        write_between_marks(document, "trainer", "\n".join(lines))


if __name__ == "__main__":
    main()
