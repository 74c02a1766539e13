"""Reading ahead: the next chunk is made in a thread of its own while this one is learned."""

from collections.abc import Callable, Iterator
from contextlib import closing
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

__all__ = ["read_ahead"]

Item = TypeVar("Item")

#: Chunks that wait, at most.
WAITING = 2

#: How long an early end waits for the thread: one that hangs in a pipe must not hold up the rest.
PATIENCE = 5.0


def read_ahead(start: Callable[[], Iterator[Item]], waiting: int = WAITING) -> Iterator[Item]:
    """Yield what an iterator gives, made ahead in a thread: at most ``waiting`` items lie ready.

    An error in the thread is raised here, at its place in the order. Who stops early, or is
    interrupted, ends the thread and closes the iterator.

    >>> list(read_ahead(lambda: iter(range(3))))
    [0, 1, 2]
    """
    queue: Queue[tuple[bool, Any]] = Queue(waiting)
    stopped = Event()

    def work() -> None:
        end: tuple[bool, Any] = (False, None)
        try:
            with closing(_closable(start())) as items:
                for item in items:
                    queue.put((True, item))
                    del item  # not to be held while the next one is made
                    if stopped.is_set():
                        return
        except BaseException as error:
            end = (False, error)
        if not stopped.is_set():
            queue.put(end)

    thread = Thread(target=work, name="eigenstream reader", daemon=True)
    thread.start()
    try:
        while True:
            more, item = queue.get()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
            del item  # the consumer's chunk is free as soon as the consumer lets go of it
    finally:
        stopped.set()
        # Room for one more item, so that a thread that waits to put it sees that it is over.
        try:
            while True:
                queue.get_nowait()
        except Empty:
            pass
        thread.join(PATIENCE)


def _closable(items: Iterator[Item]) -> Any:
    return items if hasattr(items, "close") else (item for item in items)
