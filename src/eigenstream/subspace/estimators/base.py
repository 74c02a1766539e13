"""Base of the subspace estimators: fit, partial_fit, merge."""

from abc import abstractmethod
from copy import copy, deepcopy
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_equal, check_unchanged, same_value, warn_user
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import Constraints, Parameters, RowsLike, StreamLike
from eigenstream.online import UnstableStepError
from eigenstream.rows.chunk import FIRST, Skipped
from eigenstream.rows.fit import Fit, Keeper, Resumption
from eigenstream.rows.guard import changes, guard_of, reads, snapshot, twin
from eigenstream.rows.prepared import check_same_input, merge_sources, note_source
from eigenstream.rows.rows import Rows
from eigenstream.subspace.estimators.mapping import FeatureMap, check_same_map
from eigenstream.subspace.estimators.projection import DEFAULT, Projection
from eigenstream.subspace.estimators.results import Result
from eigenstream.subspace.inference import uncertainty as _bars
from eigenstream.subspace.solvers.base import ADD, COUNT, MATRIX, MERGE, Need, Problem, Solver
from eigenstream.subspace.solvers.choice import SOLVERS, chosen_solver
from eigenstream.subspace.solvers.dense import HALVED_MATRICES, fits_dense
from eigenstream.subspace.solvers.kernels import KernelMap, RowSpan, check_map
from eigenstream.subspace.solvers.ratio_frame import RatioFrame
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import Passes

#: The values of parameters for which rows may stay on a device.
ON_DEVICES = {
    "solver": ("auto", "dense"),
    "features": (None,),
    "missing": ("raise",),
    "center": (True, False),
}


