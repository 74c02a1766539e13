"""Commands from functions: their options and examples, and errors in one line with exit code 2.

A dataclass of options stands for its fields wherever a command has it as a parameter.
"""

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, NoReturn, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from eigenstream.cli._output import printable
from eigenstream.core.types import Facts

#: The short names of options.
SHORT = {"out": ["-o"], "n_components": ["-d"], "prototypes": ["-k"]}

#: The class of errors that typer raises about the command line; versions keep it elsewhere.
UsageProblem: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def command(app: typer.Typer, words: str, example: str) -> Callable[[Any], Any]:
    """Add a function to an app as a command, with the arguments of its example."""

    def add(function: Any) -> Any:
        paragraphs = inspect.cleandoc(function.__doc__).split("\n\n")
        text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        epilog = f"Example: eigenstream {words} {example}"
        app.command(words.split()[-1], cls=Command, help=text, epilog=epilog)(grouped(function))
        return function

    return add


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function with a parameter for each field of its dataclasses, as typer reads them.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Place:
    ...     x: Annotated[int, "Across."]
    ...     y: Annotated[int, "Up."] = 3
    >>> @grouped
    ... def show(name: Annotated[str, "A name."], place: Place) -> None:
    ...     print(name, place)
    >>> show(name="a", x=1, y=2)
    a Place(x=1, y=2)
    """
    groups: Facts = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        options: Any = [parameter]
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            options = inspect.signature(groups[name]).parameters.values()
        parameters += [
            option.replace(kind=option.KEYWORD_ONLY, annotation=annotated(option))
            for option in options
        ]

    @wraps(function)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        function(**values)

    typed: Any = run
    typed.__signature__ = inspect.Signature(parameters)
    typed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def annotated(parameter: inspect.Parameter) -> Any:
    """Return the annotation of a parameter with its option.

    A text is the help of an option, and a function in front of it makes the value of a text.
    """
    kind, *parsers, option = get_args(parameter.annotation)
    if isinstance(option, str):
        name, parser = parameter.name, parsers[0] if parsers else None
        names = [f"--{name.replace('_', '-')}", *SHORT.get(name, ())]
        metavar = parser.__name__.upper() if parser else "" if kind is bool else None
        option = typer.Option(*names, help=option, metavar=metavar, parser=parser)
    return Annotated[kind, option]


class _Described:
    """A command whose help shows no type for --help."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option without a type."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar = ""
        return option


class Command(_Described, TyperCommand):
    """A command, which prints expected errors in one line that names its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and print the errors of its data and its files."""
        names = [parameter.name or "" for parameter in self.params]

        def say(message: Warning | str, *_: object, **__: object) -> None:
            text = in_options(str(message), names)
            print("eigenstream: warning:", printable(" ".join(text.split())), file=sys.stderr)

        try:
            with warnings.catch_warnings():
                warnings.showwarning = say
                # Rows come out of files as plain arrays, whose columns were matched by name before.
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return super().invoke(ctx)
        except (ValueError, TypeError, ArithmeticError, ImportError, MemoryError) as problem:
            fail(in_options(str(problem), names))


class Group(_Described, TyperGroup):
    """A group of commands, which prints errors of the command line in one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, ``fit`` first."""
        return sorted(self.commands, key=lambda name: name != "fit")

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line, and print its errors."""
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
            sys.stdout.flush()
        except OSError as problem:
            fail_of_system(problem)
        except SystemExit as ending:
            # typer and rich exit with code 1 if the reader of their output has ended.
            if isinstance(ending.__context__, BrokenPipeError):
                fail_of_system(ending.__context__)
            raise
        except UsageProblem as problem:
            context = getattr(problem, "ctx", None)
            called = "eigenstream" if context is None else context.command_path
            fail(f"{problem.format_message().rstrip('.')}; see {called} --help.")
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def in_options(text: str, names: Collection[str]) -> str:
    """Return a message of the library with options in place of parameters.

    >>> names = ["n_components", "missing"]
    >>> in_options("Use n_components <= 3 or missing='skip'.", names)
    'Use --n-components <= 3 or --missing skip.'
    >>> in_options("Omit it with exclude=[...], or drop it.", ["exclude"])
    'Omit it with --exclude, or drop it.'
    >>> message = "Pass exclude='air gap', resume=True, or the column time=."
    >>> in_options(message, ["exclude", "resume", "time"])
    "Pass --exclude 'air gap', --resume, or the column --time."
    """
    for name in names:
        option = f"--{name.replace('_', '-')}"
        text = re.sub(rf"(?<!\()\b{name}=\[\.\.\.\]", option, text)
        text = re.sub(rf"(?<!\()\b{name}=(?:True)?(?=[\s.,;]|$)", option, text)
        text = re.sub(rf"(?<!\()\b{name}=(?!\w+\()(?:'([^'\s]*)')?", rf"{option} \1", text)
        text = re.sub(rf"\b{name}\b", option, text) if "_" in name else text
    return text.replace("--header None", "--no-header").replace("--header 0", "--header")


def fail_of_system(problem: OSError) -> NoReturn:
    """Exit after an error of the system; silently, as SIGPIPE does, if nobody reads the output."""
    if problem.filename is None:  # the output is not written at exit either
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(problem, BrokenPipeError):
        sys.exit(141)
    place = "" if problem.filename is None else f"{problem.filename}: "
    fail(f"{place}{problem.strerror}" if problem.strerror else str(problem))


def fail(message: str) -> NoReturn:
    """Print an error in one line and exit with code 2.

    >>> fail("views must be a whole number of at least 1000, got 3.")
    Traceback (most recent call last):
        ...
    SystemExit: 2
    """
    print("eigenstream:", printable(" ".join(message.split())), file=sys.stderr)
    sys.exit(2)
