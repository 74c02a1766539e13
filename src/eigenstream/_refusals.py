"""What a refusal owes its caller: words for what came instead of rows,
and all as it was before."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from os import PathLike, fspath
from types import MethodType
from typing import Any

from eigenstream._checks import is_sparse

__all__ = ["offered_if", "refuse_unread", "unchanged_on_error"]


class offered_if:
    """A method that is there only where ``check(self)`` raises no AttributeError.

    scikit-learn's ``available_if`` says that there is no such attribute; this one says why.

    >>> def awake(self):
    ...     raise AttributeError("there is no run while asleep: wake up first.")
    >>> class Runner:
    ...     @offered_if(awake)
    ...     def run(self): ...
    >>> hasattr(Runner(), "run"), hasattr(Runner, "run")
    (False, True)
    >>> Runner().run()
    Traceback (most recent call last):
        ...
    AttributeError: there is no run while asleep: wake up first.
    """

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Take the method that is offered."""
        self._method = method
        self.__doc__ = method.__doc__
        return self

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """Return the method of an object that offers it, or of the class."""
        if owner is None:
            return self._method
        self._check(owner)
        return MethodType(self._method, owner)


def refuse_unread(values: Any, name: str = "X") -> None:
    """Refuse what may hold rows and is none: names of files, streams, dicts, complex numbers.

    >>> refuse_unread((chunk for chunk in [[[1.0]]]))
    Traceback (most recent call last):
        ...
    TypeError: X is a generator, and rows are due: open_stream(X), of eigenstream.streams, is what
    fit takes; or pass its chunks to partial_fit one by one.
    """
    if isinstance(values, str | bytes | PathLike):
        path = fspath(values)
        raise TypeError(
            f"{name} is the name of a file, {path!r:.80}, and rows are due: "
            f"open_stream({path!r:.80}), of eigenstream.streams, is what fit takes; or read it "
            "first, such as by np.load(path, mmap_mode='r')."
        )
    if isinstance(values, list | tuple) and values:
        first = values[0]
        if isinstance(first, str | PathLike) and name in ("X", "pairs"):
            raise TypeError(
                f"{name} is a {type(values).__name__} of names, {str(first)!r:.80} first, and rows "
                f"are due: if they are files, open_stream({name}), of eigenstream.streams, is what "
                "fit takes, each a sequence."
            )
    if hasattr(values, "lagged_blocks"):
        raise TypeError(
            f"{name} is a stream, and rows are due: fit reads a stream itself, as do methods with "
            f"an answer for each row; here pass chunk.rows, for chunk in {name}."
        )
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") == "c":  # scikit-learn's words, which print the whole array
        raise ValueError(
            f"Complex data not supported: {name} has dtype {dtype}. Pass real numbers, such as the "
            "real and the imaginary parts side by side."
        )
    if isinstance(values, Mapping) and not is_sparse(values):  # some sparse ones are dicts
        first = ", ".join(f"{key!r:.20}" for key in islice(values, 3))
        more = ", ..." if len(values) > 3 else ""
        raise TypeError(
            f"{name} is a dict of {len(values)} entries ({first}{more}), and rows are due: "
            f"open_stream({name}), of eigenstream.streams, takes each entry as a sequence; or pass "
            f"list({name}.values()) where a list of sequences will do, or one entry."
        )
    if callable(values) and not hasattr(values, "__array__"):
        called = getattr(values, "__name__", type(values).__name__)
        raise TypeError(
            f"{name} is a function, {called:.40}, and rows are due: if it gives a new iterator of "
            f"chunks each time it is called, open_stream({name}), of eigenstream.streams, is what "
            f"fit takes; else pass {name}()."
        )
    loader = hasattr(values, "batch_sampler") and hasattr(values, "dataset")  # torch's
    if loader or (isinstance(values, Iterator) and not hasattr(values, "__array__")):
        kind = type(values).__name__
        raise TypeError(
            f"{name} is a {kind}, and rows are due: open_stream({name}), of eigenstream.streams, "
            "is what fit takes; or pass its chunks to partial_fit one by one."
        )


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
