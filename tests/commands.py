"""The commands of the command line, by the words that call them."""

from typer.main import get_command

from eigenstream.cli import app


def commands(group, name="eigenstream"):
    """Yield every command by the words that call it; groups of commands, too."""
    for word, command in group.commands.items():
        yield f"{name} {word}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")


COMMANDS = dict(commands(get_command(app)))
