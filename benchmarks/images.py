"""Views, RBF features, evaluation over all pairs: beside BLAS alone and the peers."""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise_distances, roc_auc_score

from benchmarks._tools import race, show
from eigenstream.evaluation import balanced_risk, one_shot_error, pair_roc
from eigenstream.features import RBFNetwork
from eigenstream.processes import ImageWalk, page_image

VIEWS = 20_480
PROTOTYPES = 2000
ROWS = 4000


def views(walk: ImageWalk) -> None:
    """Microseconds a view of 28 x 28 pixels."""

    def read(dtype: type) -> None:
        for _ in walk.chunks(VIEWS, dtype=dtype):
            pass

    states = walk.states(1024)
    single = race({"the kernel, 1024 views": lambda: walk.view(states)}, rounds=20)
    whole = race({f"chunks, {kind.__name__}": lambda kind=kind: read(kind) for kind in FLOATS})
    rows = [[name, f"{1e6 * seconds / 1024:.2f}"] for name, seconds in single.items()]
    rows += [[name, f"{1e6 * seconds / VIEWS:.2f}"] for name, seconds in whole.items()]
    show("Views of a walk, one thread", ["what", "us a view"], rows)


def features(walk: ImageWalk) -> None:
    """Microseconds a row through the RBF network, beside its two products alone."""
    for kind in FLOATS:
        prototypes = walk.stationary().take(PROTOTYPES, dtype=kind)
        X = walk.take(ROWS, dtype=kind)
        network = RBFNetwork(PROTOTYPES).fit(prototypes)
        peer = Nystroem(gamma=4.0, n_components=PROTOTYPES).fit(prototypes)
        whitening = network.whitening_.astype(kind)

        def floor(X=X, prototypes=prototypes, whitening=whitening) -> None:
            for start in range(0, ROWS, 1000):
                (X[start : start + 1000] @ prototypes.T) @ whitening

        times = race(
            {
                "two products (floor)": floor,
                "RBFNetwork.transform": lambda network=network, X=X: network.transform(X),
                "Nystroem.transform": lambda peer=peer, X=X: peer.transform(X),
            },
            rounds=2,
        )
        show(
            f"{PROTOTYPES} prototypes of 784 pixels, {kind.__name__}, one thread",
            ["what", "us a row"],
            [[name, f"{1e6 * seconds / ROWS:.0f}"] for name, seconds in times.items()],
        )


def evaluation() -> None:
    """Seconds for all pairs of labelled examples."""
    rng = np.random.default_rng(0)
    for n, d in ((1000, 10), (10_000, 24)):
        labels = rng.integers(10, size=n)
        Z = rng.normal(size=(n, d)) + 0.6 * rng.normal(size=(10, d))[labels]
        contestants = {
            "pair_roc": lambda Z=Z, labels=labels: pair_roc(Z, labels),
            "balanced_risk": lambda Z=Z, labels=labels: balanced_risk(Z, labels),
            "one_shot_error": lambda Z=Z, labels=labels: one_shot_error(Z, labels),
        }
        if n <= 1000:  # beyond, the peer's table of distances does not pay to wait for

            def peer(Z=Z, labels=labels) -> None:
                above = np.triu_indices(len(Z), 1)
                same = (labels[:, None] == labels)[above]
                roc_auc_score(same, -pairwise_distances(Z)[above])

            contestants["scikit-learn's distances and roc_auc_score"] = peer
        for run in contestants.values():
            run()  # compile
        times = race(contestants, rounds=2)
        show(
            f"{n} examples of {d} features, {n * (n - 1) // 2} pairs, one thread",
            ["what", "seconds"],
            [[name, f"{seconds:.3f}"] for name, seconds in times.items()],
        )


FLOATS = (np.float64, np.float32)


def main() -> None:
    """Print the tables."""
    walk = ImageWalk(page_image(random_state=0), random_state=0)
    for kind in FLOATS:
        walk.take(1, dtype=kind)  # compile
    views(walk)
    features(walk)
    evaluation()


if __name__ == "__main__":
    main()
