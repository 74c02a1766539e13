"""Refusals: one line that says what was wrong, and exit code 2."""

import sys
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

#: The class of errors that typer raises about the command line; versions keep it elsewhere.
UsageProblem: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class OneLineErrors(TyperGroup):
    """A command whose refusals are one line and exit code 2, never a traceback."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; what is wrong with it or with its files is said in one line."""
        options["standalone_mode"] = False
        try:
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
    print("eigenstream:", " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


def _without_number(problem: OSError) -> str:
    """Return what the system refused in words: which file, where it is known, and why."""
    if problem.strerror is None:
        return str(problem)
    place = "" if problem.filename is None else f"{problem.filename}: "
    return f"{place}{problem.strerror}"
