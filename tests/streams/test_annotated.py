"""AnnData in memory and on disk, and sparse groups of HDF5 and Zarr files."""

import numpy as np
import pytest
import scipy.sparse as sp

from eigenstream import StreamPCA, open_stream
from eigenstream.streams import StreamError

ad, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
h5py = pytest.importorskip("h5py")
pytestmark = pytest.mark.filterwarnings("ignore::Warning:anndata", "ignore::Warning:zarr")

GENES = [f"gene{k}" for k in range(12)]


@pytest.fixture
def counts():
    return sp.random(60, 12, 0.3, format="csr", random_state=0)


def annotated(matrix):
    data = ad.AnnData(matrix)
    data.obs_names = pd.Index([f"cell{k}" for k in range(60)], dtype=object)
    data.var_names = pd.Index(GENES, dtype=object)  # files of older versions hold objects
    return data


@pytest.mark.parametrize("place", ["memory", "columns", "backed", "h5ad", "zarr", "dense"])
def test_rows_are_cells_with_names_of_genes(counts, place, tmp_path):
    data = annotated({"dense": counts.toarray(), "columns": counts.tocsc()}.get(place, counts))
    data.layers["half"] = counts * 0.5
    data.write_h5ad(tmp_path / "a.h5ad")
    if place == "zarr":
        pytest.importorskip("zarr")
        data.write_zarr(tmp_path / "a.zarr")
    backed = ad.read_h5ad(tmp_path / "a.h5ad", backed="r")
    source = backed if place == "backed" else data
    if place in ("h5ad", "zarr", "dense"):
        end = "zarr" if place == "zarr" else "h5ad"
        source = open_stream(str(tmp_path / f"a.{end}"), chunk_rows=7)
    pca, plain = StreamPCA(3).fit(source), StreamPCA(3).fit(counts)
    np.testing.assert_allclose(pca.components_, plain.components_, atol=1e-9)
    assert pca.feature_names_in_.tolist() == GENES
    answers = pca.transform(source)
    if place in ("h5ad", "zarr", "dense"):
        answers = answers.column()
    assert isinstance(answers, np.ndarray)
    data.obsm["X_pca"] = answers
    np.testing.assert_allclose(answers, plain.transform(counts), atol=1e-9)


def test_layers_and_columns_of_files(counts, tmp_path):
    data = annotated(counts)
    data.layers["half"] = counts * 0.5
    data.write_h5ad(tmp_path / "a.h5ad")
    path, how = f"{tmp_path}/a.h5ad", {"columns": ["gene1", "gene5"], "rows": slice(3, 50, 2)}
    (chunk,) = open_stream(f"{path}::layers/half", **how)
    np.testing.assert_allclose(chunk.rows.toarray(), counts.toarray()[3:50:2, [1, 5]] * 0.5)
    with pytest.raises(StreamError, match=r"'X', 'layers/half'"):
        open_stream(f"{path}::layers/double")
    with h5py.File(tmp_path / "plain.h5", "w") as root, h5py.File(path) as stored:
        stored.copy("X", root, "counts/rna")
    (chunk,) = open_stream(f"{tmp_path}/plain.h5::counts/rna")
    np.testing.assert_allclose(chunk.rows.toarray(), counts.toarray())


def test_matrices_by_columns_and_damaged_files(counts, tmp_path):
    annotated(counts.tocsc()).write_h5ad(tmp_path / "c.h5ad")
    with pytest.raises(StreamError, match=r"not stored by rows \(CSR\)"):
        open_stream(str(tmp_path / "c.h5ad"))
    annotated(counts).write_h5ad(tmp_path / "d.h5ad")
    with h5py.File(tmp_path / "d.h5ad", "a") as root:
        root["X/indices"][5] = 999
    with pytest.raises(StreamError, match="cannot be read at rows 0"):
        StreamPCA(2).fit(open_stream(str(tmp_path / "d.h5ad")))
    with h5py.File(tmp_path / "d.h5ad", "a") as root:
        root["X/indptr"][5] = 0
    with pytest.raises(StreamError, match="indptr"):
        open_stream(str(tmp_path / "d.h5ad"))
    with pytest.raises(StreamError, match="has no X"):
        StreamPCA(2).fit(ad.AnnData(obs=pd.DataFrame(index=pd.Index(["a", "b"], dtype=object))))
    with pytest.raises(TypeError, match="X is a AnnData, not rows"):
        StreamPCA(2).partial_fit(annotated(counts))
