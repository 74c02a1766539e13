"""The commands of the command line, by the words that call them, and their results."""

import json

from typer.main import get_command
from typer.testing import CliRunner

from eigenstream.cli import app


def commands(group, name="eigenstream"):
    """Yield every command by the words that call it; groups of commands, too."""
    for word, command in group.commands.items():
        yield f"{name} {word}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")


COMMANDS = dict(commands(get_command(app)))

#: The arguments of each command that reads data, after its name.
READERS = {
    "eigenstream fit slow": "- -d 1",
    "eigenstream fit dynamic": "- -d 1",
    "eigenstream fit pca": "- -d 1",
    "eigenstream fit classes": "- --labels kind -d 1",
    "eigenstream fit pairs": "pairs.csv --items - --exclude kind",
    "eigenstream fit kmeans": "- --exclude kind",
    "eigenstream fit som": "- --grid 2x2 --exclude kind",
    "eigenstream transform": "m.eigs - -o out.npy",
    "eigenstream evaluate": "m.eigs - --labels kind",
    "eigenstream watch": "m.eigs - --reference good.csv --window 30 --rate 0.2",
    "eigenstream info": "-",
    "eigenstream lags": "-",
}


def run(*arguments, given=None):
    """Return the result of a command."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def outcome(*arguments, given=None):
    """Return the exit code and both outputs of a command that raises nothing."""
    result = run(*arguments, given=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def answer(*arguments, given=None):
    """Return the JSON of a command that succeeds."""
    code, out, messages = outcome(*arguments, "--json", given=given)
    assert code == 0, messages
    return json.loads(out)
