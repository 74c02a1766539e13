"""scikit-learn's callbacks (from 1.9 on); before that, nothing."""

from collections.abc import Iterable, Iterator
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands where scikit-learn has no callbacks yet."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "reported", "with_callbacks"]


def reported(estimator: Any, chunks: Iterable[Any], n_chunks: int | None, X: Any) -> Iterator[Any]:
    """Yield the chunks of a fit, telling the estimator's callbacks of each one.

    A callback that asks to stop ends the pass after the chunk at hand.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield from chunks
        return
    context = estimator._init_callback_context(max_subtasks=n_chunks)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    for chunk in chunks:
        task = context.subcontext(task_name="chunk")
        task.call_on_fit_task_begin(estimator=estimator, X=X)
        yield chunk
        if task.call_on_fit_task_end(estimator=estimator, X=X):
            break
    context.call_on_fit_task_end(estimator=estimator, X=X)
