"""`supervisor help` and `completion`."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from sidecar.cli.printing import echo

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
COMPLETE_VARIABLE = "_SUPERVISOR_COMPLETE"
"""The variable by which click's shell code asks for completions."""


@click.command(name="help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of COMMAND, as `supervisor COMMAND --help` does; without one, the list of all."""
    context = context.find_root()
    for word in words:
        if not isinstance(context.command, click.Group):
            break
        name, command, _ = context.command.resolve_command(context, [word])
        if command is not None:
            context = click.Context(command, info_name=name, parent=context)
    echo(context.get_help())


@click.command(
    epilog="""\b
bash: echo 'eval "$(supervisor completion bash)"' >> ~/.bashrc
zsh:  echo 'eval "$(supervisor completion zsh)"' >> ~/.zshrc    (below compinit)
fish: supervisor completion fish > ~/.config/fish/completions/supervisor.fish"""
)
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the code that completes commands and options in SHELL. Where to put it is said below."""
    root = context.find_root().command
    echo(SHELLS[shell](root, {}, "supervisor", COMPLETE_VARIABLE).source())
