"""scikit-learn's tests of PCA, on StreamPCA."""

from eigenstream import StreamPCA
from peers.suites import suite


class PCA(StreamPCA):
    """StreamPCA with the parameters of scikit-learn's PCA. It has one exact solver."""

    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
    ):
        super().__init__(n_components, whiten=whiten)
        for name, value in locals().items():
            if name not in ("self", "n_components", "__class__"):
                setattr(self, name, value)

    def fit(self, X, y=None):
        super().fit(X)
        self.n_samples_ = self.n_samples_seen_
        return self


globals().update(suite("sklearn.decomposition.tests.test_pca", PCA=PCA))
