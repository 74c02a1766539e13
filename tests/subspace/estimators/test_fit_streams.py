"""fit of a stream: the same as of its rows, in the memory of some chunks."""

import numpy as np
import pytest

from eigenstream import Sketch, SlowSubspace, StreamPCA
from eigenstream.streams import open_stream

ROWS = np.random.default_rng(0).standard_normal((500, 6)).cumsum(axis=0)


def test_what_can_be_read_once(tmp_path):
    def chunks():
        yield from np.array_split(ROWS, 7)

    whole = SlowSubspace(2).fit(ROWS)
    once = SlowSubspace(2).fit(open_stream(chunks()))
    np.testing.assert_allclose(once.components_, whole.components_, atol=1e-9)
    with pytest.raises(ValueError, match="can be read only once"):
        StreamPCA(2, solver="krylov").fit(open_stream(chunks()))
    with pytest.raises(ValueError, match="can be read only once"):
        SlowSubspace(2, alpha=0.5, solver=Sketch(passes=2)).fit(open_stream(chunks()))
