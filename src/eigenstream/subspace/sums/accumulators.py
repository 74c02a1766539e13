"""Accumulators: the sums of terms that solvers store for each part.

An accumulator does not depend on means, lags, pairs or labels. ``Moments`` is exact. ``Frame`` in
``frame.py`` and ``FlowSums`` in ``flow.py`` store a few vectors at given weights.
"""

from copy import copy

import numpy as np

from eigenstream.core.device import DeviceArray, on_host
from eigenstream.core.linalg import LANCZOS_SIZE, Float64s, mirrored, rank_update, rounding_of_mean
from eigenstream.core.storable import storable
from eigenstream.core.types import Values
from eigenstream.subspace.sums.block import Block, Edges, Part, Shares
from eigenstream.subspace.sums.operators import MatrixOperator, VectorOperator
from eigenstream.subspace.sums.terms import NOTHING, Parts, Sums, Terms

#: The weights at which T is A, and at which it is B.
REWARD, PENALTY = (1.0, 0.0), (0.0, -1.0)

#: Vectors of a part are buffered up to this number. Smaller values update the D x D matrix more
#: often; larger values take more memory.
WAITING = 256

#: The vectors of a kernel are joined into arrays of at least this number. Smaller values make
#: products of many classes slower; larger values copy more.
SHORT_ARRAY = 32


@storable(
    n_features="int=W",
    total="f8 W W | None",
    vectors="list[ndarray]",
    n_vectors="int",
    most="-",
)
class PartSum:
    """The sum of ``u u^T`` over the terms of a part, stored as vectors while they are few."""

    #: The products of rows on a device, of a ``DeviceSum``. A loaded model has a NumPy array.
    on_device: Values = None

    def __init__(self, n_features: int, most: int | None = None) -> None:
        self.n_features = n_features
        #: A sum of fewer vectors is stored as vectors.
        self.most = n_features // 2 if most is None else most
        #: The sum as a lower triangle, or None if it is stored as vectors.
        self.total: Float64s | None = None
        self.vectors: list[Float64s] = []
        self.n_vectors = 0

    def add(self, block: Block, edges: list[Edges]) -> None:
        """Add the terms of a block."""
        n, sparse = 0, False
        for group in edges:
            n, sparse = n + group.n, sparse or group.sparse
        few = self.total is None and self.n_vectors + n < self.most
        if few or (n < WAITING and not sparse):
            self.add_vectors(block.stacked(edges))
        else:
            block.add_moment(edges, self._matrix())

    def _loaded(self) -> None:
        self.most = self.n_features // 2

    def copied(self) -> "PartSum":
        """Return a copy, which may change without changing this sum."""
        copied = copy(self)
        copied.total, copied.vectors = copy(self.total), [*self.vectors]
        return copied

    def squares(self) -> Float64s:
        """Return the sum of squares of each feature."""
        total = np.zeros(self.n_features) if self.total is None else self.total.diagonal().copy()
        for vectors in self.vectors:
            total += (vectors**2).sum(axis=0)
        return total

    def merge(self, later: "PartSum") -> None:
        """Add another sum."""
        if later.total is not None:
            self._matrix()[:] += later.total
        if later.on_device is not None:
            self._matrix()[:] += np.tril(on_host(later.on_device))
        for vectors in later.vectors:
            self.add_vectors(vectors)

    def forget(self, share: float) -> None:
        """Multiply the sum by a share."""
        if self.total is not None:
            self.total *= share
        self.vectors = [np.sqrt(share) * vectors for vectors in self.vectors]

    def add_vectors(self, vectors: Float64s) -> None:
        """Add terms as vectors, one a row."""
        self.n_vectors += len(vectors)
        if self.most > self.n_features:  # a kernel's operator multiplies few long arrays faster
            while self.vectors and len(self.vectors[-1]) <= len(vectors) < SHORT_ARRAY:
                vectors = np.concatenate([self.vectors.pop(), vectors])
        self.vectors.append(vectors)
        if self.n_vectors >= (self.most if self.total is None else WAITING):
            self._matrix()

    def _matrix(self) -> Float64s:
        """Return the lower triangle, with all vectors in it."""
        if self.total is None:
            self.total = np.zeros((self.n_features, self.n_features), order="F")
        else:  # a sum from a file may have another order
            self.total = np.asfortranarray(self.total)
        if self.vectors:
            rank_update(self.total, np.concatenate(self.vectors))
            self.vectors, self.n_vectors = [], 0
        return self.total


@storable(on_device="f8 W W | None?")
class DeviceSum(PartSum):
    """The sum of a part that began with rows on a device, whose products stay there.

    Terms of rows on the host, such as steps between means, are added on the host.
    """

    def add(self, block: Block, edges: list[Edges]) -> None:
        """Add the terms of a block."""
        of_host = []
        for group in edges:
            ends = block.rows(group.now), block.rows(group.past)
            if not any(isinstance(rows, DeviceArray) for rows in ends):
                of_host.append(group)
                continue
            apart = ends[0] - ends[1]
            if group.weights is not None:
                apart = apart * np.sqrt(group.weights)[:, None]
            self.on_device = apart.plus_products(self.on_device)
        if of_host:
            super().add(block, of_host)

    def squares(self) -> Float64s:
        """Return the sum of squares of each feature."""
        squares = super().squares()
        return squares if self.on_device is None else squares + self.on_device.diagonal()

    def merge(self, later: PartSum) -> None:
        """Add another sum, on the device if it is there."""
        if isinstance(later, DeviceSum) and isinstance(self.on_device, DeviceArray):
            if later.on_device is not None:
                self.on_device = self.on_device + later.on_device
            later = copy(later)
            later.on_device = None
        super().merge(later)

    def forget(self, share: float) -> None:
        """Multiply the sum by a share."""
        super().forget(share)
        if self.on_device is not None:
            self.on_device = self.on_device * share


