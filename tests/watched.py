"""The warnings of a call, and its memory."""

import tracemalloc
import warnings


def messages(call):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        call()
    return [str(one.message) for one in caught]


def measured(call):
    """Return what a call returns, and the most memory that it takes, in bytes."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
