"""Fits that are stopped on the way, as by a signal, with a checkpoint."""

from eigenstream.persistence import Checkpoint


class Stopping(Checkpoint):
    """Ends the fit after a number of chunks, those of all passes counted."""

    def __init__(self, path, chunks, **how):
        super().__init__(path, **how)
        self.left = chunks

    def after(self, chunk, learned, turn=0, whole=False):
        self.left -= 1
        if self.left == 0:
            self.stop()
        super().after(chunk, learned, turn, whole)
