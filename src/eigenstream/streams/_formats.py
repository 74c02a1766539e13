"""The one table of formats: which reader a file takes, by its name or by how it begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from eigenstream.streams._places import File, Pipe, inside, within
from eigenstream.streams.base import RowTable, StreamError

__all__ = ["format_of", "reader_of", "tables_of"]


@dataclass(frozen=True)
class Format:
    """A format: its reader, the endings of its files, and how their bytes begin."""

    module: str
    reader: str
    suffixes: tuple[str, ...]
    starts: tuple[bytes, ...] = ()
    #: Whether a file may hold several tables, of which the reader's ``parts`` chooses.
    has_parts: bool = False


FORMATS = (
    Format("numpy_files", "Npy", (".npy",), (b"\x93NUMPY",)),
    Format("numpy_files", "Npz", (".npz",), (b"PK\x03\x04",), has_parts=True),
    Format("text", "Text", (".csv", ".tsv", ".txt", ".dat")),
    Format(
        "tables",
        "Arrow",
        (".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc"),
        (b"PAR1", b"ARROW1"),
    ),
    Format(
        "array_files",
        "Hdf5",
        (".h5", ".hdf5", ".hdf", ".he5"),
        (b"\x89HDF\r\n\x1a\n",),
        has_parts=True,
    ),
    Format("array_files", "NetCdf", (".nc", ".cdf", ".nc4"), (b"CDF",), has_parts=True),
    Format("array_files", "Zarr", (".zarr",), has_parts=True),
    Format(
        "media",
        "Video",
        (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg", ".gif"),
    ),
    Format(
        "media",
        "Sound",
        (".wav", ".flac", ".ogg", ".opus", ".aiff", ".aif", ".mp3", ".au", ".caf", ".w64"),
        (b"fLaC",),
    ),
)

BY_NAME = {form.reader: form for form in FORMATS}

#: Endings of images; several of them are the rows of one table.
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm", ".ppm", ".webp")

#: What a folder holds that is one Zarr array or group.
ZARR = (".zgroup", ".zarray", "zarr.json")


def tables_of(files: Sequence[File], options: Mapping[str, Any]) -> list[RowTable]:
    """Return the tables of files, in order; images that follow each other are one."""
    tables: list[RowTable] = []
    files = [one for file in files for one in _unfolded(file)]
    at = 0
    while at < len(files):
        end = at
        while end < len(files) and files[end].suffix in IMAGES and not files[end].is_folder:
            end += 1
        if end > at:
            several = f"{files[at].path} to {files[end - 1].path}"
            name = files[at].path if end == at + 1 else several
            reader = reader_of("media", "ImageTable", options, name)
            tables.append(reader(files[at:end], name, **options))
            at = end
        else:
            tables.extend(_opened(files[at], options))
            at += 1
    return tables


def _unfolded(folder: File) -> list[File]:
    """Return the files that a folder stands for, or what it is: Zarr, or a folder of Parquet."""
    if not folder.is_folder:
        return [folder]
    if folder.suffix == ".zarr" or _is_zarr(folder):
        return [folder]
    files = list(inside(folder))
    kinds = {_kind(file.suffix) for file in files} - {None}
    if not kinds or kinds == {"Arrow"}:
        return [folder]
    if len(kinds) > 1:
        raise StreamError(
            f"{folder.path} is a folder of several kinds of files ({', '.join(sorted(kinds))}). "
            f"Say which ones, such as {folder.path}/*{files[0].suffix}."
        )
    return [file for file in files if _kind(file.suffix) is not None]


def _is_zarr(folder: File) -> bool:
    if folder.system is not None:
        return any(folder.system.exists(f"{folder.path}/{name}") for name in ZARR)
    return any(Path(folder.path, name).exists() for name in ZARR)


def _kind(suffix: str) -> Any:
    """Return the name of the format that an ending stands for, or None."""
    if suffix in IMAGES:
        return "images"
    return next((form.reader for form in FORMATS if suffix in form.suffixes), None)


def format_of(file: File) -> Format:
    """Return the format of a file: what its name says, unless its start says better."""
    if file.is_folder:
        zarr = file.suffix == ".zarr" or _is_zarr(file)
        if not zarr and not any(_kind(one.suffix) for one in inside(file)) and not _deep(file):
            raise StreamError(
                f"{file.path} is a folder without files that can be read."
                + (f" For those in its folders, say {file.path}/*/*." if within(file) else "")
            )
        return BY_NAME["Zarr" if zarr else "Arrow"]
    start = file.start(16)
    if isinstance(file, Pipe):
        return BY_NAME["Npy" if start.startswith(b"\x93NUMPY") else "Text"]
    named = next((form for form in FORMATS if file.suffix in form.suffixes), None)
    if file.packing and named is not BY_NAME["Text"]:
        raise StreamError(f"{file.path} is packed ({file.packing}): unpack it first.")
    if named is BY_NAME["NetCdf"] and start.startswith(BY_NAME["Hdf5"].starts):
        return BY_NAME["Hdf5"]
    if named is not None:
        return named
    for form in FORMATS:
        if form.starts and start.startswith(form.starts):
            return form
    if start[:4] == b"RIFF" and start[8:12] in (b"WAVE", b"AVI "):
        return BY_NAME["Sound" if start[8:12] == b"WAVE" else "Video"]
    if not start and file.size() == 0:
        raise StreamError(f"{file.path} is empty.")
    known = " ".join(ending for form in FORMATS for ending in form.suffixes)
    raise StreamError(
        f"{file.path} is of no known format. Load it and pass the array, or convert it to one of "
        f"{known} or images."
    )


def _deep(folder: File) -> bool:
    """Say whether folders inside hold tables, such as the partitions of a Parquet data set."""
    return any(one.lower().endswith(BY_NAME["Arrow"].suffixes) for one in within(folder))


def reader_of(module: str, name: str, options: Mapping[str, Any], file: str) -> Any:
    """Return the class of a reader, imported now; it must take the options that are given."""
    reader: Any = getattr(import_module(f"eigenstream.streams.{module}"), name)
    for option in options:
        if option not in reader.options:
            takes = ", ".join(f"{one}=" for one in reader.options) or "no options of its own"
            raise TypeError(f"{option}= means nothing for {file}: its reader takes {takes}.")
    return reader


def _opened(file: File, options: Mapping[str, Any]) -> list[RowTable]:
    form = format_of(file)
    reader = reader_of(form.module, form.reader, options, file.name)
    if not form.has_parts:
        return [reader(file, **options)]
    return [reader(file.whole(part), **options) for part in reader.parts(file)]
