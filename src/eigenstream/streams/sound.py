"""Sound: the logarithm of the power spectrum in windows, a row each."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from eigenstream._checks import check_whole
from eigenstream.streams._places import File
from eigenstream.streams.base import (
    RowBlock,
    RowTable,
    StreamError,
    Wanted,
    needed,
    picked,
    rows_within,
)

#: Silence has this power: 120 dB below the loudest sine, so that its logarithm is a number.
SILENCE = 1e-12

#: The longest window: 6 seconds at 44.1 kHz.
LONGEST = 1 << 18


class Sound(RowTable):
    """Log spectra of the mean of all channels, in Hann windows of ``window`` samples every ``hop``.

    Decibels, where 0 is a sine that fills the range. The last samples, fewer than a window, are
    left out.
    """

    options = ("window", "hop")

    def __init__(self, file: File, window: int | None = None, hop: int | None = None) -> None:
        if file.part:
            raise StreamError(f"{file.path} is a sound: leave out ::{file.part}.")
        self.file, self.name = file, file.name
        self.window = 1024 if window is None else check_whole(window, "window", least=2)
        self.hop = max(self.window // 2, 1) if hop is None else check_whole(hop, "hop")
        if self.window > LONGEST:
            raise ValueError(f"window must be at most {LONGEST} samples, got {self.window}.")
        with self._opened() as sound:
            rate, frames = int(sound.samplerate), int(sound.frames)
        if frames < self.window:
            raise StreamError(
                f"{self.name} has {frames} samples, and one row takes window={self.window}. "
                + ("There is no sound in it." if frames == 0 else "Choose a shorter window.")
            )
        self.n_rows = (frames - self.window) // self.hop + 1
        self.width = self.window // 2 + 1
        self.columns = tuple(f"{hertz:.1f} Hz" for hertz in np.fft.rfftfreq(self.window, 1 / rate))
        self.columns = self.columns if len(set(self.columns)) == self.width else None
        self.dtype = np.dtype(np.float32)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        soundfile = needed("soundfile", "soundfile", "sound files")
        if self.file.size() == 0:
            raise StreamError(f"{self.file.path} is empty.")
        try:
            with self.file.open() as stream, soundfile.SoundFile(stream) as sound:
                yield sound
        except soundfile.SoundFileError as refusal:
            reason = " ".join(str(refusal).split())[-120:]
            raise StreamError(f"{self.name} is no sound, or it is damaged: {reason}") from None

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted windows' spectra."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[RowBlock]:
        assert self.n_rows is not None
        taper = np.hanning(self.window + 1)[:-1]
        loudest = (taper.sum() / 2) ** 2
        held, done = np.empty(0), 0
        with self._opened() as sound:
            while done < self.n_rows:
                count = min(wanted.block_rows, self.n_rows - done)
                # Samples of so many windows; of those, what the last ones have left is held.
                due = (count - 1) * self.hop + self.window
                fresh = sound.read(due - len(held), dtype="float64", always_2d=True).mean(axis=1)
                held = np.concatenate([held, fresh])
                if len(held) < due:
                    raise StreamError(
                        f"{self.name} is cut off: its header promises more than the "
                        f"{done * self.hop + len(held)} samples that are there."
                    )
                windows = np.lib.stride_tricks.sliding_window_view(held, self.window)[:: self.hop]
                power = np.abs(np.fft.rfft(windows[:count] * taper)) ** 2 / loudest
                rows = 10 * np.log10(np.maximum(power, SILENCE))
                yield picked(rows.astype(np.float32), wanted)
                done += count
                held = self._left(sound, held, count)

    def _left(self, sound: Any, held: Any, count: int) -> Any:
        """Return what the next windows need; where they are further apart than long, seek."""
        used = count * self.hop
        if used > len(held):
            sound.seek(used - len(held), 1)
            return np.empty(0)
        return held[used:]
