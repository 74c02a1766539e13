"""What the library says of itself in Python's words, in those of the command line."""

import re
import shlex

__all__ = ["as_options"]

#: Parameters that are options here by another name, and mean nothing else.
RENAMED = {
    "n_components": "-d",
    "n_prototypes": "--prototypes",
    "learning_rate": "--rate",
    "max_iter": "--passes",
    "random_state": "--seed",
}

#: Parameters that are options by their own name.
SAME = (
    *("columns", "rows", "sequence", "time", "gap", "size", "missing", "labels", "dtype"),
    *("delimiter", "decimal"),
    *("alpha", "eta", "lag", "solver", "features", "checkpoint", "every", "passes"),
    *("assignment", "forgetting", "topology", "training", "shape"),
)

#: Parameters that are flags.
FLAGS = {"scale": "--standardize", "resume": "--resume", "periodic": "--periodic"}

OPTIONS = RENAMED | FLAGS | {name: f"--{name}" for name in SAME}

#: A word in quotes, or several with "or" between them; and numbers, True, None, [...], (2, 3).
QUOTED = r"'[^']*'(?:(?:,| or|, or) '[^']*')*"
VALUE = rf"{QUOTED}|\[[^\]]*\]|\(\d+, \d+\)|[\w.+-]*[\w+-]"

#: What is said in other words here, before parameters become options.
PHRASES = (
    (r"\bStream\(([^,()]+), [^()]*\)", r"\1"),
    (r"open_stream\(\.\.\., (\w+=[^()]*)\)", r"\1"),
    (r", or learn chunk by chunk with partial_fit", ""),
    (r", or write the table with index=False", ", or write the table without its index"),
    (
        r"at which n_components eigenvalues are positive",
        "at which as many eigenvalues are positive as -d asks for",
    ),
    (r": give one, or alpha\.$", ": give one, or --alpha as a number."),
    (r" \(n_samples=(\d+)\)", r" (there are \1 rows)"),
    (r"Choose n_components <= (\d+), or None", r"Choose -d \1 or less, or all"),
    (r"n_components=None", "-d all"),
    (
        r"say shape=\(height, width\)",
        "--features gradients takes images of any size from files that hold them as such, of rows "
        "square ones only",
    ),
    (r"^y has (\d+) labels", r"--labels gives \1"),
    (r"features=.* is asked for, .* was there", "another --features is asked for than was there"),
    (r"all pairs are positive", "all pairs are equal"),
    (r"some negative pairs \(y = -1\)", "some unequal pairs"),
    (r"pass features=FrozenEstimator\(map\) to both", "give it to both (in Python, frozen)"),
    (r"use to_sklearn\(\), which keeps it", "in Python, to_sklearn() keeps it"),
    (
        r"Prepare the rows by a stream, and export what comes behind it: to_sklearn\(\)",
        "Fit rows that were prepared before, or export to .csv what comes behind the steps",
    ),
    (r"models come from eigenstream\.save", "models come from fit -o"),
    (r"The signs are understood: use", "The signs are understood: give"),
    # Values that differ from those of a checkpoint.
    (r"\((\d+), (\d+)\) was there", r"\1x\2 was there"),
    (r"'(\w+)' was there", r"\1 was there"),
    (
        r"(scale|periodic)=True is asked for, False was there",
        r"\1= is asked for, and was not there",
    ),
    (r"(scale|periodic)=False is asked for, True was there", r"there was \1=, and there is none"),
    (r"slice\(0, (\d+), 1\)", r"\1"),
    (r"slice\(0, None, 1\)", "all"),
    (r"slice\((\d+), (\d+|None), (\d+)\)", r"\1:\2:\3"),
    # Steps of preprocessing, as --through has them.
    (r"Use Standardize\(running=True\)", "Use --through standardize:running"),
    (r"Standardize\(running=True\)", "standardize:running"),
    (r"Standardize\(running=False\)", "standardize"),
    (r"LagEmbedding\(n_delays=(\d+), lag=1\)", r"lag-embedding:\1"),
    (r"LagEmbedding\(n_delays=(\d+), lag=(\d+)\)", r"lag-embedding:\1:\2"),
    (r"Differences\(lag=1\)", "differences"),
    (r"Differences\(lag=(\d+)\)", r"differences:\1"),
    (r"UnitNorm\(\)", "unit-norm"),
    (r"QuadraticExpansion\(\)", "quadratic-expansion"),
    (r"Preprocessing\(\[(.*?)\]\)", r"\1"),
)

#: What Python prints of an object stays as it is.
OBJECT = re.compile(r"([A-Z]\w*\([^()]*\))")
GIVEN = re.compile(rf"(?<![\w.-])({'|'.join(OPTIONS)})=({VALUE})?")
#: Where a refusal begins with a parameter, or says what to do with one.
NAMED = re.compile(rf"^({'|'.join(OPTIONS)})(?= (?:\([^)]*\) )?(?:must be|names)\b)")
ASKED = re.compile(
    rf"(?<=leave )(?:{'|'.join(OPTIONS)})(?= out)|(?<=Give )(?:alpha|eta)(?= as)|"
    r"(?<=Raise )(?:alpha|eta)\b|(?<=a smaller )lag\b|(?<=another )lag\b"
)
ALONE = re.compile(rf"(?<![\w.-])({'|'.join(RENAMED)})\b")


def as_options(message: str) -> str:
    """Return a message of the library with its parameters as the command line has them.

    >>> as_options("Mend it, or pass missing='skip'. Select others with columns=[...], or time=.")
    'Mend it, or pass --missing skip. Select others with --columns, or --time.'
    >>> as_options("scale=True is for solver='auto' or 'dense': leave scale out.")
    '--standardize is for --solver auto or dense: leave --standardize out.'
    >>> as_options("n_components=9 is more than the number of features, 3.")
    '-d 9 is more than the number of features, 3.'
    """
    for words, instead in PHRASES:
        message = re.sub(words, instead, message)
    message = NAMED.sub(lambda found: OPTIONS[found[1]], message)
    parts = OBJECT.split(message)
    parts[::2] = [_outside(part) for part in parts[::2]]
    return "".join(parts)


def _outside(words: str) -> str:
    words = GIVEN.sub(_given, words)
    words = ASKED.sub(lambda found: OPTIONS[found[0]], words)
    return ALONE.sub(lambda found: RENAMED[found[1]], words)


def _given(found: re.Match[str]) -> str:
    """Return an option with its value, as it would be typed."""
    name, value = OPTIONS[found[1]], found[2] or ""
    if found[1] in FLAGS:
        return name if value == "True" else f"{name} (not)" if value == "False" else name
    if value.startswith("["):
        value = ""
    elif value.startswith("("):
        value = "x".join(re.findall(r"\d+", value))
    words = re.sub(r"'([^']*)'", lambda one: shlex.quote(one[1]), value)
    return f"{name} {words}".rstrip()
