"""scikit-learn's tests of IncrementalPCA, on StreamPCA."""

from eigenstream import StreamPCA
from peers.suites import suite


class IncrementalPCA(StreamPCA):
    """StreamPCA with the parameters of scikit-learn's IncrementalPCA."""

    def __init__(self, n_components=None, *, whiten=False, copy=True, batch_size=None):
        super().__init__(n_components, whiten=whiten)
        self.copy, self.batch_size = copy, batch_size

    def partial_fit(self, X, y=None, check_input=True):
        return super().partial_fit(X)

    @property
    def var_(self):
        return self._answered().operator().variances()


globals().update(
    suite("sklearn.decomposition.tests.test_incremental_pca", IncrementalPCA=IncrementalPCA)
)
