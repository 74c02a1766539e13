"""The table of members is whole: nothing public is missing, and no law that could be checked."""

import inspect
import pkgutil
from importlib import import_module

import pytest
from sklearn.base import BaseEstimator

import eigenstream
import members
from eigenstream import (
    estimators,
    features,
    learners,
    neurons,
    processes,
    prototypes,
    rules,
    scatters,
    solvers,
)
from eigenstream.learners.base import Learner
from eigenstream.learners.table import WAYS
from members import MEMBERS, SCIKIT_LEARN

#: Commands and their pages have files and flags for input; their refusals are tested beside them.
ELSEWHERE = ("demo", "cli", "plotting", "__main__")

KNOWN = {
    *(type(member.estimator) for member in MEMBERS),
    *members.SCATTERS,
    *members.PROCESSES,
    *members.OTHERS,
    *members.MADE_BY_USERS,
    *members.RESULTS,
    *members.INSIDE,
}


def modules(package):
    """A package and all modules below it, imported."""
    inside = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package, *(import_module(one.name) for one in inside)]


def public_classes():
    """Every class that a public module directly below the package, or the package, offers."""
    names = [one.name for one in pkgutil.iter_modules(eigenstream.__path__)]
    names = [f"eigenstream.{n}" for n in names if not n.startswith("_") and n not in ELSEWHERE]
    found = set()
    for name in ["eigenstream", *names, "eigenstream.learners.online"]:
        module = import_module(name)
        own = [key for key, value in vars(module).items() if is_own(value, name)]
        for key in getattr(module, "__all__", own):
            if inspect.isclass(getattr(module, key)):
                found.add(getattr(module, key))
    return sorted(found, key=lambda one: f"{one.__module__}.{one.__qualname__}")


def is_own(value, name):
    public = not getattr(value, "__name__", "_").startswith("_")
    return public and getattr(value, "__module__", "") == name


@pytest.mark.parametrize("one", public_classes(), ids=lambda one: one.__name__)
def test_every_public_class_is_in_the_table(one):
    assert one in KNOWN or inspect.isabstract(one), (
        f"{one.__module__}.{one.__qualname__} is public, and no law is run on it: put it into the "
        "table of its kind in tests/members.py (or into MADE_BY_USERS, RESULTS or INSIDE there)."
    )


def concrete(package, base):
    """Every class below a package that can be made and is of a kind."""
    return {
        one
        for module in modules(package)
        for one in vars(module).values()
        if inspect.isclass(one) and issubclass(one, base) and not inspect.isabstract(one)
    }


def bases(kinds):
    """What some of the classes are made from."""
    return {base for one in kinds for base in one.__mro__[1:]}


def test_every_scatter_is_in_the_table_and_can_be_restored():
    every = concrete(scatters, scatters.Scatter)
    assert every == set(members.SCATTERS)
    assert every == set(scatters.KINDS.values())


def test_every_estimator_is_in_the_table():
    places = (estimators, features, neurons, prototypes)
    every = set().union(*(concrete(place, BaseEstimator) for place in places))
    ours = {one for one in every if one.__module__.startswith("eigenstream.")}
    assert ours - bases(ours) - {type(member.estimator) for member in MEMBERS} == set()


def test_every_process_is_in_the_table():
    assert concrete(processes, processes.Process) == set(members.PROCESSES)


def test_every_learner_is_a_way_to_learn():
    ways = {way for ways in WAYS.values() for way in ways.values()}
    every = concrete(learners, Learner)
    assert every - bases(every) <= ways <= every, "learners/table.py names each learner"


def test_every_rule_is_in_the_table():
    every = {
        value
        for module in modules(rules)
        for value in vars(module).values()
        if isinstance(value, rules.Rule)
    }
    assert every == set(members.RULES)


def test_every_solver_is_in_the_table():
    every = {one.name for one in pkgutil.iter_modules(solvers.__path__)} - {"base"}
    assert {name for name in every if not name.startswith("_")} == set(members.SOLVERS)


def owed(kind):
    """The laws that an estimator of this kind can be asked to keep."""
    model = kind()
    if not hasattr(kind, "fit"):
        return set()
    due = {7, 8}
    if not model.__sklearn_tags__().input_tags.pairwise and "pairs" not in {
        member.data for member in MEMBERS if type(member.estimator) is kind
    }:
        due.add(SCIKIT_LEARN)
    if hasattr(kind, "merge"):
        due |= {1, 2, 4, 5, 6}
    return due


#: Laws that are checked beside the member's own tests, and why not here.
NOT_HERE = {
    # Prototypes are no subspace, and their merging is approximate: tests/prototypes.
    "CompetitiveLearning": {1, 2, 4, 5, 6},
    "GradientOrientation": {SCIKIT_LEARN},  # on rows that are images: tests/features
}


@pytest.mark.parametrize(
    "kind", {type(member.estimator): 0 for member in MEMBERS}, ids=lambda one: one.__name__
)
def test_every_law_that_a_member_can_keep_is_checked_on_it(kind):
    checked = {law for one in MEMBERS if type(one.estimator) is kind for law in one.laws}
    missing = owed(kind) - checked - NOT_HERE.get(kind.__name__, set())
    assert not missing, f"{kind.__name__} could be asked for {sorted(map(str, missing))}"
