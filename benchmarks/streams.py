"""Reading while learning: a file larger than memory, and a text table beside Arrow's bare rate."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks._tools import race, show
from eigenstream.streams import open_stream

#: 12 GB: a sparse file, which takes no space on the disk.
SHAPE = (12_000_000, 125)

#: What is learned from each chunk: the scatter matrix, as plain products give it.
LEARN = """
import resource, sys
import numpy as np
from eigenstream.streams import open_stream
total = np.zeros((125, 125))
for chunk in open_stream(sys.argv[1]):
    total += chunk.rows.T @ chunk.rows
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def sparse_file(path: Path) -> None:
    with path.open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": SHAPE}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 8 * SHAPE[0] * SHAPE[1])


def out_of_core(folder: Path) -> None:
    path = folder / "large.npy"
    sparse_file(path)
    chunk = np.zeros((len(next(open_stream(path).chunks())), SHAPE[1]))
    count = -(-SHAPE[0] // len(chunk))

    def learn() -> None:
        total = np.zeros((SHAPE[1], SHAPE[1]))
        for _ in range(count):
            total += chunk.T @ chunk

    def both() -> None:
        total = np.zeros((SHAPE[1], SHAPE[1]))
        for part in open_stream(path):
            total += part.rows.T @ part.rows

    times = race(
        {"reading": lambda: sum(map(len, open_stream(path))), "learning": learn, "both": both}
    )
    slower = max(times["reading"], times["learning"])
    found = subprocess.run(
        [sys.executable, "-c", LEARN, str(path)], check=True, capture_output=True, text=True
    )
    rows = [[name, f"{time:.2f}", f"{time / slower:.2f}"] for name, time in times.items()]
    title = f"12 GB of .npy in chunks; at most {found.stdout.strip()} MB resident"
    show(title, ["", "seconds", "beside the slower of the two"], rows)


def text(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    path = folder / "table.csv"
    rows = np.random.default_rng(0).standard_normal((10_000, 20))
    names = [f"c{k}" for k in range(20)]
    np.savetxt(path, rows, delimiter=",", fmt="%.12g")
    lines = path.read_bytes()
    with path.open("wb") as file:
        file.write(",".join(names).encode() + b"\n")
        for _ in range(80):
            file.write(lines)
    types = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()))
    once = arrow_csv.ReadOptions(use_threads=False)

    def bare() -> None:
        with arrow_csv.open_csv(path, read_options=once, convert_options=types) as reader:
            for _ in reader:
                pass

    times = race(
        {"Arrow, columns": bare, "open_stream, rows": lambda: list(map(len, open_stream(path)))}
    )
    size = path.stat().st_size / 2**20
    shown = [[name, f"{time:.2f}", f"{size / time:.0f}"] for name, time in times.items()]
    show(f"{size:.0f} MB of text, 20 columns", ["", "seconds", "MB/s"], shown)


def main() -> None:
    with TemporaryDirectory() as name:
        out_of_core(Path(name))
        text(Path(name))
