"""Refusals: one line that says what was wrong, and exit code 2."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from eigenstream.cli._wording import as_options

#: The class of errors that typer raises about the command line; versions keep it elsewhere.
UsageProblem: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class OneLineErrors(TyperGroup):
    """A command whose refusals are one line and exit code 2, never a traceback."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; what is wrong with it or with its files is said in one line."""
        options["standalone_mode"] = False
        try:
            with warnings_in_one_line():
                code = super().main(*args, **options)
        except OSError as problem:
            refuse(_without_number(problem))
        except (ValueError, TypeError, ArithmeticError, ModuleNotFoundError) as problem:
            refuse(str(problem))
        except MemoryError as problem:
            refuse(f"not enough memory: {problem}. Ask for less, such as with --quick.")
        except UsageProblem as problem:
            context = getattr(problem, "ctx", None)
            command = "eigenstream" if context is None else context.command_path
            refuse(f"{problem.format_message().rstrip('.')}; see {command} --help.")
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def refuse(message: str) -> NoReturn:
    """End the command with one line that says what was wrong.

    >>> refuse("views must be a whole number of at least 1000, got 3.")
    Traceback (most recent call last):
        ...
    SystemExit: 2
    """
    print("eigenstream:", as_options(" ".join(message.split())), file=sys.stderr)
    sys.exit(2)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Say warnings as refusals are said, one line each, and go on."""

    def say(message: Warning | str, *_: Any, **__: Any) -> None:
        words = as_options(" ".join(str(message).split()))
        print(f"eigenstream: warning: {words}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = say
        # Rows come out of files as plain arrays, whose columns were matched by name before.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def _without_number(problem: OSError) -> str:
    """Return what the system refused in words: which file, where it is known, and why."""
    if problem.strerror is None:
        return str(problem)
    place = "" if problem.filename is None else f"{problem.filename}: "
    return f"{place}{problem.strerror}"
