"""Reading ahead: a thread reads the next chunk while the current chunk is learned."""

from collections.abc import Callable, Iterator
from contextlib import closing
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

__all__ = ["read_ahead"]

Item = TypeVar("Item")

#: The most chunks in the queue. More chunks take more memory.
QUEUED_CHUNKS = 2

#: The longest wait for the thread after an early end, because a thread may hang in a pipe.
JOIN_SECONDS = 5.0


def read_ahead(start: Callable[[], Iterator[Item]], queued: int = QUEUED_CHUNKS) -> Iterator[Item]:
    """Yield the items of an iterator that a thread runs ahead, with at most ``queued`` items ready.

    An error in the thread is raised here, after the items before it. Closing this generator ends
    the thread and closes the iterator.

    >>> list(read_ahead(lambda: iter(range(3))))
    [0, 1, 2]
    """
    queue: Queue[tuple[bool, Any]] = Queue(queued)
    stopped = Event()

    def work() -> None:
        end: tuple[bool, Any] = (False, None)
        try:
            with closing(_closable(start())) as items:
                for item in items:
                    queue.put((True, item))
                    del item  # frees its memory before the next item is read
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
            del item  # the consumer then holds the only reference
    finally:
        stopped.set()
        # Empty the queue, so that a thread that is blocked in put() continues and ends.
        try:
            while True:
                queue.get_nowait()
        except Empty:
            pass
        thread.join(JOIN_SECONDS)


def _closable(items: Iterator[Item]) -> Any:
    return items if hasattr(items, "close") else (item for item in items)
