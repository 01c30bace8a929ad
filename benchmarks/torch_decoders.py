"""Compares the predicted throughput of Llama from transformers with what hand-tuned decoders reach on silicon.

One new token for each of 32 users, with a ``StaticCache`` of 1,024 positions, in bfloat16; weights and cache are stored
in bfloat8_b. Nothing runs. One layer and two are compiled; each further layer takes as long as the second.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import torch

from benchmarks.decoders import DECODERS, HEAD, Decoder, row
from benchmarks.hand_tuned import recorded
from docs.tables import write_between_marks
from tt_xla.ir.program import Program

OPTIONS: dict[str, Any] = {
    "optimization_level": 2,
    "enable_bfp8_conversion": True,
    "experimental_kv_cache_dtype": "bfp_bf8",
    "enable_trace": True,
    "dry_run": True,
}


def compiled(decoder: Decoder, layers: int) -> Program:
    """Compiles a step of Llama with some number of layers, and returns its longest program."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=decoder.vocabulary,
        hidden_size=decoder.width,
        intermediate_size=decoder.hidden,
        num_hidden_layers=layers,
        num_attention_heads=decoder.heads,
        num_key_value_heads=decoder.kv_heads,
        max_position_embeddings=decoder.length,
    )
    with torch.device("meta"):
        empty = transformers.LlamaForCausalLM(config)
    model = empty.to(torch.bfloat16).to_empty(device="cpu").eval()
    model.model.rotary_emb = type(model.model.rotary_emb)(config)  # its frequencies are no parameters
    cache = transformers.StaticCache(config=config, max_cache_len=decoder.length)
    head = decoder.width // decoder.heads
    cache.early_initialization(decoder.users, decoder.kv_heads, head, torch.bfloat16, torch.device("cpu"))
    position = torch.tensor([decoder.length - 1])
    tokens = torch.zeros(decoder.users, 1, dtype=torch.int64)
    torch.compiler.reset()
    with recorded(decoder.card) as compilations, torch.no_grad():
        torch.compile(model, backend="tt", options=OPTIONS)(
            input_ids=tokens, past_key_values=cache, cache_position=position, use_cache=True
        )
    programs = [item.program for item in compilations if item.program is not None]
    if not programs:
        raise click.ClickException(f"Nothing was compiled: {[item.error for item in compilations]}.")
    return max(programs, key=lambda program: program.predicted_device_us)


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--ops", is_flag=True, help="Print the time of each kind of op in a layer.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], ops: bool, document: Path | None) -> None:
    lines = [*HEAD]
    for name in names or DECODERS:
        line, layer = row(name, DECODERS[name], (compiled(DECODERS[name], 1), compiled(DECODERS[name], 2)))
        lines.append(line)
        for op, total in sorted(layer.items(), key=lambda item: -item[1]) if ops else ():
            click.echo(f"    {op:45}{total:10.1f} us", err=True)
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "hand-tuned-torch-decoders", "\n".join(lines))


if __name__ == "__main__":
    main()
