"""Errors in one line, with exit code 2."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

#: The class of errors that typer raises about the command line; versions keep it elsewhere.
UsageProblem: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class OneLineErrors(TyperGroup):
    """A command that prints expected errors in one line, without a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, ``fit`` first."""
        return sorted(self.commands, key=lambda name: name != "fit")

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line, and print errors of the command or its files."""
        options["standalone_mode"] = False
        try:
            with warnings_in_one_line():
                code = super().main(*args, **options)
        except OSError as problem:
            place = "" if problem.filename is None else f"{problem.filename}: "
            refuse(f"{place}{problem.strerror}" if problem.strerror else str(problem))
        except (ValueError, TypeError, ArithmeticError, ModuleNotFoundError) as problem:
            refuse(str(problem))
        except MemoryError as problem:
            refuse(f"not enough memory: {problem}")
        except UsageProblem as problem:
            context = getattr(problem, "ctx", None)
            command = "eigenstream" if context is None else context.command_path
            refuse(f"{problem.format_message().rstrip('.')}; see {command} --help.")
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def refuse(message: str) -> NoReturn:
    """Print an error in one line and exit with code 2.

    >>> refuse("views must be a whole number of at least 1000, got 3.")
    Traceback (most recent call last):
        ...
    SystemExit: 2
    """
    print("eigenstream:", *message.split(), file=sys.stderr)
    sys.exit(2)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print each warning in one line."""

    def say(message: Warning | str, *_: Any, **__: Any) -> None:
        print("eigenstream: warning:", *str(message).split(), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = say
        # Rows come out of files as plain arrays, whose columns were matched by name before.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
