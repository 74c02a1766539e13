"""solver="flow": learning online, one observation at a time, without any D x D matrix."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input
from eigenstream.estimators.base import Solution, SubspaceEstimator
from eigenstream.rules.base import UnstableStepError
from eigenstream.solvers import dense
from eigenstream.solvers.base import Eigenpairs
from eigenstream.solvers.flow import FlowSolution, FlowSolver


class OnlineSupport(SubspaceEstimator):
    """What an estimator needs to learn by the Oja-Karhunen flow."""

    # What a subclass's __init__ sets.
    center: bool
    schedule: Any
    init: Any
    block_size: int | None
    hook: Callable[..., Any] | None
    random_state: Any

    # What learning sets.
    _flow: FlowSolver
    _tracked: Contrast | None

    @abstractmethod
    def _lag(self) -> int:
        """Return how many rows back the contrast looks."""

    @abstractmethod
    def _new_contrast(self, n_features: int) -> Contrast:
        """Return the empty contrast for rows of this width."""

    @abstractmethod
    def _fixed_weights(self) -> tuple[float, float] | None:
        """Return the weights of the two scatters, or None where the data choose them."""

    @abstractmethod
    def _flow_details(self, solution: FlowSolution) -> tuple[Eigenpairs, dict[str, Any]]:
        """Return the eigenpairs and what else the estimator's results need."""

    def _new_flow(self, width: int) -> FlowSolver:
        """Return the online solver that the parameters ask for."""
        weights = self._fixed_weights()
        assert weights is not None
        return FlowSolver(
            self._wanted(width),
            weights=weights,
            lag=self._lag(),
            center=self.center,
            schedule=self.schedule,
            init=self.init,
            forgetting=self.forgetting,
            random_state=self.random_state,
            block_size=self.block_size,
            hook=self.hook,
            hook_every=getattr(self.hook, "every", 1000),
        )

    @abstractmethod
    def _waiting(self, n_rows: int, sequence_rows: int) -> str:
        """Say what a stream without a single term is waiting for."""

    def _begin_flow(self, width: int) -> None:
        self._flow = self._new_flow(width)
        # The exact answer to compare with takes the scatters; only a hook asks for it.
        exact = getattr(self.hook, "exact", False)
        self._tracked = self._new_contrast(width) if exact else None
        self.solver_ = "flow"

    def _learn_online(self, rows: Any, part: _input.Chunk) -> None:
        """Learn from one chunk (``rows`` are the chunk's, behind the feature map)."""
        exact = None
        if self._tracked is not None:
            self._tracked.add_checked(rows, part.weights, new_sequence=part.new_sequence)
            exact = self._exact_columns
        before = self._flow.n_rows
        try:
            self._flow.update(rows, part.weights, new_sequence=part.new_sequence, exact=exact)
        finally:
            # Rows that a hook, or an unstable step, had dropped were not left out by us.
            learned = max(self._flow.n_rows - before, 0)
            self._skipped = self._skipped.plus(part.holes.between(0, learned))

    def _exact_columns(self) -> Float64s:
        """Return the exact answer on all the rows that have come in."""
        assert self._tracked is not None
        matrix = self._tracked.matrix()
        return dense.largest(matrix, self._wanted(len(matrix))).vectors

    @contextmanager
    def _keeping_good_blocks(self, unstable: list[UnstableStepError]) -> Iterator[None]:
        """Note an unstable step instead of raising it: what was learned before it stays."""
        try:
            yield
        except UnstableStepError as error:
            unstable.append(error)

    def _solve_flow(self) -> Solution:
        """Return what the flow has learned, rows that wait for their block included."""
        if self._flow.n_terms == 0:
            waiting = self._waiting(self._flow.n_rows, self._flow.sequence_rows)
            raise NotFittedError(f"{type(self).__name__} {waiting}")
        solution = self._flow.solution()
        # The gain looks at fourth powers.
        size = max(float(np.abs(solution.mean).max()), np.sqrt(solution.total))
        _input.check_not_vanishing(size, solution.total, np.sqrt(_input.SMALLEST_VALUE))
        pairs, details = self._flow_details(solution)
        return Solution(pairs, np.asarray(solution.mean), solution.n_rows, details)

    def _check_flow(self) -> None:
        """Refuse what the flow cannot do."""
        if not isinstance(self.n_components, int | np.integer):
            raise ValueError(
                "solver='flow' learns a fixed number of directions: n_components must be a whole "
                f"number, got {self.n_components!r}. Use solver='dense'."
            )
