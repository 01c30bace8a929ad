"""The text that ``tt-xla`` shows without arguments, and the command ``tt-xla completion``."""

from __future__ import annotations

import click

FIRST_STEPS = """\
PyTorch and JAX programs for Tenstorrent chips, on an emulated card.

Run a program      python examples/jax/gpt_demo.py       device "tt" is there in PyTorch and JAX
See what happens   tt-xla compile --level 2 train.py     ops, predicted time, memory
                   tt-xla explore train.py               the graph, in the browser
Make it faster     tt-xla bench train.py                 where a step's time goes
                   tt-xla tune train.py                  the best options
Check results      tt-xla compare train.py               the first op that differs from float32
                   tt-xla reduce train.py                a failing program, made small
Get source         tt-xla codegen -o model train.py      Python that calls TT-NN
Look around        tt-xla info, tt-xla smi, tt-xla doctor

Options come before train.py; what follows it is its own. A module, model.mlir, is taken in its place: the option
export_path of your program, or tt-xla compile -o out train.py, writes it.

tt-xla --help lists all commands, tt-xla COMMAND --help the options of one.
Completion of commands and options: eval "$(tt-xla completion bash)"
"""
"""The first commands for a user, by what the user wants to do."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion of a shell, for eval."""
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(context.find_root().command, {}, "tt-xla", "_TT_XLA_COMPLETE").source())
