"""The ``eigenstream`` command."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table as TerminalTable
from typer.core import TyperGroup

from eigenstream import __version__
from eigenstream.experiments._report import Table, as_json, replacing

Answer = TypeVar("Answer")

#: The chance of failing where none is given.
DELTA = 0.05

#: What typer raises about the command line, wherever its version keeps the class.
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
        except (ValueError, TypeError) as problem:
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


app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    asked: list[int] = []

    def end(number: int, frame: object) -> NoReturn:
        asked.append(number)
        sys.exit(128 + number)

    # Asked to end, clean up on the way out: no partial file stays.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Under nohup a signal is ignored, and so it stays.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    try:
        app()
    except BaseException:
        # A compiler that is interrupted raises an error of its own instead.
        if asked:
            sys.exit(128 + asked[0])
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"eigenstream {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def eigenstream(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say which version."),
    ] = False,
) -> None:
    """Learn low-dimensional features from streams, from time and from pairs."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Where the report goes, an HTML file.", dir_okay=False)
    ] = Path("report.html"),
    views: Annotated[int, typer.Option(help="How many views to learn from.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
) -> None:
    """Watch a page of print through a turning window; then tell rotated digits never seen."""
    from eigenstream.experiments import demo as experiment
    from eigenstream.experiments.base import Clock

    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {out}: the report is an HTML file. Name it {out.stem}.html.")
    console = Console()
    # The file is opened first: better to hear now than after the work that it cannot be written.
    with replacing(out) as page:
        with _progress() as listener:
            found = experiment.run(views, seed, Clock(listener))
        page.write(experiment.report(found).html())
    _print_table(console, experiment.table(found))
    console.print(
        f"The report is in [bold]{out}[/bold]; open it in a browser. "
        f"Next, try another page: {_own_name()} demo --seed {seed + 1}",
        highlight=False,
        soft_wrap=True,
    )


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments by name, or all.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    out: Annotated[
        Path, typer.Option(help="The folder for NAME.html and NAME.json.", file_okay=False)
    ] = Path("reports"),
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the observations.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="As many observations as the paper.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="How many seeds to repeat everything with.")] = 3,
) -> None:
    """Make the papers' tables and figures again, with theirs beside ours."""
    from eigenstream._checks import check_whole
    from eigenstream.experiments import known
    from eigenstream.experiments.base import Clock, Effort

    console = Console()
    experiments = known()
    if listed:
        if names or quick or full:
            raise ValueError("--list goes alone.")
        width = max(map(len, experiments))
        for name, experiment in experiments.items():
            print(f"{name:{width}}  {experiment.summary}")
        return
    wanted = _named(names or [], list(experiments))
    check_whole(seeds, "seeds")
    if quick and full:
        raise ValueError("--quick and --full exclude each other.")
    effort: Effort = "quick" if quick else "full" if full else "default"
    with _folder(out):
        for name in _with_data(wanted, experiments, named="all" not in (names or [])):
            with (
                replacing(out / f"{name}.html") as page,
                replacing(out / f"{name}.json") as numbers,
            ):
                with _progress() as listener:
                    outcome = experiments[name].run(effort, seeds, Clock(listener))
                page.write(outcome.report.html())
                numbers.write(as_json(outcome.numbers))
            console.print(f"[bold]{name}[/bold]", highlight=False)
            _print_table(console, outcome.table)
            console.print(
                f"The report is in [bold]{out / name}.html[/bold], every number in {name}.json.",
                highlight=False,
                soft_wrap=True,
            )


def _named(names: list[str], experiments: list[str]) -> list[str]:
    """Return the experiments asked for, once each; refuse none and unknown ones."""
    if not names:
        raise ValueError(f"say which experiments: all, or some of {', '.join(experiments)}.")
    unknown = [name for name in names if name not in (*experiments, "all")]
    if unknown:
        raise ValueError(
            f"there is no experiment {unknown[0]!r}; known: {', '.join(experiments)}, or all."
        )
    return experiments if "all" in names else list(dict.fromkeys(names))