@storable(
    **FITTED,
    _skipped="Skipped",
    _solver="Solver?",
    _map="FeatureMap | None?",
    _learner="Learner | None?",
    _answer="Result | None?",
    _begun="dict?",
    _next_report="number?",
)
class SubspaceEstimator(Projection):
    """Base of the subspace estimators: parameters, a feature map, a learner and an answer.

    After ``partial_fit`` the answer is computed when a result is first read. A stream of small
    chunks therefore needs no decomposition for each chunk.

    Parameters
    ----------
    solver : {"auto", "dense", "sketch", "krylov", "flow", "kernel"} or an object, default="auto"
        "dense" stores D x D matrices. It is exact and supports all parameters. "sketch" reads the
        rows once and stores a few times n_components vectors. It is accurate on long stationary
        streams; ratios and alpha="auto" of time series need ``Sketch(passes=2)``. "krylov" reads
        the rows several times and forms no matrix. "flow" learns online by the Oja-Karhunen flow,
        from rows without labels.
        "kernel" is exact in the space of a kernel. "auto" uses "dense" if the matrices fit in
        memory, else "krylov" if the rows can be read again, else "sketch". A solver object has
        further parameters, such as ``Sketch(oversampling=4)``. For sparse rows in memory with more
        than 1,000 columns, "auto" prefers "krylov", which cannot continue by ``partial_fit``.
    features : transformer or "rbf", optional
        A map to apply first. "rbf" is ``RBFNetwork()``. ``features_`` is a clone that is fitted to
        all rows. ``partial_fit`` buffers rows until the map has seen ``n_rows_needed_`` rows. Pass
        a fitted map as ``sklearn.frozen.FrozenEstimator(map)``.
    missing : {"raise", "skip"}, default="raise"
        "skip" leaves out rows, and pairs of rows, with NaN or infinity. It warns if that affects
        10 % of the rows or more.
    """

    # Set by __init__ of the subclasses.
    n_components: Any
    solver: Any

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [COUNT, None],
        "solver": [StrOptions({"auto", *SOLVERS}), HasMethods(["begin"])],
        "features": [HasMethods(["fit", "transform"]), StrOptions({"rbf"}), None],
        "missing": [StrOptions({"raise", "skip"})],
    }
    #: Parameters that determine the dense solver's sums, and those that may change at any time.
    _SHAPING: ClassVar[tuple[str, ...]] = ("features", "center", "lag", "missing", "reversible")
    _FREE: ClassVar[tuple[str, ...]] = ("preprocessor", "solver")

    # Set by learning.
    _answer: Result | None = None
    _begun: Parameters
    #: The number of rows from which the next answer reports what the watchers saw. It doubles, so
    #: that ``partial_fit`` in small chunks costs few reports.
    _next_report: float = np.inf

    @abstractmethod
    def _problem(self, width: int) -> Problem:
        """Return the problem for a solver, with terms and watchers that have seen no row."""

    @abstractmethod
    def _solve(self, learner: Learner) -> Result:
        """Return the answer of a learner that has no pending rows."""

    @abstractmethod
    def _rows(self, *rows: RowsLike, **named: Any) -> Rows:
        """Return the checked rows of a call; ``reset=True`` for the first rows."""

    @abstractmethod
    def _check_enough(self, learner: Learner) -> None:
        """Raise ValueError if the learner has too few rows for an answer."""

    def set_params(self, **params: object) -> Self:
        """Set parameters of the estimator.

        Parameters of the solver, such as ``solver__passes``, need a solver object.

        Parameters
        ----------
        **params : dict
            The parameters to change.

        Returns
        -------
        self : object
            This estimator.
        """
        name = params.get("solver", self.solver)
        nested = [key for key in params if key.startswith("solver__")]
        if nested and isinstance(name, str):
            raise ValueError(
                f"solver={name!r} is a name, and {nested[0]} needs an object, such as "
                f"Sketch({nested[0][8:]}={params[nested[0]]!r})."
            )
        configured: Self = super().set_params(**params)
        return configured

    # ---- learning --------------------------------------------------------------------------

    def _begin(self, width: int, n_rows: int | None, *calls: Need, sparse: bool = False) -> Learner:
        """Return a learner for rows of this width, and store its solver and parameters."""
        solver = chosen_solver(self, width, n_rows, *calls, sparse=sparse)
        problem = self._problem(width)
        check_width(problem.n_components, width)
        self._solver, self._begun = solver, self._parameters()
        exact = MATRIX in solver.abilities and not solver.forgetting
        halved = exact and problem.halved and fits_dense(width, n_rows, HALVED_MATRICES)
        learner = solver.begin(problem)
        if halved:
            learner.halve()
        for name, watcher in problem.watchers.items():
            if exact or not watcher.of_exact_sums:
                learner.watchers[name] = watcher
        return learner

    #: The abilities that the class needs of a solver for any parameters.
    _needs: ClassVar[tuple[Need, ...]] = ()

    def _learn_all(self, fit: Fit, resumption: Resumption | None = None) -> None:
        """Learn from all rows, forgetting what was learned before."""
        if resumption is None:
            self._learner, self._answer = None, None
            self._fit_maps(fit)
        self._skipped, fit.noted = fit.skipped, lambda: self._noted(fit)
        if self._learner is None:
            needs = (Need("checkpoint=", ADD),) if fit.keeper else fit.rows.needs
            sparse = fit.map is None and fit.rows.sparse
            self._learner = self._begin(*fit.shape(), *needs, sparse=sparse)
            if fit.keeper is not None:
                fit.begin()
        learner = self._learner
        again = self._solver.passes > 1 or ADD not in self._solver.abilities
        if again and not fit.rows.rereadable:
            raise ValueError(
                f"{fit.source!r} can be read only once, but solver={self._solver!r} reads it "
                "several times. Write it to a file first, or use solver=Dense() or Sketch()."
            )
        try:
            self._learner = learner = self._solver.learn(learner, fit)
        except UnstableStepError as error:  # keep the state before the unstable block
            self._answer, error.keeps = self._result_of(learner), True
            raise
        self._skipped = fit.skipped
        ready = learner.with_all_rows()
        self._check_enough(ready)
        self._answer = self._result_of(ready)
        if isinstance(learner.sums, Passes):
            learner.sums.source = None
        self._report(fit)
        ready.span = None  # it takes the memory of the rows

    def _report(self, fit: Fit | None = None) -> Learner:
        """Warn once of what the watchers saw, and if many rows were skipped.

        The learner of all rows is returned.
        """
        learner = self._learner
        assert learner is not None
        ready = learner.with_all_rows()
        for name, watcher in ready.watchers.items():
            for message in () if watcher.warned else watcher.warnings(self, ready, fit):
                learner.watchers[name].warned = True
                warn_user(message)
        n_rows = ready.terms.n_rows
        self._next_report = 2 * n_rows
        if self._skipped.n_rows:
            self._skipped.warn(self, n_rows, self._row_word)
        return ready

    def _loaded(self) -> None:
        if "_learner" in vars(self) and not {"_solver", "_begun"} <= vars(self).keys():
            raise ValueError("the model has sums and no solver that made them.")

    @property
    def _named_solver(self) -> Solver | None:
        """The solver object of ``solver``, or None for "auto"."""
        named: Any = SOLVERS[self.solver]() if self.solver in SOLVERS else self.solver
        return None if isinstance(named, str) else named

    def _in_memory(self, stream: StreamLike) -> bool:
        """Return whether the solver needs the whole stream in memory."""
        solver = self._named_solver
        if solver is None or ADD in solver.abilities:
            return False
        return solver.own_map() is not None or not stream.rereadable

    def _fit_maps(self, fit: Fit) -> None:
        """Fit the feature map, or the map of a kernel, to all rows."""
        solver = self._named_solver
        own = None if solver is None else solver.own_map()
        if own is not None and self.features is not None:
            raise ValueError(
                f"solver={self.solver!r} cannot be combined with features={self.features!r}, "
                "because it maps the rows itself. Leave features out."
            )
        features = self.features if own is None else own
        self._map = fit.map = None if features is None else FeatureMap(features)
        if self._map is not None:
            fit.rows.fit_map(self._map)
            if self._map.ready:
                check_map(self._map.transformer)

    _row_word = "row"

    def _learn_more(self, rows: Rows) -> None:
        """Continue with the next rows of a stream."""
        begins = self._learner is None
        if begins and not self._collecting:
            self._skipped, self._next_report = Skipped(), 0
            self._map = None if self.features is None else FeatureMap(self.features)
            if self._map is not None and rows.maps_first:
                rows.fit_map(self._map)
        chunks = mapped = list(rows.chunks())  # check all rows before learning any
        if self._map is not None:
            self._map = deepcopy(self._map)
            mapped = [each for chunk in chunks for each in self._map.mapped(chunk)]
        if begins and mapped:  # else the feature map needs more rows
            width = mapped[0].rows.shape[1]
            self._learner = self._begin(width, None, Need("partial_fit", ADD))
        learner: Any = self._learner
        if learner is not None and isinstance(learner.sums, RatioFrame):
            raise ValueError(
                "A sketch of ratios or of alpha='auto' needs several passes, and partial_fit makes "
                "only one. Use fit, or solver='dense'."
            )
        self._forget()
        guard_of(self).mark()
        for chunk in chunks:
            self._skipped.merge(chunk.skipped)
        for chunk in mapped:
            learner.add(chunk)

    def _continued(self, *rows: RowsLike, **named: Any) -> Self:
        """Learn from more rows, or change nothing if that fails."""
        self._step(*rows, **named)
        if self._learner is not None and self._skipped.n_rows:
            self._skipped.warn(self, self._learner.n_rows, self._row_word, FIRST)
        return self

    @changes
    def _step(self, *rows: RowsLike, **named: Any) -> None:
        """Check the parameters and the rows, and learn from them."""
        self._check_once(self._check_step)
        first = self._learner is None and not self._collecting
        self._learn_more(self._rows(*rows, reset=first, **named))

    def _forget(self) -> None:
        """Discard the results of the rows so far."""
        self._answer = None

    @property
    def _collecting(self) -> bool:
        """True while rows are buffered for the feature map."""
        return self._learner is None and self._map is not None

    def merge(self, other: Self) -> Self:
        """Return an estimator that has learned from the data of both.

        Neither estimator is changed. The result is exact with solver="dense". With "sketch", the
        directions that either estimator discarded are lost.

        Parameters
        ----------
        other : object
            A fitted estimator of the same class, with equal parameters and the same number of
            features.

        Returns
        -------
        self : object
            A new fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import ClassSubspace, ContrastSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> first, second = (ClassSubspace(2).fit(X[k::2], y[k::2]) for k in (0, 1))
        >>> first.merge(second).n_samples_seen_
        150
        >>> contrast = ContrastSubspace(2).fit(X[50:], background=X[:50])
        >>> contrast.merge(contrast).n_samples_seen_
        300
        """
        return self._merged(other)

    def _merged(self, other: Self, *, new_sequence: bool = False) -> Self:
        """Return an estimator that has learned from this one's rows and then from the other's."""
        if type(self) is not type(other):
            raise TypeError(
                f"{type(self).__name__} cannot merge with {type(other).__name__}. Pass another "
                f"{type(self).__name__}."
            )
        self, other = snapshot(self), snapshot(other)
        for model in (self, other):
            check_is_fitted(model)
            solved = twin(model)
            solved.solver = model._solver
            chosen_solver(solved, 1, None, Need("merge", MERGE))
        ours, theirs = self._learner, other._learner
        assert ours is not None
        assert theirs is not None
        if ours.terms.n_features != theirs.terms.n_features:
            raise ValueError(
                f"One estimator has {ours.terms.n_features} features, the other "
                f"{theirs.terms.n_features}. Merge estimators of the same features."
            )
        fixed = self._begun.keys() & self._fixed()
        check_equal({name: self._begun[name] for name in sorted(fixed)}, other._begun)
        self._check_solver(other._solver)
        check_same_map(self._map, other._map)
        check_same_input(self, other)
        merged = self._with_learner(ours.merge(theirs, new_sequence=new_sequence))
        skipped = deepcopy(self._skipped)
        skipped.merge(other._skipped)
        merged.__dict__["_skipped"] = skipped
        merge_sources(merged, other, follows=not new_sequence)
        return merged

    def _resume(self, rows: Rows, keeper: Keeper | None) -> None:
        """Learn from a stream, after the rows of a checkpoint if there is one."""
        fit = Fit(self, rows, keeper)
        resumption = fit.take_up()
        if resumption is not None:
            if resumption.complete:
                return
            fit.map, fit.skipped = self._map, self._skipped
            fit.n_sequences = self.provenance_.get("sequences") or 0
        self._learn_all(fit, resumption)
        note_source(self, rows.source, fit.n_sequences)
        if keeper is not None:
            keeper.complete(lambda: self)

    def _noted(self, fit: Fit) -> Self:
        """Return a copy of the estimator in its present state, for a checkpoint."""
        now = copy(self)
        now.__dict__.update(_learner=deepcopy(self._learner), _answer=None, _skipped=fit.skipped)
        note_source(now, fit.source, fit.n_sequences)
        return now

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "available"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- checks ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise for invalid parameters, before any data are read."""
        self._validate_params()
        if self.solver != "auto":
            chosen_solver(self, 1, None)

    def _check_step(self) -> None:
        """Raise if learning cannot begin or continue with the present parameters.

        The next answer has these parameters, until more rows come with others.
        """
        self._check_parameters()
        if self._learner is not None:
            self._check_continuation()
            self._begun = self._parameters()

    def _with_learner(self, learner: Learner) -> Self:
        """Return a copy with other sums, which is solved with the present parameters."""
        model = copy(self)
        model._learner = learner
        model._forget()
        model._check_step()
        return model

    def _parameters(self) -> Parameters:
        """Return a copy of the parameters that must not change while learning continues."""
        complete = "available" if self.missing == "available" else "raise or skip"
        values = self.get_params(deep=False) | {"missing": complete}
        for name in self._FREE:
            values.pop(name, None)
        return deepcopy(values)

    def _check_continuation(self) -> None:
        """Raise if the sums cannot continue with the present parameters."""
        assert self._learner is not None
        if ADD not in self._solver.abilities:
            raise ValueError(
                f"This estimator was fitted with solver={self._solver.name!r}, which cannot "
                "continue. Fit with solver='dense' first."
            )
        solver = chosen_solver(self, self._learner.terms.n_features, None, Need("partial_fit", ADD))
        if not isinstance(self.solver, str) or self.solver != "auto":
            self._check_solver(solver)
        width = self._learner.terms.n_features
        check_width(self._wanted(width), width)
        parameters = self._parameters()
        fixed = [name for name in self._fixed() if name in parameters and name in self._begun]
        check_unchanged({name: self._begun[name] for name in fixed}, parameters)

    def _fixed(self) -> tuple[str, ...]:
        """Return the names of the parameters that determine the sums."""
        return self._SHAPING if MATRIX in self._solver.abilities else tuple(self._begun)

    def _check_solver(self, solver: Solver) -> None:
        """Raise if a solver cannot continue from the sums of the present one."""
        begun = self._solver
        before = begun.get_params()
        if type(solver) is not type(begun) or not (
            MATRIX in solver.abilities
            or all(same_value(value, before[name]) for name, value in solver.get_params().items())
        ):
            raise ValueError(
                f"solver={solver!r} cannot continue from the result of another solver. "
                f"Use solver={begun!r}, or call fit to start again."
            )

    @property
    def _kernel(self) -> KernelMap | RowSpan | None:
        """The map of the kernel, or None for other solvers."""
        transformer = None if self._map is None else self._map.transformer
        return transformer if isinstance(transformer, KernelMap | RowSpan) else None

    def _wanted(self, width: int) -> Any:
        """Return ``n_components``, reduced for a kernel or for rows of one feature."""
        n = self.n_components
        if self._map is not None and self._kernel and isinstance(n, Integral):
            return min(int(n), width)
        return 1 if width == 1 and n == DEFAULT else n

    # ---- results ---------------------------------------------------------------------------

    @reads
    def _solved(self) -> Result:
        """Return the answer, computed again if rows were added since the last call.

        It has the parameters of the last call that learned, as after ``fit``.
        """
        if self._answer is None:
            ready, model = self._fitted_learner().with_all_rows(), twin(self)
            model.__dict__.update(self._begun)
            self._answer = model._answer_of(ready)
            if ready.n_rows >= self._next_report:
                self._report()
        return self._answer

    def _answer_of(self, learner: Learner) -> Result:
        """Return the answer of a learner, or raise if it has too few rows."""
        try:
            self._check_enough(learner)
        except ValueError as error:
            raise NotFittedError(f"{type(self).__name__}: {error}") from None
        return self._result_of(learner)

    def _result_of(self, learner: Learner) -> Result:
        """Return the result of a learner that has no pending rows."""
        result = self._solve(learner)
        return replace(result, estimated=True) if self._solver.estimates else result

    @property
    def _needs_host(self) -> str | None:
        """The setting that excludes rows on a device, or None if the estimator accepts them."""
        name = type(self).__name__
        if not self._on_devices:
            return name
        named, values = self._named_solver, self.get_params(deep=False)
        values["solver"] = "auto" if named is None else named.name
        for option, allowed in ON_DEVICES.items():
            if option in values and values[option] not in allowed:
                return f"{name} with {option}={values[option]!r}"
        return None

    _on_devices = False

    @reads
    def solved_with(self, **parameters: object) -> Self:
        """Return a copy that is solved again with other parameters, without reading data.

        The sums do not depend on alpha, eta or the number of components.

        Parameters
        ----------
        **parameters : dict
            The parameters to change.

        Returns
        -------
        self : object
            A new fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> X = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
        >>> slow = SlowSubspace(n_components=1).fit(X)
        >>> slow.solved_with(alpha=0.5, n_components=2).components_.shape
        (2, 3)
        """
        copied = snapshot(self).set_params(**parameters)
        return copied._with_learner(self._stored())

    # ---- error bars ------------------------------------------------------------------------

    def _fitted(self, fit: Fit, learner: Learner) -> Self:
        """Return a copy that has learned the rows of a fit into a learner."""
        feature_map: Any = fit.map
        self._map, self._skipped = feature_map, fit.skipped
        model = self._with_learner(learner)
        self._check_enough(learner.with_all_rows())
        return model

    def _fit_blocks(
        self, fit: Fit, cut: _bars.BlockCut, n_blocks: int | str, n_rows: int | None, call: str
    ) -> tuple[Self, list[_bars.RowBlock]]:
        """Return a copy that has learned all rows, and the learners of their blocks."""
        needs = Need(call, MERGE), Need(call, MATRIX)
        blocks = cut(
            fit.learning(),
            lambda n: _bars.for_blocks(self._begin(n, None, *needs)),
            n_blocks,
            n_rows,
        )
        return self._fitted(fit, _bars.merged_blocks(blocks).learners[0]), blocks

    def _error_bars(
        self, blocks: list[_bars.RowBlock], place: int = 0, *, independent: bool = False
    ) -> _bars.Uncertainty:
        """Return error bars from the learners of blocks, of which ``place`` is that of the fit."""
        answer = self._answered()
        fixed = copy(self).set_params(**answer.estimated(self.get_params(deep=False)))
        bars = _bars.jackknife(answer, fixed._with_learner, blocks, place, independent=independent)
        return replace(bars, estimator=self)


def check_width(n_components: Any, width: int) -> None:
    """Raise if there are more components than features."""
    if isinstance(n_components, Integral) and int(n_components) > width:
        raise ValueError(
            f"n_components={n_components} exceeds the number of features, {width}. "
            f"Use n_components <= {width}."
        )
