"""A function that numba cannot cache is compiled in memory, with one line in the log."""

from eigenstream.kernels.base import NOTICE, njit


def test_a_function_without_a_cache(caplog, monkeypatch):
    monkeypatch.setattr(NOTICE, "done", False)
    names = {"__name__": "eigenstream.example"}
    exec("def double(x): return 2 * x", names)  # numba finds no file beside which to cache
    double = njit(cache=True)(names["double"])
    assert (double(3), double(1.5)) == (6, 3.0)
    assert ["NUMBA_CACHE_DIR" in message for message in caplog.messages] == [True]
