"""A warning if one row has much of the variance."""

import numpy as np
import pytest

from eigenstream import SlowSubspace
from eigenstream.processes import Autoregressive
from eigenstream.streams import open_stream

ROWS = Autoregressive(np.linspace(0.95, 0.4, 14), random_state=0).take(3000) + 43.0


@pytest.mark.parametrize("parameters", [{}, {"lag": 7}, {"criterion": "ratio"}, {"scale": True}])
def test_a_row_of_huge_size_gives_a_warning(parameters):
    rows = ROWS.copy()
    rows[900] += 700.0
    for data in (rows, open_stream(rows, chunk_rows=1000), np.split(rows, 2)):
        with pytest.warns(UserWarning, match=r"one row has \d+% of the variance of all rows"):
            SlowSubspace(2, **parameters).fit(data)


@pytest.mark.filterwarnings("error:one row has")
def test_ordinary_rows_give_no_warning():
    rng = np.random.default_rng(0)
    for rows in (
        ROWS,
        ROWS - 43.0,
        rng.standard_t(5, (1000, 3)),
        np.exp(rng.normal(size=ROWS.shape)),
    ):
        for model in (SlowSubspace(2), SlowSubspace(2, criterion="ratio")):
            model.fit(rows)
