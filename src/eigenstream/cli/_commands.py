"""Commands from functions: their options and examples, and errors in one line with exit code 2.

A dataclass of options stands for its fields wherever a command has it as a parameter.
"""

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Collection
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, NoReturn, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from eigenstream._types import Facts

__all__ = ["Group", "command", "fail", "grouped"]

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
    keyword, none = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    groups: Facts = {}
    parameters = []
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        defaults, kinds = {name: parameter.default}, hints
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            defaults = {field.name: field.default for field in fields(groups[name])}
            kinds = get_type_hints(groups[name], include_extras=True)
        for option, default in defaults.items():
            kind = annotated(option, kinds[option])
            default = none if default is MISSING else default
            parameters.append(inspect.Parameter(option, keyword, default=default, annotation=kind))

    @wraps(function)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        function(**values)

    typed: Any = run
    typed.__signature__ = inspect.Signature(parameters)
    typed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def annotated(name: str, annotation: Any) -> Any:
    """Return the annotation of a parameter with its option.

    A text is the help of an option, and a function in front of it makes the value of a text.
    """
    kind, *parsers, how = get_args(annotation)
    if isinstance(how, str):
        names = [f"--{name.replace('_', '-')}", *SHORT.get(name, ())]
        parser = parsers[0] if parsers else None
        metavar = parser.__name__.upper() if parser else "" if kind is bool else None
        how = typer.Option(*names, help=how, metavar=metavar, parser=parser)
    return Annotated[kind, how]


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
            print("eigenstream: warning:", *text.split(), file=sys.stderr)

        try:
            with warnings.catch_warnings():
                warnings.showwarning = say
                # Rows come out of files as plain arrays, whose columns were matched by name before.
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return super().invoke(ctx)
        except OSError as problem:
            place = "" if problem.filename is None else f"{problem.filename}: "
            fail(f"{place}{problem.strerror}" if problem.strerror else str(problem))
        except (ValueError, TypeError, ArithmeticError, ModuleNotFoundError) as problem:
            fail(in_options(str(problem), names))
        except MemoryError as problem:
            fail(f"not enough memory: {problem}")


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
        except UsageProblem as problem:
            context = getattr(problem, "ctx", None)
            called = "eigenstream" if context is None else context.command_path
            fail(f"{problem.format_message().rstrip('.')}; see {called} --help.")
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def in_options(text: str, names: Collection[str]) -> str:
    """Return a message of the library with options in place of parameters.

    >>> in_options(
    ...     "Use n_components <= 3, or exclude=['a', 'b'], missing='skip'.",
    ...     ["n_components", "exclude", "missing"],
    ... )
    'Use --n-components <= 3, or --exclude a,b, --missing skip.'
    >>> in_options(
    ...     "solver=Sketch(passes=3) and solver='dense'", ["solver", "passes"]
    ... )
    'solver=Sketch(passes=3) and --solver dense'
    """
    known = "|".join(names)
    alone = "|".join(name for name in names if "_" in name) or "(?!)"

    def option(match: re.Match[str]) -> str:
        if match["object"]:  # such as Sketch(passes=2)
            return match["object"]
        name, value = (match["name"] or match["alone"]).replace("_", "-"), match["value"] or ""
        if name == "header":
            return "--no-header" if value == "None" else "--header"
        if value[:1] == "(":  # a height and a width
            value = "x".join(re.findall(r"\d+", value))
        elif value[:1] == "[":
            value = ",".join(re.findall(r"'([^']*)'", value))
        value = {"None": "all", "True": ""}.get(value, value.strip("'\""))
        return f"--{name} {value}".strip()

    value = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\(\d+, \d+\)|-?\w+(?:\.\d+)?"
    named = rf"\b(?P<name>{known})=(?!\w+\()(?P<value>{value})?|\b(?P<alone>{alone})\b"
    return re.sub(rf"(?P<object>\b\w+\([^()]*\))|{named}", option, text)


def fail(message: str) -> NoReturn:
    """Print an error in one line and exit with code 2.

    >>> fail("views must be a whole number of at least 1000, got 3.")
    Traceback (most recent call last):
        ...
    SystemExit: 2
    """
    print("eigenstream:", *message.split(), file=sys.stderr)
    sys.exit(2)
