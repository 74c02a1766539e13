import numpy as np
import pytest
from scipy.linalg import null_space

from eigenstream.evaluation import captured, subspace_angles


def test_angles_of_known_planes():
    # e1 is shared; e2 and cos t e2 + sin t e3 stand t apart.
    t = 0.3
    left = np.eye(4)[:, :2]
    right = np.array([[1, 0, 0, 0], [0, np.cos(t), np.sin(t), 0]]).T
    np.testing.assert_allclose(subspace_angles(left, right), [t, 0.0], atol=1e-7)
    np.testing.assert_allclose(subspace_angles(left, left @ [[2.0, 1.0], [0.0, 3.0]]), 0, atol=1e-7)
    np.testing.assert_allclose(subspace_angles(left, null_space(left.T)), np.pi / 2)


def test_captured_share():
    T = np.diag([4.0, 2.0, 1.0, -3.0])
    assert captured(np.eye(4)[:, :2], T) == pytest.approx(1.0)
    assert captured(np.eye(4)[:, 1:3], T) == pytest.approx(0.5)
    assert captured(np.eye(4)[:, 3:], T) == pytest.approx(-0.75)
    # Only the span counts, not its basis.
    assert captured(np.eye(4)[:, :2] @ [[1.0, 5.0], [0.0, 2.0]], T) == pytest.approx(1.0)


def test_no_subspace_captures_more_than_all():
    rng = np.random.default_rng(0)
    for _ in range(50):
        T = rng.normal(size=(6, 6))
        T = T + T.T + 2 * np.eye(6)
        assert captured(rng.normal(size=(6, 2)), T) <= 1 + 1e-12


def test_bad_input():
    with pytest.raises(ValueError, match="such as components_"):
        subspace_angles(np.ones((2, 5)), np.ones((2, 5)))
    with pytest.raises(ValueError, match="Pass components_"):
        subspace_angles(np.ones((5, 1)), np.ones((4, 1)))
    with pytest.raises(ValueError, match="operator has shape"):
        captured(np.ones((5, 1)), np.eye(4))
    with pytest.raises(ValueError, match="not positive"):
        captured(np.eye(3)[:, :1], -np.eye(3))
    with pytest.raises(ValueError, match="operator contains NaN"):
        captured(np.eye(3)[:, :1], np.full((3, 3), np.nan))
