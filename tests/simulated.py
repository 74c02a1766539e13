"""Students of the dynamics of learning, with chosen overlaps, and their shares of rows."""

import numpy as np


def students_with(R, Q, directions, random_state=0):
    """Students J = R B + sqrt(Q - R R^T) E with random orthonormal E, orthogonal to B."""
    R, Q, B = (np.asarray(values, float) for values in (R, Q, directions))
    draws = np.random.default_rng(random_state).standard_normal((len(R), B.shape[1]))
    E = np.linalg.qr((draws - draws @ B.T @ B).T)[0].T
    E -= E @ B.T @ B
    values, vectors = np.linalg.eigh(Q - R @ R.T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return R @ B + root @ E


def shares(model, fields):
    """The shares by which prototypes with these fields move to each row."""
    if model.neighborhood is not None and model.neighborhood.ndim == 1:
        return model.neighborhood[np.argsort(np.argsort(-fields, axis=1), axis=1)]
    if model.softness is None:
        table = np.eye(fields.shape[1]) if model.neighborhood is None else model.neighborhood
        return table.T[fields.argmax(axis=1)]
    p = np.exp(model.softness * (fields - fields.max(axis=1, keepdims=True)))
    return p / p.sum(axis=1, keepdims=True)
