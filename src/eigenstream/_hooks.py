"""What a floor may ask of one above it, by name: the package says who answers when it is imported.

Estimators have a ``report``, and a page takes pictures and a template, which lie floors above them.
Nothing below imports anything above: it calls what has been put here.
"""

from collections.abc import Callable
from typing import Any

#: Writes the page about an estimator: ``eigenstream.report``.
report: Callable[..., Any]
