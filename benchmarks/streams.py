"""Speed and memory of fits of a file larger than memory, and of a text table compared with Arrow.

``python -c "from benchmarks.streams import main; main(1, 0.2)"`` takes 1 GB of rows and 0.2 GB of
text instead of 12 and 2. ``from benchmarks.streams import written; written(12)`` takes a file that
is really there, and not in the system's cache (that takes root, and room in ``TMPDIR``).
"""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._tools import show
from eigenstream import SlowSubspace, StreamPCA
from eigenstream.streams import open_stream

WIDTH = 125

#: Chunks that are learned from in turn: 400 MB, which no cache holds. One chunk again and again
#: would come out of the cache, as no chunk of a file does, and takes 3 to 8 % less.
DISTINCT = 48

#: The program of a separate process whose memory is measured.
LEARN = """
import resource, sys
from eigenstream import StreamPCA
from eigenstream.streams import open_stream
StreamPCA(3).fit(open_stream(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def forget() -> None:
    """Empty the system's cache of files."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def timed(
    contestants: dict[str, Callable[[], object]],
    rounds: int = 3,
    before: Callable[[], object] = lambda: None,
) -> dict[str, tuple[float, float]]:
    """Return each one's best seconds by the clock and of the processor, taken in turns.

    The wall-clock time is less than the time of the processor if the library reads in a separate
    thread.
    """
    best = dict.fromkeys(contestants, (float("inf"), float("inf")))
    with threadpool_limits(1):
        for _ in range(rounds):
            for name, run in contestants.items():
                before()
                sleep(0.1)
                wall, work = perf_counter(), process_time()
                run()
                found = perf_counter() - wall, process_time() - work
                best[name] = min(best[name][0], found[0]), min(best[name][1], found[1])
    return best


def sparse_file(path: Path, n_rows: int) -> None:
    """Write an array of zeros that takes no space on the disk."""
    with path.open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (n_rows, WIDTH)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 8 * n_rows * WIDTH)


def written_file(path: Path, n_rows: int) -> None:
    """Write an array of numbers that take their space."""
    rows = np.random.default_rng(0).standard_normal((40_000, WIDTH))
    with path.open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (n_rows, WIDTH)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, len(rows)):
            rows[:, 0] += 1e-3
            file.write(rows[: n_rows - start].data)
        file.flush()
        os.fsync(file.fileno())


def out_of_core(
    folder: Path,
    gigabytes: float,
    write: Callable[[Path, int], None] = sparse_file,
    before: Callable[[], object] = lambda: None,
) -> None:
    """Compare a fit of a file with reading it, and with learning the same number of rows in memory.

    The rows in memory are ``DISTINCT`` chunks of the file, which ``partial_fit`` learns repeatedly.
    """
    path = folder / "large.npy"
    write(path, int(gigabytes * 1e9 / 8 / WIDTH))
    # This runs first, because the memory of the parent counts for the child process.
    done = subprocess.run(
        [sys.executable, "-c", LEARN, str(path)], check=True, capture_output=True, text=True
    )
    chunks = [chunk.rows.copy() for chunk in islice(open_stream(path).chunks(), DISTINCT)]
    count = round(gigabytes * 1e9 / chunks[0].nbytes)
    rows = []
    for model in (StreamPCA(3), SlowSubspace(3)):

        def learn(model: StreamPCA | SlowSubspace = model) -> None:
            learner = type(model)(3)
            for chunk in islice(cycle(chunks), count):
                learner.partial_fit(chunk)

        name = type(model).__name__
        times = timed(
            {
                "reading": lambda: sum(map(len, open_stream(path))),
                f"{name} learning": learn,
                f"{name}.fit": lambda model=model: model.fit(open_stream(path)),
            },
            before=before,
        )
        (read, read_work), (slow, slow_work), _ = times.values()
        rows += [
            [
                what,
                f"{wall:.2f}",
                f"{wall / max(read, slow):.2f}",
                f"{work:.2f}",
                f"{work / (read_work + slow_work):.2f}",
            ]
            for what, (wall, work) in times.items()
        ]
    title = f"{gigabytes:g} GB of .npy in chunks; at most {done.stdout.strip()} MB resident"
    columns = ["", "seconds", "to the slower", "of the processor", "to both together"]
    show(title, columns, rows)


def text(folder: Path, gigabytes: float) -> None:
    """Compare reading a table of text with Arrow's own reader, which makes columns of it."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    path = folder / "table.csv"
    rows = np.random.default_rng(0).standard_normal((10_000, 20))
    names = [f"c{k}" for k in range(20)]
    np.savetxt(path, rows, delimiter=",", fmt="%.12g")
    lines = path.read_bytes()
    with path.open("wb") as file:
        file.write(",".join(names).encode() + b"\n")
        for _ in range(max(round(gigabytes * 1e9 / len(lines)), 1)):
            file.write(lines)
    types = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()))
    once = arrow_csv.ReadOptions(use_threads=False)

    def bare() -> None:
        with arrow_csv.open_csv(path, read_options=once, convert_options=types) as reader:
            for _ in reader:
                pass

    times = timed(
        {
            "Arrow, columns": bare,
            "open_stream, rows": lambda: sum(map(len, open_stream(path))),
            "StreamPCA.fit": lambda: StreamPCA(3).fit(open_stream(path)),
        }
    )
    size = path.stat().st_size / 1e6
    shown = [
        [name, f"{wall:.2f}", f"{size / wall:.0f}", f"{work:.2f}", f"{size / work:.0f}"]
        for name, (wall, work) in times.items()
    ]
    columns = ["", "seconds", "MB/s", "of the processor", "MB/s"]
    show(f"{size:.0f} MB of text, 20 columns", columns, shown)


def written(gigabytes: float = 12.0) -> None:
    """Run the first one on a file that was written, and that nobody has read lately."""
    with TemporaryDirectory() as name:
        out_of_core(Path(name), gigabytes, written_file, forget)


def main(gigabytes: float = 12.0, of_text: float = 2.0) -> None:
    """Run both."""
    with TemporaryDirectory() as name:
        out_of_core(Path(name), gigabytes)
        (Path(name) / "large.npy").unlink()
        text(Path(name), of_text)
