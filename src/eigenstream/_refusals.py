"""What a refusal owes its caller: everything as it was before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["unchanged_on_error"]


@contextmanager
def unchanged_on_error(learner: Any) -> Iterator[None]:
    """Take back the attributes that a refused call has set; what they hold is not copied.

    >>> from types import SimpleNamespace
    >>> learner = SimpleNamespace(width=3)
    >>> with unchanged_on_error(learner):
    ...     learner.width, learner.mean = 4, 0.5
    ...     raise ValueError("4 columns, and 3 were learned")
    Traceback (most recent call last):
        ...
    ValueError: 4 columns, and 3 were learned
    >>> learner
    namespace(width=3)
    """
    before = dict(vars(learner))
    try:
        yield
    except BaseException:
        # scikit-learn's own bookkeeping of callbacks must stay, for their teardown.
        after = {k: v for k, v in vars(learner).items() if k.startswith(("_skl", "_callback"))}
        vars(learner).clear()
        vars(learner).update(before | after)
        raise
