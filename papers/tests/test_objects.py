"""The renderer of turning objects, and what a film of them teaches."""

import numpy as np

from eigenstream.demo import Clock
from papers import objects


def marched(balls, pose):
    """Return an image by walking along each ray in small steps, one sample at a time."""
    centres, radii = balls
    n = objects.SIZE * objects.SUPERSAMPLE
    samples = np.zeros((n, n))
    at = pose.apply(centres)
    for i, j in np.ndindex(n, n):
        for z in np.linspace(1.0, -1.0, 401):
            point = np.array([(j + 0.5) / n * 2 - 1, 1 - (i + 0.5) / n * 2, z])
            inside = np.flatnonzero(np.linalg.norm(point - at, axis=1) <= radii)
            if len(inside):
                normal = (point - at[inside[0]]) / radii[inside[0]]
                light = max(0.0, normal @ objects.LIGHT)
                samples[i, j] = objects.AMBIENT + (1 - objects.AMBIENT) * light
                break
    blocks = samples.reshape(objects.SIZE, objects.SUPERSAMPLE, objects.SIZE, -1)
    return blocks.mean(axis=(1, 3)).ravel()


def test_images_are_those_of_marched_rays(monkeypatch):
    monkeypatch.setattr(objects, "SIZE", 10)
    rng = np.random.default_rng(0)
    balls, pose = objects.random_object(rng), objects.random_poses(1, "any axis", rng)
    [image] = objects.rendered(balls, pose)
    # Steps of 0.005 shift the surface by up to 0.005, most at the rim.
    assert np.abs(image - marched(balls, pose[0])).mean() < 0.01


def test_a_turntable_keeps_the_height_of_every_ball():
    frames, shown = objects.film(
        [objects.random_object(np.random.default_rng(0))] * 2,
        30,
        "turntable",
        np.random.SeedSequence(0),
    )
    lit = frames.reshape(30, objects.SIZE, objects.SIZE).max(axis=2) > 0
    assert (lit == lit[0]).all()
    assert len(shown) == 30


def test_a_turntable_teaches_new_objects(monkeypatch):
    monkeypatch.setattr(objects, "FRAMES", {"tiny": 3000})
    monkeypatch.setattr(objects, "MOTIONS", ("turntable",))
    rows = objects.run("tiny", 1, Clock()).numbers["rows"]
    errors = {row["features"]: row["error"]["mean"] for row in rows}
    assert errors["turntable: linear, temporal pairs"] < 0.5 * errors["turntable: raw"]
