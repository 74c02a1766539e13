"""The floors of docs/architecture.md, kept by walking the syntax trees (deferred imports count)."""

import ast
from pathlib import Path

import pytest

import eigenstream
from eigenstream.learners.table import WAYS

ROOT = Path(eigenstream.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

#: What lies directly in the package, by the floor from which it imports only downward.
FLOORS = {
    "_blas": 0,
    "_checkpoints": 0,
    "_checks": 0,
    "_documented": 0,
    "_files": 0,
    "_hooks": 0,
    "_linalg": 0,
    "_memory": 0,
    "_provenance": 0,
    "_refusals": 0,
    "_state": 0,
    "_rows": 1,
    "_streams": 1,
    "kernels": 1,
    "pair_sampling": 1,
    "rules": 1,
    "scatters": 1,
    "schedules": 1,
    "terms": 1,
    "theory": 1,
    "contrast": 2,
    "evaluation": 2,
    "features": 2,
    "processes": 2,
    "solvers": 2,
    "learners": 3,
    "estimators": 4,
    "neurons": 4,
    "prototypes": 4,
    "distributed": 5,
    "models": 5,
    "plotting": 5,
    "streams": 4,
    "testing": 5,
    "experiments": 6,
    "reports": 7,
    "cli": 8,
    "__main__": 9,
}

#: Folders inside folders. They import from the folder around them, never from each other.
ROOMS = {
    "estimators": ("temporal", "pairs"),
    "learners": ("temporal", "pairs", "online", "sketch", "prototypes"),
    "experiments": ("report", "data", "slow", "hpca", "dynamics", "prototypes", "neurons"),
    "rules": ("engine", "hebbian", "competitive", "supervised"),
    "theory": ("bounds", "mixing", "dynamics"),
}

#: Except for these, on which the other rooms of the same folder stand.
GROUND = {
    "experiments": ("report", "data"),
    "learners": ("online", "sketch"),
    "rules": ("engine",),
}

#: The modules that gather the members of their folder, beside its __init__.
TABLES = {("learners", "table")}

#: Folders that are planned; one that has come is taken off this list.
FUTURE = {
    "distributed",
}

#: Libraries that only these places may import.
HOMES = {
    "numba": ("kernels", "rules/engine/_lanes", "rules/engine/_short_tiles", "rules/engine/_tiles"),
    "llvmlite": ("rules/engine/_lanes", "rules/engine/_short_tiles", "rules/engine/_tiles"),
    "matplotlib": ("plotting",),
    "dask": ("distributed",),
    "jinja2": ("experiments/report",),
    "typer": ("cli",),
    "pyarrow": ("streams",),
    "h5py": ("streams",),
    "zarr": ("streams",),
    "av": ("streams",),
    "soundfile": ("streams",),
    "fsspec": ("streams",),
    "safetensors": ("models",),
    "skl2onnx": ("models",),
}


def named(path):
    """What a test of one module is called."""
    return ".".join(inside(path)) or "eigenstream"


def inside(path):
    """The module's path below the package, e.g. ("solvers", "dense")."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def package_of(path):
    """The path of the folder that holds the module; of a package, its own."""
    return path.parent.relative_to(ROOT).parts


def found(parts):
    """The module or folder of such a path below the package, or None."""
    place = ROOT.joinpath(*parts)
    return place if place.is_dir() or place.with_suffix(".py").exists() else None


def imports(path):
    """Every import as (module below the package or None, name), at any depth of the tree."""
    here = ("eigenstream", *package_of(path))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield tuple(alias.name.split(".")), None
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else ()
            module = (*base, *((node.module or "").split(".") if node.module else ()))
            for alias in node.names:
                # "from package import name": the name may be a module of its own.
                if module[0] == "eigenstream" and found((*module[1:], alias.name)):
                    yield (*module, alias.name), None
                else:
                    yield module, alias.name
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            yield tuple(name.split(".")), None


def under(parts, place):
    """Whether a module lies in the folder, or is the file, of that path."""
    place = tuple(place.split("/"))
    return parts[: len(place)] == place


def shared(here, target):
    """Whether a module may use another of the same folder at the top of the package."""
    common = 0
    while common < min(len(here), len(target)) and here[common] == target[common]:
        common += 1
    if common == len(target):  # the folder around it, or the module itself
        return True
    name = target[common]
    if name == "base" or name.startswith("_"):
        return True
    ground = GROUND.get("/".join(target[:common]), ())
    return name in ground and not (len(here) > common and here[common] in ground)


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_go_downward(path):
    here = inside(path)
    if not here:
        pytest.skip("the package's own __init__ gathers the public names from every floor")
    floor = FLOORS[here[0]]
    for module, _ in imports(path):
        name = ".".join(module)
        if module[0] in HOMES:
            homes = HOMES[module[0]]
            assert any(under(here, home) for home in homes), f"{name} is imported outside {homes}"
        target = module[1:]
        if module[0] != "eigenstream" or not target:  # "from eigenstream import __version__"
            continue
        if target[0] == here[0]:
            gathers = path.name == "__init__.py" and target[: len(here)] == here
            gathers = gathers or here in TABLES
            assert gathers or shared(here, target), (
                f"{'.'.join(here)} imports its sibling {name}; inside a floor only base is shared"
            )
        else:
            # What floor 0 shares is _checks; what a package shares is its base.
            shared_base = FLOORS[target[0]] == floor and target[-1] in ("base", "_checks")
            assert FLOORS[target[0]] < floor or shared_base, (
                f"{'.'.join(here)} (floor {floor}) imports {name} ({FLOORS[target[0]]})"
            )


def private_of_others(path):
    """Every private name that a module imports from outside its packages, and who holds it."""
    here = package_of(path)
    for module, name in imports(path):
        if module[0] != "eigenstream":
            continue
        parts = module[1:] if name is None else (*module[1:], name)
        for at, part in enumerate(parts):
            if not part.startswith("_") or part.startswith("__"):
                continue
            holder = parts[:at]
            if not ROOT.joinpath(*holder).is_dir():  # a name of a module: its folder holds it
                holder = holder[:-1]
            if here[: len(holder)] != holder:
                yield ".".join(parts), holder


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_private_names_stay_inside_their_package(path):
    for name, holder in private_of_others(path):
        raise AssertionError(
            f"{named(path)} imports {name}, which is private to eigenstream.{'.'.join(holder)}: "
            "give it a public home"
        )


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_module_is_long(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 400, f"{path.name} has {lines} lines"


def test_every_folder_is_known():
    folders = {"/".join(package_of(path)) for path in MODULES} - {""}
    known = set(FLOORS) | {f"{place}/{room}" for place, rooms in ROOMS.items() for room in rooms}
    assert folders <= known, f"no floor is known for {sorted(folders - known)}"
    absent = {name for name in known if not found(name.split("/"))}
    assert absent <= FUTURE, f"not there, and not planned: {sorted(absent - FUTURE)}"
    assert {inside(path)[0] for path in MODULES if inside(path)} <= set(FLOORS)


def test_tests_mirror_the_source():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    for folder in folders:
        assert (ROOT / folder).is_dir(), f"tests/{folder} is beside no folder of the source"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_function_is_handed_many_arguments(path):
    """At most eight, compiled ones and commands, too: what belongs together has a name.

    Constructors aside, whose arguments have names and defaults of their own.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        name = getattr(node, "name", "a lambda")
        given = node.args
        names = [one.arg for one in given.posonlyargs + given.args + given.kwonlyargs]
        count = len([name for name in names if name not in ("self", "cls")])
        assert count <= 8 or name in ("__init__", "__new__"), f"{name} takes {count} arguments"


def test_every_class_has_a_name_of_its_own():
    """Nested and private ones, too: who reads a name knows which class it is."""
    places = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(named(path))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, f"two classes of one name: {twice}"


def generators(body):
    """Names that statements bind to a random generator."""
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = ast.unparse(node.value.func).rpartition(".")[2]
            if made in ("default_rng", "RandomState", "Generator", "Random"):
                yield from (ast.unparse(target) for target in node.targets)


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.name)
def test_no_test_draws_from_a_shared_generator(path):
    """What it draws would depend on which tests ran before it, and in which process."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for scope in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        shared = set(generators(scope.body))
        for function in ast.walk(scope):
            if not isinstance(function, ast.FunctionDef | ast.Lambda):
                continue
            own = set(generators(ast.walk(function)))
            body = function.body if isinstance(function.body, list) else [function.body]
            for node in ast.walk(ast.Module(body, [])):
                name = ast.unparse(node).removeprefix("self.")
                assert name not in shared - own, (
                    f"line {function.lineno} draws from {name}, which all tests of the file share: "
                    "make one inside the test, with a seed"
                )


#: Where the names of ways to learn are compared: the table that maps each to its learner.
COMPARED = ("learners", "table")


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_name_of_a_solver_is_compared(path):
    """What a learner can do is declared by it; code that asks for its name forgets the next one."""
    if inside(path) == COMPARED:
        return
    solvers = {name for ways in WAYS.values() for name in ways}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            parts = [one for side in (node.left, *node.comparators) for one in ast.walk(side)]
        elif isinstance(node, ast.MatchValue):
            parts = list(ast.walk(node.value))
        else:
            continue
        texts = {one.value for one in parts if isinstance(one, ast.Constant)}
        assert not texts & solvers, f"{path.name}:{node.lineno} compares {ast.unparse(node)}"


#: The attributes of an object.
DICTS = ("vars(self)", "vars(made)", "vars(learner)", "__dict__")


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_nothing_asks_which_of_its_own_attributes_exist(path):
    """State is a value with a beginning; an attribute that may be missing is one nobody declared.

    Parameters are asked for by a name in a variable: which of them there are, a class says.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr"):
            asked = node.func.id == "hasattr" or len(node.args) > 2
            literal = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
            probes = asked and literal and ast.unparse(node.args[0]) in ("self", "made", "learner")
        elif isinstance(node, ast.Call):  # vars(self).get("_learner")
            literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
            probes = literal and ast.unparse(node.func).endswith(tuple(f"{d}.get" for d in DICTS))
        elif isinstance(node, ast.Compare):  # "_learner" in vars(self)
            literal = isinstance(node.left, ast.Constant)
            probes = literal and ast.unparse(node.comparators[0]).endswith(DICTS)
        else:
            continue
        assert not probes, (
            f"{path.name}:{node.lineno} asks {ast.unparse(node)}: give the attribute a value in "
            "the class"
        )
