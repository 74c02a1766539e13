"""Run by test_kills: fits that are killed, again and again, and resume to the same answers.

One process imports the library, and forks for every attempt: it has no threads of its own, so that
a fork is safe, and an attempt takes a fraction of a second.
"""

import faulthandler
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import eigenstream
from eigenstream import (
    ClassSubspace,
    SelfOrganizingMap,
    Sketch,
    StreamPCA,
)
from eigenstream.persistence import load, model_file
from eigenstream.streams import LagEmbedding, Standardize, open_stream

KILLS = 12

#: The moments of writing at which a process may end: before and behind each step, and in the midst.
STAGES = ("save_file", "half", "saved", "fsync", "chmod", "replace", "replaced")


def data(folder):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1300, 6)) * np.linspace(3, 1, 6)
    rows[rng.random(rows.shape) < 0.01] = np.nan
    np.save(folder / "a.npy", rows[:900])
    np.savez(folder / "b.npz", rows[900:])


def fits(folder):
    """The fits, by name: each is the same call every time."""

    def stream():
        sources = [folder / "a.npy", folder / "b.npz"]
        found = open_stream(sources, chunk_rows=100, missing="interpolate")
        return found.through(Standardize(), LagEmbedding(2))

    def labelled(found):
        return found.with_labels(np.arange(1300) % 3)

    return {
        "dense": lambda **how: StreamPCA(3).fit(stream(), **how),
        "classes": lambda **how: ClassSubspace(2).fit(labelled(stream()), **how),
        "map": lambda **how: SelfOrganizingMap((3, 3), max_iter=2, random_state=0).fit(
            stream(), **how
        ),
        "sketch": lambda **how: StreamPCA(3, solver=Sketch(passes=2)).fit(stream(), **how),
    }


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(stage, nth):
    """Let this process end at a stage of writing the so-manieth checkpoint."""
    counts = dict.fromkeys(STAGES, 0)

    def reached(name):
        counts[name] += 1
        if name == stage and counts[name] == nth:
            die()

    def wrapped(owner, name, before, after=None):
        original = getattr(owner, name)

        def call(*given, **named):
            reached(before)
            found = original(*given, **named)
            if after == "saved":
                size = os.path.getsize(given[1])
                if stage == "half" and counts["half"] + 1 == nth:
                    os.truncate(given[1], size // 2)
                reached("half")
            if after is not None:
                reached(after)
            return found

        setattr(owner, name, call)

    wrapped(model_file, "save_file", "save_file", "saved")
    wrapped(os, "fsync", "fsync")
    wrapped(os, "chmod", "chmod")
    wrapped(os, "replace", "replace", "replaced")


def attempt(fit, folder, stage=None, nth=1, after=None):
    """Run a fit in a process of its own; return whether it has come to its end."""
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            if stage is not None:
                die_at(stage, nth)
            model = fit(checkpoint=folder / "fit.eigs", every=100, resume=True)
            eigenstream.save(model, folder / "model.eigs", date="whenever")
            os._exit(0)
        except BaseException as problem:
            print(f"{type(problem).__name__}: {problem}", flush=True)
            os._exit(1)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert os.waitstatus_to_exitcode(status) == 0, "the fit has failed"
    return True


def answers(path):
    """Return what the model of a file has found."""
    model = load(path)
    return model.prototypes_ if hasattr(model, "prototypes_") else model.components_


def main(folder):
    data(folder)
    rng = random.Random(0)
    expected, seconds = {}, {}
    for name, fit in fits(folder).items():
        begun = time.monotonic()
        assert attempt(fit, folder)
        seconds[name] = time.monotonic() - begun
        # The answers without checkpoints are the same.
        if not os.fork():
            eigenstream.save(fit(), folder / "plain.eigs", date="whenever")
            os._exit(0)
        os.wait()
        expected[name] = answers(folder / "model.eigs")
        np.testing.assert_allclose(answers(folder / "plain.eigs"), expected[name], atol=1e-9)
        (folder / "fit.eigs").unlink()
    kills, rounds, stages = 0, 0, set()
    while kills < KILLS or stages != set(STAGES):
        name = list(expected)[rounds % len(expected)]
        fit = fits(folder)[name]
        rounds += 1
        for _ in range(4):
            if rng.random() < 0.5:
                left = sorted(set(STAGES) - stages) or STAGES
                stage = rng.choice(left)
                over = attempt(fit, folder, stage, rng.randrange(1, 9))
                stages |= set() if over else {stage}
            else:
                over = attempt(fit, folder, after=rng.uniform(0, seconds[name]))
            kills += not over
            if (folder / "fit.eigs").exists():  # whole, whenever that was
                load(folder / "fit.eigs")
            if over:
                break
        if not over:
            assert attempt(fit, folder)
        found = answers(folder / "model.eigs")
        np.testing.assert_allclose(found, expected[name], atol=1e-9, err_msg=name)
        # A killed process leaves a hidden temporary file.
        left = sorted(one.name for one in folder.iterdir() if one.name[0] != ".")
        assert left == ["a.npy", "b.npz", "fit.eigs", "model.eigs", "plain.eigs"], left
        (folder / "fit.eigs").unlink()
        (folder / "model.eigs").unlink()
    print(f"{kills} kills in {rounds} fits, at {len(stages)} stages of writing")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