@storable(n_features="int=W", sums="dict[PartSum]", most="-")
class Moments(Sums):
    """Exact sums, one matrix for each part."""

    #: The number of vectors of a part that are stored as vectors, by default n_features / 2.
    most: int | None = None

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.sums: dict[Part, PartSum] = {}

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block."""
        for part, edges in block.parts.items():
            if part not in self.sums:
                on_device = block.chunk is not None and isinstance(block.chunk.rows, DeviceArray)
                kind = DeviceSum if on_device else PartSum
                self.sums[part] = kind(self.n_features, self.most)
            self.sums[part].add(block, edges)

    def take(self, part: Part, total: Float64s) -> None:
        """Set the sum of a part to a matrix."""
        self.sum_of(part).total = np.asfortranarray(np.tril(total))

    def copied(self) -> "Moments":
        """Return a copy, which may change without changing these sums."""
        copied = copy(self)
        copied.sums = {part: moment.copied() for part, moment in self.sums.items()}
        return copied

    def merge(self, later: "Moments") -> None:
        """Add another accumulator."""
        for part, moment in later.sums.items():
            if part in self.sums:
                self.sums[part].merge(moment)
            else:
                self.sums[part] = moment.copied()

    def forget(self, share: float) -> None:
        """Multiply all sums by a share."""
        for moment in self.sums.values():
            moment.forget(share)

    def squares(self, part: Part) -> Float64s:
        """Return the sum of squares of each feature over the terms of a part."""
        return self.sums[part].squares() if part in self.sums else np.zeros(self.n_features)

    def variances(self, terms: Terms) -> Float64s:
        """Return the diagonal of A, for terms without a closing block."""
        shares = terms.shares(REWARD)
        squares = [share * self.squares(part) for part, share in shares.items()]
        return np.asarray(sum(squares), np.float64)

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B, without the held-out parts."""
        closing, mean = terms.closing(held_out), terms.mean
        sides = terms.shares(REWARD, held_out), terms.shares(PENALTY, held_out)
        few = self.n_features >= LANCZOS_SIZE
        if few and all(p.total is None and p.on_device is None for p in self.sums.values()):
            # Later rows do not change the copy.
            return VectorOperator(self.copied(), sides, closing, rounding_of_mean(mean))
        reward, penalty = self._lower(sides[0], closing), self._lower(sides[1], closing)
        return MatrixOperator(mirrored(reward), mirrored(penalty), floor=rounding_of_mean(mean))

    def few_terms(self, terms: Terms) -> list[Float64s]:
        """Return all terms as vectors, or none unless there are fewer than features."""
        vectors: list[Float64s] = []
        for part in self.sums.values():
            if part.total is not None or part.on_device is not None:
                return []
            vectors += part.vectors
        few = sum(map(len, vectors)) < self.n_features
        if few and (closing := terms.closing()) is not None:
            vectors += [closing.vectors(part) for part in closing.parts]
        return vectors if sum(map(len, vectors)) < self.n_features else []

    def along(self, coordinates: dict[int, Float64s]) -> "Moments":
        """Return the sums of vectors in other coordinates, by the ``id`` of each array."""
        inside = Moments(next(iter(coordinates.values())).shape[1])
        for part, moment in self.sums.items():
            for vectors in moment.vectors:
                inside.sum_of(part).add_vectors(coordinates[id(vectors)])
        return inside

    def symmetric(self, shares: Shares, closing: Block | None = None) -> Float64s:
        """Return the sum of all parts by their shares."""
        return mirrored(self._lower(shares, closing))

    def _lower(self, shares: Shares, closing: Block | None = None) -> Float64s:
        """Return the lower triangle of the sum of all parts by their shares."""
        size = self.n_features
        total = np.zeros((size, size), order="F")
        signed: dict[float, list[Float64s]] = {1.0: [], -1.0: []}
        for part, sums in self.sums.items():
            share = shares.get(part, 0.0)
            if share and sums.total is not None:
                total += share * sums.total
            if share and sums.on_device is not None:
                total += share * np.tril(on_host(sums.on_device))
            for vectors in sums.vectors if share else ():
                signed[np.sign(share)].append(np.sqrt(abs(share)) * vectors)
        if closing is not None:
            for part in closing.parts:
                if share := shares.get(part, 0.0):
                    signed[np.sign(share)].append(np.sqrt(abs(share)) * closing.vectors(part))
        for side, scaled in signed.items():
            if scaled:
                rank_update(total, np.concatenate(scaled), side)
        return total

    def sum_of(self, part: Part) -> PartSum:
        """Return the sum of a part, which begins empty."""
        if part not in self.sums:
            self.sums[part] = PartSum(self.n_features, self.most)
        return self.sums[part]