def _with_data(wanted: list[str], experiments: Any, named: bool) -> Iterator[str]:
    """Refuse an experiment asked for by name whose data are missing; of all, leave it out.

    What is left out is said when its turn comes: a refusal stands alone.
    """
    missing = {name: line for name in wanted if (line := experiments[name].missing())}
    if named and missing:
        raise ValueError("{}: {}".format(*next(iter(missing.items()))))
    for name in wanted:
        if name in missing:
            print(f"{name} is left out: {missing[name]}", file=sys.stderr)
        else:
            yield name


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make a folder for what comes; take it away again if nothing did."""
    fresh = not path.exists()
    try:
        path.mkdir(exist_ok=True)
    except OSError as refusal:
        raise OSError(f"cannot make the folder {path}: {refusal.strerror}") from refusal
    try:
        yield
    finally:
        if fresh and not any(path.iterdir()):
            path.rmdir()


bound = typer.Typer(help="How much data is enough? What the theory promises.")
app.add_typer(bound, name="bound")

Directions = Annotated[int, typer.Option("--d", help="How many directions are learned.")]
Precision = Annotated[
    float | None, typer.Option(help="The gap wanted: how much data? With --m: how sure?")
]
Delta = Annotated[float | None, typer.Option(help="The chance of failing; 0.05 if left out.")]


@bound.command("slow")
def bound_slow(
    d: Directions,
    mixing: Annotated[
        list[str],
        typer.Option(
            help="How fast the process forgets: independent, finite:a0, geometric:c,rho, "
            "algebraic:c,r, table:beta(0),beta(1),... or a sum of these. Repeat it to compare."
        ),
    ],
    m: Annotated[int | None, typer.Option("--m", help="How many rows there are.")] = None,
    precision: Precision = None,
    delta: Delta = None,
    alpha: Annotated[float | None, typer.Option(help="A known alpha is sharper than any.")] = None,
    lag: Annotated[int, typer.Option(help="The time step of the velocity.")] = 1,
    tight: Annotated[bool, typer.Option("--tight", help="Skip the proof's last rounding.")] = False,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the gap against m into this file (.png, .svg).", dir_okay=False),
    ] = None,
) -> None:
    """Bound the gap between a slow subspace's objective on the data and the true one."""
    from eigenstream import theory

    known: dict[str, Any] = {"alpha": alpha, "lag": lag, "tight": tight}

    def answer(mixing: theory.MixingProfile) -> theory.Deviation:
        return _asked(
            m,
            precision,
            delta,
            lambda m, delta: theory.slow_bound(m, d, delta, mixing, **known),
            lambda precision, delta: theory.slow_samples(precision, d, delta, mixing, **known),
            lambda m, precision: theory.slow_confidence(m, d, precision, mixing, **known),
        )

    profiles = {text: theory.from_text(text) for text in mixing}
    answers = {text: answer(profile) for text, profile in profiles.items()}
    if picture is not None:
        from eigenstream import plotting

        chance = DELTA if delta is None else delta
        with replacing(picture) as file:
            drawn = plotting.bounds(profiles, d, delta=chance, **known)
            plotting.save(drawn, file.buffer, picture.suffix[1:])
    print(f"The gap of the objective, {d} directions, data of norm at most 1/2:")
    for text, found in answers.items():
        print(f"  {text}: {found}")


@bound.command("pairs")
def bound_pairs(
    d: Directions,
    margin: Annotated[float, typer.Option(help="In (0, 1), chosen before seeing the data.")],
    m: Annotated[int | None, typer.Option("--m", help="How many independent pairs.")] = None,
    precision: Precision = None,
    delta: Delta = None,
    risk: Annotated[float, typer.Option(help="The margin risk on the data.")] = 0.0,
) -> None:
    """Bound the risk of a projection learned from pairs by its margin risk on the data."""
    from eigenstream import theory

    found = _asked(
        m,
        precision,
        delta,
        lambda m, delta: theory.pair_bound(m, d, margin, delta, empirical_risk=risk),
        lambda gap, delta: theory.pair_samples(gap, d, margin, delta, empirical_risk=risk),
        lambda m, gap: theory.pair_confidence(m, d, margin, gap, empirical_risk=risk),
    )
    print(f"The risk of any projection on {d} directions, pairs at most 1 apart:")
    print(f"  {found}")


def _asked(
    m: int | None,
    precision: float | None,
    delta: float | None,
    gap_of: Callable[[int, float], Answer],
    m_of: Callable[[float, float], Answer],
    delta_of: Callable[[int, float], Answer],
) -> Answer:
    """Answer for the one of m, precision and delta that is left open."""
    if m is not None and precision is not None:
        if delta is not None:
            raise ValueError("--m and --precision together ask for delta: leave out --delta.")
        return delta_of(m, precision)
    chance = DELTA if delta is None else delta
    if m is not None:
        return gap_of(m, chance)
    if precision is not None:
        return m_of(precision, chance)
    raise ValueError("give --m (how far off?), --precision (how much data?) or both (how sure?).")


class _Bars:
    """A listener with a progress bar for each stage."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.task: TaskID | None = None

    def begin(self, stage: str, total: int) -> None:
        self.progress.start()  # not before there is something to show
        self.task = self.progress.add_task(stage, total=total)

    def advance(self, steps: int) -> None:
        if self.task is not None:
            self.progress.advance(self.task, steps)


@contextmanager
def _progress() -> Iterator[_Bars]:
    columns = (TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True))
    try:
        yield _Bars(progress)
    finally:
        if progress.live.is_started:
            progress.stop()


def _own_name() -> str:
    """Return what to type to get this command again."""
    typed = Path(sys.argv[0])
    if typed.name.startswith("eigenstream"):
        return "eigenstream" if which("eigenstream") else str(typed)
    return "python -m eigenstream"


def _print_table(console: Console, table: Table) -> None:
    drawn = TerminalTable(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for index, name in enumerate(table.header):
        # Folded, not cut: in a narrow window a number without its end is another number.
        drawn.add_column(name, justify="left" if index == 0 else "right", overflow="fold")
    for index, row in enumerate(table.rows):
        drawn.add_row(*row, style="bold cyan" if index in table.highlighted else None)
    console.print()
    console.print(drawn)
    console.print()


__all__ = ["app", "main"]
