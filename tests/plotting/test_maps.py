"""Pictures of maps: what is drawn where."""

import numpy as np
import pytest

from eigenstream import plotting
from eigenstream.prototypes import ClassMap, Grid


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
def test_cells_lie_where_units_do_and_do_not_overlap(topology):
    grid = Grid(3, 4, topology)
    ax = plotting.map_plane(grid, np.arange(12).reshape(3, 4), label="value")
    cells = ax.collections[0]
    corners = [path.vertices[:-1] for path in cells.get_paths()]
    np.testing.assert_allclose([one.mean(axis=0) for one in corners], grid.positions, atol=1e-12)
    np.testing.assert_array_equal(cells.get_array(), np.arange(12))
    # Cells fill the plane: their area is that of a unit's share of the grid.
    x, y = corners[0].T
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    assert area == pytest.approx(np.sqrt(grid.row_square))


def test_classes_are_paler_where_they_mix():
    counts = np.array([[4.0, 0.0], [1.0, 3.0], [0.0, 0.0]])
    found = ClassMap(np.array(["a", "b"]), counts, (3,))
    ax = plotting.map_classes(Grid(1, 3), found)
    faces = ax.collections[0].get_facecolors()
    np.testing.assert_allclose(faces[:, 3], [1.0, 0.75, 0.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_many_classes_are_written_on_their_units():
    names = np.array([f"class {k}" for k in range(52)])
    counts = np.vstack([np.eye(52), np.zeros((2, 52))])
    grid = Grid(6, 9, "hexagonal")
    ax = plotting.map_classes(grid, ClassMap(names, counts, (6, 9)))
    assert ax.get_legend() is None
    assert [text.get_text() for text in ax.texts] == [*names, "", ""]
    np.testing.assert_allclose([text.get_position() for text in ax.texts], grid.positions)


@pytest.mark.parametrize(("topology", "edges"), [("rectangular", 17), ("hexagonal", 23)])
def test_a_net_joins_the_nearest_units(topology, edges):
    grid = Grid(3, 4, topology)
    ax = plotting.map_net(grid, prototypes=grid.positions)
    segments = np.array(ax.collections[0].get_segments())
    assert len(segments) == edges
    np.testing.assert_allclose(np.linalg.norm(np.diff(segments, axis=1), axis=2), 1.0)
    with pytest.raises(ValueError, match="units in the plane"):
        plotting.map_net(grid, prototypes=np.zeros((12, 3)))
