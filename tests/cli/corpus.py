"""Hand every bad input to the command line, in this one process of a gigabyte of memory.

Asks for a folder, and prints what came of each in JSON.
"""

import json
import os
import resource
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from bad_models import LIES, MOMENT, NO_MODELS, ROWS, taken_apart, written
from bad_sources import CASES
from eigenstream import SlowSubspace, models
from eigenstream.cli import app

#: What this process may map to write to; what libraries only reserve is no memory.
LIMIT = 1 << 30


def asked(arguments, folder):
    """Run a command; return what came of it."""
    os.environ.pop("EIGENSTREAM_TEST_BOMB", None)
    before = tree(folder)
    result = CliRunner().invoke(app, arguments)
    return {
        "code": result.exit_code,
        "said": result.stderr,
        "printed": result.stdout,
        "left": tree(folder) == before,
        "bomb": "EIGENSTREAM_TEST_BOMB" in os.environ,
    }


def held():
    """Tell whether the limit holds."""
    try:
        np.ones(LIMIT // 8)
    except MemoryError:
        return True
    return False


def tree(folder):
    return sorted(
        (str(one), one.lstat().st_size) for one in folder.rglob("*") if not one.is_symlink()
    )


def options(given):
    """Return the options of ``open_stream`` as the command line has them."""
    found = []
    for name, value in given.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        found += [f"--{name}", text]
    return found


def sources(folder):
    """Yield the name of each bad source with what came of learning from it."""
    for label, (make, _, packages, given) in CASES.items():
        if any(find_spec(one) is None for one in packages):
            continue
        place = folder / f"s{len(os.listdir(folder))}"
        place.mkdir()
        source = str(make(place))
        words = ["fit", "pca", source, "-d", "1", "-o", str(place / "new.eigs"), *options(given)]
        yield f"source: {label}", asked(words, place)


def bad_models(folder):
    """Yield the name of each bad model with what came of using it."""
    np.save(folder / "rows.npy", ROWS)
    good = folder / "good.eigs"
    models.save(SlowSubspace(2).partial_fit(ROWS), good)
    for kind, names in (("no model", NO_MODELS), ("a lie", LIES)):
        for name in names:
            path = folder / "bad.eigs"
            if kind == "no model":
                NO_MODELS[name][0](path)
            else:
                outer, inner, data = taken_apart(good)
                outer[f"{MOMENT}.total"] |= LIES[name][0]
                written(path, outer, inner, data)
            words = ["transform", str(path), str(folder / "rows.npy"), "-o"]
            yield f"{kind}: {name}", asked([*words, str(folder / "f.npy")], folder)


def not_permitted(folder):
    """Yield what came of files that others may not read, asked for by nobody in particular."""
    secret = folder / "secret.npy"
    np.save(secret, ROWS)
    models.save(SlowSubspace(2).partial_fit(ROWS), folder / "secret.eigs")
    for path in (secret, folder / "secret.eigs"):
        path.chmod(0)
    folder.chmod(0o777)
    os.chdir(folder)  # nobody may come this way, but is there
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    yield "no permission: data", asked(["look", secret.name], Path())
    yield "no permission: model", asked(["inspect", "secret.eigs"], Path())


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    root = Path(sys.argv[1])
    np.save(root / "corpus.npy", ROWS)
    found = {"good": asked(["fit", "pca", str(root / "corpus.npy")], root), "held": held()}
    for each in (sources, bad_models, not_permitted):
        (root / each.__name__).mkdir()
        found |= dict(each(root / each.__name__))
    print(json.dumps(found))
